// Rows "small", "columns", "steps" and "refresh" of bench_end_to_end: solves that a program repeats, with what it keeps
// between them.
#include "bench/end_to_end.hpp"
#include "support/system.hpp"
#include "tessera/amg.hpp"
#include "tessera/array.hpp"
#include "tessera/context.hpp"
#include "tessera/enqueued_cg.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/multiple_right_sides.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/solvers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <utility>

namespace tessera::bench {

namespace {

constexpr double tolerance = 1e-8;
constexpr double rounding = 1.001;

/// The larger one; NaN counts as infinity.
[[nodiscard]] double worse_of(double worst, double error) {
  return std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
}

/// "bicgstab@convdiff:40".
struct MethodAndSystem {
  IterativeMethod method;
  std::shared_ptr<const Csr<double>> matrix;
};

[[nodiscard]] MethodAndSystem method_and_system(const std::string& input, std::uint64_t seed) {
  const std::size_t at = input.find('@');
  return {parse_iterative_method(input.substr(0, at)),
          std::make_shared<const Csr<double>>(generate<double>(parse_generator(input.substr(at + 1), seed)))};
}

[[nodiscard]] std::vector<double> to_host(const Array<double>& array) {
  const Array<double> copy = array.to(Device{});
  return {copy.begin(), copy.end()};
}

/// Right-hand sides of known solutions, one after the other.
[[nodiscard]] std::vector<double> right_sides(const CsrView<double>& matrix, std::int64_t count, std::uint64_t seed) {
  std::vector<double> all;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto exact = support::random_vector<double>(matrix.cols, seed + static_cast<std::uint64_t>(k));
    const std::vector<double> b = oracle_product(matrix, exact);
    all.insert(all.end(), b.begin(), b.end());
  }
  return all;
}

}  // namespace

Json measure_small_system(const EndToEndRow& row, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  const MethodAndSystem system = method_and_system(row.input(), settings.seed);
  const std::vector<double> b = right_sides(system.matrix->view(), 1, settings.seed);
  Json result{{"input", bits_of<double>(system.matrix->view(), b)}};
  std::vector<double> x;
  std::string first_bits;
  bool is_stable = true;
  const MemoryWatch memory(device);
  {
    const SpmvPlan<double> plan(system.matrix, {.device = device});
    const JacobiPreconditioner<double> jacobi(plan.matrix(), device);
    SolverOptions options;
    IterativeSolver<double> solver(system.method, plan, jacobi, options);
    const auto device_b = Array<double>::copy_of(b, device);
    Array<double> device_x(plan.rows(), Init::zero, device);
    result["samples_ms"] = repeat(
        settings,
        [&] {
          // Several solves, since one of a small system takes less than the clock resolves well.
          for (int k = 0; k < 10; ++k) {
            detail::zero_bytes(device, device_x.data(), device_x.bytes());
            static_cast<void>(solver.solve(device_b.span(), device_x.span()));
          }
        },
        [&] {
          x = to_host(device_x);
          const std::string bits = bits_of<double>(std::span<const double>(x));
          if (first_bits.empty()) first_bits = bits;
          is_stable = is_stable && bits == first_bits;
        });
    result["choice"] = {{"kernel", std::string(to_string(plan.info().algorithm))}};
    if (plan.info().determinism != Determinism::not_guaranteed) {
      result["bits"] = first_bits;
      result["bits_stable"] = is_stable;
    }
  }
  result["memory"] = memory.figures();
  result["outcome"] = checked_outcome(relative_residual(system.matrix->view(), b, x), tolerance * rounding,
                                      "the residual exceeds the tolerance");
  return result;
}

