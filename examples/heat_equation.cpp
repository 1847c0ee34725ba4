/// \file
/// Heat equation u_t = Δu on the unit square by implicit Euler: every step solves (I + τ A) u' = u, with one solver
/// that keeps its vectors and, on a GPU, the recorded graph of its loop. The solution is known in closed form.
///
///     heat_equation [STEPS [host|cuda|cuda:N]]

#include <tessera/context.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/iterative_solver.hpp>
#include <tessera/preconditioner.hpp>
#include <tessera/spmv.hpp>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t points = 60;  // per side, inside
constexpr double h = 1.0 / (points + 1);
constexpr double tau = 1e-4;

/// I + τ A, with A = -Δ in second-order differences.
tessera::Csr<double> step_matrix() {
  const tessera::Csr<double> stencil = tessera::poisson2d<double>(points, points);
  const tessera::CsrView<double> a = stencil.view();
  std::vector<double> values(a.values.begin(), a.values.end());
  for (double& value : values) value *= tau / (h * h);
  for (std::size_t row = 0; row + 1 < a.row_offsets.size(); ++row) {
    for (auto k = static_cast<std::size_t>(a.row_offsets[row]); k < static_cast<std::size_t>(a.row_offsets[row + 1]);
         ++k) {
      if (static_cast<std::size_t>(a.columns[k]) == row) values[k] += 1.0;
    }
  }
  return stencil.with_values(tessera::Array<double>::copy_of(values));
}

/// sin(πx) sin(πy): an eigenvector of A.
std::vector<double> mode() {
  std::vector<double> u;
  for (int i = 1; i <= points; ++i) {
    for (int j = 1; j <= points; ++j)
      u.push_back(std::sin(std::numbers::pi * h * i) * std::sin(std::numbers::pi * h * j));
  }
  return u;
}

/// What a step leaves of the mode: 1 / (1 + τ λ).
double decay_per_step() {
  const double s = std::sin(std::numbers::pi * h / 2.0);
  return 1.0 / (1.0 + tau * 8.0 / (h * h) * s * s);
}

int run(int steps, const tessera::Context& context) {
  const tessera::SpmvPlan<double> A(step_matrix(), {.device = context});
  const tessera::JacobiPreconditioner<double> M(A.matrix(), context);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  tessera::IterativeSolver<double> solver(tessera::IterativeMethod::cg, A, M, options);

  const std::vector<double> start = mode();
  auto u = tessera::Array<double>::copy_of(start, context);
  auto next = tessera::Array<double>::copy_of(start, context);
  tessera::ContextCounts after_first;
  std::int64_t iterations = 0;
  for (int k = 0; k < steps; ++k) {
    // The state of two steps ago is the guess.
    const tessera::SolveReport report = solver.solve(std::as_const(u).span(), next.span());
    if (!report.converged()) throw tessera::Error("step " + std::to_string(k) + ": " + report.reason);
    iterations += report.iterations;
    std::swap(u, next);
    if (k == 0) after_first = context.counts();
  }
  const tessera::ContextCounts at_end = context.counts();

  const tessera::Array<double> found = u.to(tessera::Device{});
  const double left = std::pow(decay_per_step(), steps);
  double error = 0.0;
  for (std::size_t i = 0; i < start.size(); ++i) {
    error = std::max(error, std::fabs(found[static_cast<std::int64_t>(i)] - left * start[i]));
  }
  std::cout << steps << " steps, " << iterations << " iterations; after the first step "
            << at_end.allocations - after_first.allocations << " allocations, "
            << at_end.recordings - after_first.recordings << " recordings\n"
            << "error " << (error < 1e-7 * left ? "below" : "above") << " 1e-7 of the mode, which fell to " << left
            << '\n';
  return error < 1e-7 * left ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const long steps = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1000;
  if (argc > 3 || steps < 1 || steps > 1000000) {
    std::cerr << "usage: heat_equation [STEPS, 1 to 1000000 [host|cuda|cuda:N]]\n";
    return 2;
  }
  try {
    return run(static_cast<int>(steps), tessera::Context(tessera::Device::parse(argc > 2 ? argv[2] : "host")));
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
