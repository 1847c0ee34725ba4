/// \file
/// Solves A x = A*ones for a Matrix Market file and prints the report.
///
///     solve_matrix_market A.mtx

#include <tessera/error.hpp>
#include <tessera/matrix_market.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>
#include <tessera/statistics.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

namespace {

int solve(const char* path) {
  auto file = tessera::read_matrix_market<double>(path);
  const auto facts = tessera::statistics(file.matrix.view());
  const bool use_cg = facts.symmetry == tessera::Symmetry::numerical && facts.diagonal_negative == 0;

  // Set up once: the plan holds the matrix and what its kernel precomputed.
  const tessera::SpmvPlan<double> A(std::move(file.matrix));
  const tessera::JacobiPreconditioner<double> M(A.matrix());

  // A right-hand side with a known solution.
  const std::vector<double> ones(static_cast<std::size_t>(A.cols()), 1.0);
  std::vector<double> b(static_cast<std::size_t>(A.rows()));
  A.apply(ones, b);

  std::vector<double> x(b.size(), 0.0);
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  const tessera::SolveReport report =
      use_cg ? tessera::cg(A, M, b, x, options) : tessera::bicgstab(A, M, b, x, options);

  double error = 0.0;
  for (const double value : x) error = std::max(error, std::fabs(value - 1.0));
  std::cout << "method:     " << (use_cg ? "cg" : "bicgstab") << '\n'
            << "kernel:     " << to_string(A.info().algorithm) << " (" << A.info().reason << ")\n"
            << "status:     " << to_string(report.status) << " (" << report.reason << ")\n"
            << "iterations: " << report.iterations << '\n'
            << "residual:   " << report.true_residual << '\n'
            << "error:      " << error << '\n';
  return report.converged() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: solve_matrix_market A.mtx\n";
    return 2;
  }
  try {
    return solve(argv[1]);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
