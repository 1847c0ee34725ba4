/// \file
/// Solves -Δu = f on a cube with algebraic multigrid and, to compare, with Jacobi; prints the hierarchy. Then gives the
/// hierarchy a matrix with new values, and solves again.
///
///     amg_poisson [POINTS A SIDE]

#include <tessera/amg.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <chrono>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void print(const tessera::AmgInfo& hierarchy) {
  std::cout << "level       rows    entries  per row  layout\n";
  for (std::size_t i = 0; i < hierarchy.levels.size(); ++i) {
    const tessera::AmgLevelInfo& level = hierarchy.levels[i];
    std::cout << std::setw(5) << i << std::setw(11) << level.rows << std::setw(11) << level.nnz << std::setw(9)
              << static_cast<double>(level.nnz) / static_cast<double>(level.rows) << "  " << level.layout << '\n';
  }
  std::cout << "operator complexity " << hierarchy.operator_complexity << ", grid complexity "
            << hierarchy.grid_complexity << '\n';
}

/// Iterations to a relative residual of 1e-8 for a right-hand side of ones.
std::int64_t solve(const std::string& name, const tessera::SpmvPlan<double>& A,
                   const tessera::Preconditioner<double>& M) {
  const std::vector<double> b(static_cast<std::size_t>(A.rows()), 1.0);
  std::vector<double> x(b.size(), 0.0);
  const auto start = std::chrono::steady_clock::now();
  const tessera::SolveReport report = tessera::cg(A, M, b, x);
  if (!report.converged()) throw tessera::Error(name + ": " + report.reason);
  std::cout << name << ": " << report.iterations << " iterations, set-up " << M.info().setup_ms << " ms, solve "
            << milliseconds_since(start) << " ms\n";
  return report.iterations;
}

/// The same positions, a diagonal larger by 1 %: -Δu + c u.
tessera::Csr<double> with_reaction(const tessera::Csr<double>& a) {
  std::vector<double> values(a.values().begin(), a.values().end());
  const tessera::CsrView<double> view = a.view();
  for (std::size_t i = 0; i < static_cast<std::size_t>(view.rows); ++i) {
    for (auto k = static_cast<std::size_t>(view.row_offsets[i]); k < static_cast<std::size_t>(view.row_offsets[i + 1]);
         ++k) {
      if (view.columns[k] == static_cast<tessera::index_t>(i)) values[k] *= 1.01;
    }
  }
  return {a.rows(), a.cols(), a.row_offsets().to(a.device()), a.columns().to(a.device()),
          tessera::Array<double>::copy_of(values)};
}

int compare(std::int64_t points) {
  const tessera::SpmvPlan<double> A(tessera::poisson3d<double>(points, points, points));
  tessera::AmgOptions options;
  options.prepare_refresh = true;
  tessera::Amg<double> amg(A.matrix(), options);
  std::cout << std::setprecision(4);
  print(amg.hierarchy());
  const std::int64_t fast = solve("amg", A, amg);
  const std::int64_t slow = solve("jacobi", A, tessera::JacobiPreconditioner<double>(A.matrix()));
  std::cout << "fewer iterations: " << (fast < slow ? "yes" : "no") << '\n';

  const tessera::SpmvPlan<double> stiffer(with_reaction(tessera::Csr<double>::copy_of(A.matrix())));
  amg.refresh(stiffer.matrix());
  solve("amg, refreshed", stiffer, amg);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long points = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 40;
  if (argc > 2 || points < 1 || points > 1000) {
    std::cerr << "usage: amg_poisson [POINTS A SIDE, 1 to 1000]\n";
    return 2;
  }
  try {
    return compare(points);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