Json measure_columns(const EndToEndRow& row, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  constexpr std::int64_t columns = 8;
  const MethodAndSystem system = method_and_system(row.input(), settings.seed);
  const CsrView<double> matrix = system.matrix->view();
  const std::int64_t n = matrix.rows;
  const std::vector<double> b = right_sides(matrix, columns, settings.seed);
  Json result{{"input", bits_of<double>(matrix, b)}};
  std::vector<double> x;
  const MemoryWatch memory(device);
  {
    const SpmvPlan<double> plan(system.matrix, {.device = device});
    const JacobiPreconditioner<double> jacobi(plan.matrix(), device);
    const auto device_b = Array<double>::copy_of(b, device);
    Array<double> device_x(n * columns, Init::zero, device);
    result["samples_ms"] = repeat(
        settings,
        [&] {
          detail::zero_bytes(device, device_x.data(), device_x.bytes());
          static_cast<void>(solve_columns<double>(system.method, plan, jacobi, {device_b.span(), n, columns},
                                                  {device_x.span(), n, columns}));
        },
        [&] { x = to_host(device_x); });
    result["choice"] = {{"kernel", std::string(to_string(plan.info().algorithm))}};
  }
  result["memory"] = memory.figures();
  double worst = 0.0;
  for (std::int64_t k = 0; k < columns; ++k) {
    const auto column = [&](const std::vector<double>& all) {
      return std::span<const double>(all).subspan(static_cast<std::size_t>(k * n), static_cast<std::size_t>(n));
    };
    worst = worse_of(worst, relative_residual(matrix, column(b), column(x)));
  }
  result["outcome"] = checked_outcome(worst, tolerance * rounding, "the residual of a column exceeds the tolerance");
  return result;
}

namespace {

/// u_t = Δu on the unit square, u = 0 on its border: steps of the implicit Euler method from an eigenvector of A.
class HeatEquation {
 public:
  explicit HeatEquation(std::int64_t points) : h_(1.0 / static_cast<double>(points + 1)) {
    const Csr<double> stencil = poisson2d<double>(points, points);
    std::vector<double> values(stencil.values().begin(), stencil.values().end());
    for (double& value : values) {
      if (value > 0.0) value += shift();
    }
    matrix_ = std::make_shared<const Csr<double>>(stencil.with_values(Array<double>::copy_of(values)));
    for (std::int64_t i = 1; i <= points; ++i) {
      for (std::int64_t j = 1; j <= points; ++j) mode_.push_back(wave(i) * wave(j));
    }
  }

  /// h² / τ, by which a step multiplies u on its right-hand side.
  [[nodiscard]] double shift() const { return h_ * h_ / tau; }
  [[nodiscard]] const std::shared_ptr<const Csr<double>>& matrix() const { return matrix_; }
  [[nodiscard]] const std::vector<double>& mode() const { return mode_; }

  /// The largest difference of u after `steps` to the mode that has decayed, relative to its amplitude.
  [[nodiscard]] double error(std::span<const double> u, int steps) const {
    const double s = std::sin(std::numbers::pi * h_ / 2.0);
    const double left = std::pow(1.0 / (1.0 + 8.0 * s * s / shift()), steps);
    double error = 0.0;
    for (std::size_t i = 0; i < u.size(); ++i) error = worse_of(error, std::abs(u[i] - left * mode_[i]));
    return error / left;
  }

 private:
  static constexpr double tau = 1e-4;

  [[nodiscard]] double wave(std::int64_t i) const { return std::sin(std::numbers::pi * h_ * static_cast<double>(i)); }

  double h_;
  std::shared_ptr<const Csr<double>> matrix_;
  std::vector<double> mode_;
};

}  // namespace

