/// Eigen's CG with IncompleteCholesky, as its documentation shows it.
#include "bench/preconditioner_measure.hpp"
#include "core/stopwatch.hpp"
#include "tessera/eigen.hpp"

#include <Eigen/IterativeLinearSolvers>

namespace tessera::bench {

Json measure_eigen(const Csr<double>& a, std::span<const double> b, double tolerance, int rounds) {
  using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
  using Cg = Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Eigen::IncompleteCholesky<double>>;
  const Matrix matrix = to_eigen(a.view());
  const Eigen::Map<const Eigen::VectorXd> right_side(b.data(), static_cast<Eigen::Index>(b.size()));
  std::vector<double> setup_ms;
  std::vector<double> solve_ms;
  std::vector<double> total_ms;
  double residual = 0.0;
  std::int64_t iterations = 0;
  for (int round = 0; round < rounds; ++round) {
    Cg cg;
    cg.setTolerance(tolerance);
    const Stopwatch setup;
    cg.compute(matrix);
    setup_ms.push_back(setup.milliseconds());
    const Stopwatch solve;
    const Eigen::VectorXd x = cg.solve(right_side);
    solve_ms.push_back(solve.milliseconds());
    total_ms.push_back(setup_ms.back() + solve_ms.back());
    iterations = cg.iterations();
    residual = (right_side - matrix * x).norm() / right_side.norm();
  }
  fmt::print("  Eigen CG + IncompleteCholesky: set-up {:.1f} + solve {:.1f} ms, {} iterations, {:.1e}, {} threads\n",
             summarise(setup_ms).min, summarise(solve_ms).min, iterations, residual, Eigen::nbThreads());
  return {{"solver", fmt::format("Eigen {}.{}.{} ConjugateGradient + IncompleteCholesky", EIGEN_WORLD_VERSION,
                                 EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION)},
          {"threads", Eigen::nbThreads()},
          {"setup", json_of(summarise(setup_ms))},
          {"solve", json_of(summarise(solve_ms))},
          {"total", json_of(summarise(total_ms))},
          {"best_total_ms", summarise(total_ms).min},
          {"iterations", iterations},
          {"relative_residual", residual}};
}

}  // namespace tessera::bench
