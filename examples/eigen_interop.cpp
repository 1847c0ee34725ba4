/// \file
/// Matrices of Eigen, solved by Tessera: assembles in Eigen, views the matrix in place, solves, and checks the residual
/// in Eigen. Then converts a matrix in the other direction.
///
///     eigen_interop

#include <tessera/eigen.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <Eigen/SparseCore>

#include <iostream>
#include <vector>

namespace {

using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

/// A chain of springs, each stiffer than the one before.
Matrix springs(int n) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i <= n; ++i) {
    const double stiffness = 1.0 + i;
    if (i < n) entries.emplace_back(i, i, stiffness);
    if (i > 0) entries.emplace_back(i - 1, i - 1, stiffness);
    if (i > 0 && i < n) entries.emplace_back(i, i - 1, -stiffness);
    if (i > 0 && i < n) entries.emplace_back(i - 1, i, -stiffness);
  }
  Matrix a(n, n);
  a.setFromTriplets(entries.begin(), entries.end());
  return a;
}

int solve() {
  const Matrix a = springs(500);
  const Eigen::VectorXd b = Eigen::VectorXd::Ones(a.rows());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(a.cols());

  // Columns and values stay where Eigen has them; only the row offsets are widened.
  const tessera::SpmvPlan<double> plan(tessera::borrow_eigen(a));
  const tessera::JacobiPreconditioner<double> jacobi(plan.matrix());
  const auto report = tessera::cg(plan, jacobi, tessera::as_span(b), tessera::as_span(x));
  std::cout << "values shared: " << (plan.matrix().values.data() == a.valuePtr() ? "yes" : "no") << '\n'
            << "status:        " << to_string(report.status) << '\n'
            << "residual:      " << (b - a * x).norm() / b.norm() << " (by Eigen)\n";

  const auto poisson = tessera::poisson2d<double>(50, 50);
  const auto map = tessera::eigen_map(poisson.view());
  std::cout << "row sums:      " << (*map * Eigen::VectorXd::Ones(2500)).sum() << " (4 sides of 50 points)\n";
  return report.converged() ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return solve();
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
