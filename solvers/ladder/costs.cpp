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
  return products * (5e-4 + 4e-7 * nnz + 2e-6 * n);
}

double analysis_ms(const LadderFacts& facts) {
  return 0.3 + 5e-4 * static_cast<double>(facts.rows) + 5e-5 * static_cast<double>(facts.nnz);
}

double direct_ms(const DirectPrediction& prediction) {
  return 0.3 + 2e-7 * prediction.flops + 2e-5 * static_cast<double>(prediction.factor_nnz);
}

bool is_cheap(const DirectPrediction& prediction, const LadderFacts& facts) {
  constexpr offset_t most_entries = 5'000'000;
  constexpr double most_fill = 15.0;
  // Incomplete factors of small systems take as long, if they have to be full.
  constexpr double ms_per_row = 0.04;
  constexpr double most_ms = 100.0;
  const bool is_sparse = static_cast<double>(prediction.factor_nnz) <= most_fill * static_cast<double>(facts.nnz);
  const bool is_quick = direct_ms(prediction) <= std::min(ms_per_row * static_cast<double>(facts.rows), most_ms);
  return prediction.factor_nnz <= most_entries && (is_sparse || is_quick);
}

bool is_affordable(const DirectPrediction& prediction) {
  constexpr offset_t most_entries = 50'000'000;
  constexpr double most_flops = 6e10;
  return prediction.factor_nnz <= most_entries && prediction.flops <= most_flops;
}

}  // namespace tessera::detail
