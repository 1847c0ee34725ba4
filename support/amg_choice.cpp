// Choice of algebraic multigrid by a short trial.
#include "support/amg_choice.hpp"

#include "core/stopwatch.hpp"
#include "support/system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::support {

bool may_need_amg(const MatrixStatistics& matrix) {
  return matrix.rows >= least_rows_for_amg && matrix.symmetry == Symmetry::numerical && matrix.full_diagonal() &&
         matrix.diagonal_negative == 0;
}

double amg_break_even(std::int64_t rows, const Device& device) {
  constexpr double on_host = 200.0;
  if (device.is_host()) return on_host;
  const auto n = static_cast<double>(rows);
  return (3.5 + 4.9e-6 * n) / (0.012 + 4.5e-8 * n);
}

bool worth_amg(double projected, std::int64_t rows, const Device& device) {
  return rows >= least_rows_for_amg && projected > amg_break_even(rows, device);
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

template <class T>
JacobiTrial try_jacobi(const TrialSystem<T>& system, const LinearOperator<T>& jacobi) {
  constexpr std::int64_t most_iterations = 40;
  const Stopwatch watch;
  std::vector<double> residuals;
  double target = 0.0;
  bool asked_to_stop = false;
  SolverOptions options = system.options;
  options.max_iterations = std::min(most_iterations, options.max_iterations);
  options.keep_history = false;
  options.observer = [&](const IterationInfo& info) {
    residuals.push_back(info.residual);
    target = info.target;
    asked_to_stop = system.options.observer && system.options.observer(info) == Control::stop;
    const bool half_way = info.residual <= std::sqrt(residuals.front() * info.target);
    return asked_to_stop || half_way ? Control::stop : Control::proceed;
  };
  std::vector<T> x(system.x0.begin(), system.x0.end());
  const SolveReport report = solve_from_host<T>(Method::cg, {system.A, jacobi}, system.b, x, options);
  JacobiTrial trial;
  trial.iterations = report.iterations;
  // Half of the digits: not an interruption.
  trial.status = report.status == Status::interrupted && !asked_to_stop ? Status::max_iterations : report.status;
  trial.projected = residuals.empty() ? 0.0 : projected_iterations(residuals, target);
  trial.break_even = amg_break_even(system.A.rows(), system.A.device());
  trial.ms = watch.milliseconds();
  return trial;
}

template JacobiTrial try_jacobi(const TrialSystem<float>&, const LinearOperator<float>&);
template JacobiTrial try_jacobi(const TrialSystem<double>&, const LinearOperator<double>&);

}  // namespace tessera::support
