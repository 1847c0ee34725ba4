/// Cost models of the ladder.
#include "solvers/ladder/costs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::detail {

double amg_break_even(std::int64_t rows, const Device& device) {
  constexpr double on_host = 200.0;
  if (device.is_host()) return on_host;
  const auto n = static_cast<double>(rows);
  return (3.5 + 4.9e-6 * n) / (0.012 + 4.5e-8 * n);
}

double projected_iterations(std::span<const double> residuals, double target) {
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto reached = std::find_if(residuals.begin(), residuals.end(), [=](double r) { return r <= target; });
  if (reached != residuals.end()) return static_cast<double>(reached - residuals.begin());
  const std::size_t last = residuals.size() - 1;
  const std::size_t middle = last / 2;
  const auto smallest_until = [&](std::size_t end) {
    return *std::min_element(residuals.begin(), residuals.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  };
  const double now = smallest_until(last);
  const double fall =
      std::log(smallest_until(middle) / now) / static_cast<double>(std::max<std::size_t>(last - middle, 1));
  if (!(fall > 0.0) || !(target > 0.0)) return never;
  return static_cast<double>(last) + std::log(now / target) / fall;
}

double iteration_ms(const LadderFacts& facts, RungMethod method, const Device& device) {
  const auto n = static_cast<double>(facts.rows);
  const auto nnz = static_cast<double>(facts.nnz);
  const double products = method == RungMethod::cg ? 1.0 : 2.0;
  if (!device.is_host()) return products * (0.012 + 4.5e-8 * n);
  // Entries that do not stay in the cache take two and a half times as long.
  constexpr double cache_bytes = 8e6;
  const double bytes = 12.0 * nnz + 8.0 * n;
  const double from_memory = 1.0 + 1.5 * std::max(0.0, 1.0 - cache_bytes / std::max(bytes, 1.0));
  return products * (5e-4 + from_memory * (4e-7 * nnz + 2e-6 * n));
}

double iteration_ms(const RungReport& report, const LadderFacts& facts, const Device& device) {
  const double jacobi = iteration_ms(facts, report.plan.method, device);
  // A V-cycle, with the levels below.
  const double cycle = device.is_host() ? 6.0 : 4.0;
  if (report.plan.precond == RungPrecond::amg) return cycle * jacobi;
  if (!report.factors) return jacobi;
  const double with_factors = jacobi * (1.0 + report.factors->fill);
  if (device.is_host()) return with_factors;
  // Level after level.
  constexpr double level_ms = 0.0025;
  const double products = report.plan.method == RungMethod::cg ? 1.0 : 2.0;
  return with_factors +
         products * level_ms * static_cast<double>(report.factors->lower_levels + report.factors->upper_levels);
}

double analysis_ms(const LadderFacts& facts) {
  return 0.3 + 5e-4 * static_cast<double>(facts.rows) + 5e-5 * static_cast<double>(facts.nnz);
}

namespace {

/// Direct factors hardly ever fail, while promises of iterations are broken: they may cost so many times as much.
constexpr double surer = 2.0;

/// Incomplete factors with thresholds and thirty iterations, which cost about four with Jacobi each.
[[nodiscard]] double incomplete_ms(const LadderFacts& facts, const Device& device) {
  constexpr double iterations = 120.0;
  constexpr double per_row = 6e-3;
  constexpr double per_entry = 3e-4;
  return per_row * static_cast<double>(facts.rows) + per_entry * static_cast<double>(facts.nnz) +
         iterations * iteration_ms(facts, RungMethod::cg, device);
}

/// ILU(0) and a third of the iterations, which cost twice as much on the host. On a GPU the levels decide, which are
/// not known before: a model for some hundred.
[[nodiscard]] double ilu0_ms(const LadderFacts& facts, double projected, const Device& device) {
  constexpr double setup = 8.0;
  constexpr double most_projected = 300.0;
  constexpr double ms_on_gpu = 5.0;
  const double iterations = std::min(projected, most_projected) / 3.0;
  const double jacobi = iteration_ms(facts, RungMethod::bicgstab, device);
  return setup * iteration_ms(facts, RungMethod::bicgstab, Device{}) +
         iterations * (device.is_host() ? 2.0 * jacobi : jacobi + ms_on_gpu);
}

}  // namespace

double price_ms(const RungPlan& plan, const LadderFacts& facts, double projected, const Device& device) {
  constexpr double never = std::numeric_limits<double>::infinity();
  switch (plan.precond) {
    case RungPrecond::none:
    case RungPrecond::jacobi:
      return never;
    case RungPrecond::amg: {
      // BiCGSTAB applies two cycles per iteration, and more of them where A is not symmetric.
      const double cycles = plan.method == RungMethod::cg ? 1.0 : 3.0;
      return cycles * amg_break_even(facts.rows, device) * iteration_ms(facts, RungMethod::cg, device);
    }
    case RungPrecond::incomplete_factors:
      return plan.factors.kind == FactorKind::ilu0 ? ilu0_ms(facts, projected, device) : incomplete_ms(facts, device);
    case RungPrecond::direct:
      return facts.direct ? direct_ms(*facts.direct) / surer : never;
  }
  return never;
}

double direct_ms(const DirectPrediction& prediction) {
  const bool is_cholesky = prediction.method == DirectMethod::cholesky;
  const double per_flop = is_cholesky ? 2e-7 : 1e-7;
  const double per_entry = is_cholesky ? 3e-5 : 2e-5;
  return 0.01 + per_flop * prediction.flops + per_entry * static_cast<double>(prediction.factor_nnz);
}

bool is_cheap(const DirectPrediction& prediction, const LadderFacts& facts) {
  return is_affordable(prediction) && direct_ms(prediction) / surer <= incomplete_ms(facts, Device{});
}

bool is_affordable(const DirectPrediction& prediction) {
  return static_cast<double>(prediction.factor_nnz) <= affordable.factor_nnz && prediction.flops <= affordable.flops;
}

}  // namespace tessera::detail