Json measure_heat_step(const EndToEndRow& row, const EndToEndSettings& settings) {
  constexpr int steps = 20;
  const HeatEquation heat(std::stoll(row.input()));
  Json result{{"input", bits_of<double>(heat.matrix()->view(), heat.mode())}};
  std::vector<double> u_host;
  const MemoryWatch memory(settings.device);
  {
    std::unique_ptr<RecordedStep> step;
    Device device = settings.device;
    if (!device.is_host()) {
      step = std::make_unique<RecordedStep>();
      device = Context(settings.device, {.stream = step->stream()});
    }
    const SpmvPlan<double> plan(heat.matrix(), {.device = device});
    const JacobiPreconditioner<double> jacobi(plan.matrix(), device);
    SolverOptions options;
    options.relative_tolerance = 1e-10;
    EnqueuedCg<double> solver(plan, jacobi, options);
    const auto start = Array<double>::copy_of(heat.mode(), device);
    auto u = Array<double>::copy_of(heat.mode(), device);
    Array<double> b(plan.rows(), Init::zero, device);
    Array<SolveOutcome> outcome(1, Init::zero, device);
    if (step != nullptr) {
      step->record([&] {
        step->enqueue_scaled(heat.shift(), u.span(), b.span());
        solver.enqueue(b.span(), u.span(), outcome.data());
      });
    }
    result["samples_ms"] = repeat(
        settings,
        [&] {
          detail::copy_bytes(device, u.data(), device, start.data(), u.bytes());
          for (int k = 0; k < steps; ++k) {
            if (step != nullptr) {
              step->launch();
              continue;
            }
            std::transform(u.begin(), u.end(), b.begin(), [&](double each) { return heat.shift() * each; });
            solver.enqueue(b.span(), u.span(), outcome.data());
          }
          if (step != nullptr) step->wait();
        },
        [&] { u_host = to_host(u); });
    result["choice"] = {{"kernel", std::string(to_string(plan.info().algorithm))}};
  }
  result["memory"] = memory.figures();
  constexpr double bound = 1e-6;
  result["outcome"] = checked_outcome(heat.error(u_host, steps), bound, "u differs from the mode that has decayed");
  return result;
}

Json measure_refresh(const EndToEndRow& row, const EndToEndSettings& settings) {
  const Device& device = settings.device;
  const Csr<double> matrix = generate<double>(parse_generator(row.input(), settings.seed));
  // A scaled from both sides stays symmetric positive definite.
  std::vector<double> values(matrix.values().begin(), matrix.values().end());
  const auto factor = [](index_t i) { return 1.0 + 0.5 * static_cast<double>(i % 7) / 7.0; };
  for (index_t i = 0; i < matrix.rows(); ++i) {
    for (offset_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + std::int64_t{1}]; ++k) {
      values[static_cast<std::size_t>(k)] *= factor(i) * factor(matrix.columns()[k]);
    }
  }
  const auto changed = std::make_shared<const Csr<double>>(matrix.with_values(Array<double>::copy_of(values)));
  const std::vector<double> b = right_sides(changed->view(), 1, settings.seed);
  Json result{{"input", bits_of<double>(changed->view(), b)}};
  std::vector<double> x;
  const MemoryWatch memory(device);
  {
    const Csr<double> placed = matrix.to(device);
    const Csr<double> placed_changed = changed->to(device);
    AmgOptions options;
    options.prepare_refresh = true;
    Amg<double> amg(placed.view(), options, device);
    result["setup_ms"] = amg.info().setup_ms;
    result["samples_ms"] = repeat(
        settings,
        [&] {
          amg.refresh(placed_changed.view());
          synchronize(device);
        },
        [] {});
    const SpmvPlan<double> plan(changed, {.device = device});
    const auto device_b = Array<double>::copy_of(b, device);
    Array<double> device_x(plan.rows(), Init::zero, device);
    SolverOptions solver;
    solver.max_iterations = 100;
    static_cast<void>(cg<double>(plan, amg, device_b.span(), device_x.span(), solver));
    x = to_host(device_x);
  }
  result["memory"] = memory.figures();
  result["outcome"] = checked_outcome(relative_residual(changed->view(), b, x), tolerance * rounding,
                                      "CG with the refreshed hierarchy has not converged within 100 iterations");
  return result;
}

}  // namespace tessera::bench
