/// \file
/// Solves a convection-diffusion problem, which is not symmetric, by GMRES: with Jacobi, with incomplete LU factors of
/// growing fill, and by the factors of a direct solver. The solution is known, so the errors are too.
///
///     ilu_gmres [POINTS A SIDE]

#include <tessera/accuracy.hpp>
#include <tessera/direct.hpp>
#include <tessera/error.hpp>
#include <tessera/generators.hpp>
#include <tessera/incomplete_factors.hpp>
#include <tessera/preconditioner.hpp>
#include <tessera/solvers.hpp>
#include <tessera/spmv.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <vector>

namespace {

/// A x = b with x = 1, 2, 1, 2, ...
struct System {
  tessera::SpmvPlan<double> A;
  std::vector<double> exact;
  std::vector<double> b;
};

System make_system(std::int64_t points) {
  System system{tessera::SpmvPlan<double>(
                    tessera::convection_diffusion<double>(points, points, points, tessera::Peclet{1.0, 0.5, 0.25})),
                {},
                {}};
  const auto rows = static_cast<std::size_t>(system.A.rows());
  for (std::size_t i = 0; i < rows; ++i) system.exact.push_back(i % 2 == 0 ? 1.0 : 2.0);
  system.b.resize(rows);
  system.A.apply(std::span<const double>(system.exact), std::span<double>(system.b));
  return system;
}

double largest_error(const System& system, const std::vector<double>& x) {
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::fabs(x[i] - system.exact[i]));
  return largest;
}

/// GMRES(50) to a relative residual of 1e-10. \returns the iterations
std::int64_t solve(const std::string& name, const System& system, const tessera::Preconditioner<double>& M) {
  tessera::SolverOptions options;
  options.relative_tolerance = 1e-10;
  std::vector<double> x(system.b.size(), 0.0);
  const tessera::SolveReport report = tessera::gmres(system.A, M, system.b, x, options);
  if (!report.converged()) throw tessera::Error(name + ": " + report.reason);
  const tessera::BackwardError backward = tessera::backward_error<double>(system.A.matrix(), system.b, x);
  std::cout << std::setw(16) << std::left << name << std::right << std::setw(5) << report.iterations
            << " iterations, set-up " << M.info().setup_ms << " ms, solve " << report.timings.solve_ms << " ms, error "
            << largest_error(system, x) << ", backward error " << backward.componentwise << '\n';
  return report.iterations;
}

tessera::IncompleteFactors<double> factorize(const System& system, double drop_tolerance, std::int64_t row_entries) {
  tessera::IncompleteFactorOptions options;
  options.kind = tessera::FactorKind::ilutp;
  options.drop_tolerance = drop_tolerance;
  options.max_row_entries = row_entries;
  tessera::IncompleteFactors<double> factors(system.A.matrix(), options);
  const tessera::IncompleteFactorInfo& info = factors.factors();
  std::cout << to_string(options.kind) << '(' << drop_tolerance << ", " << row_entries << "): fill " << info.fill
            << ", ordering " << to_string(info.ordering) << ", scaling " << info.scaling << ", " << info.zero_pivots
            << " zero pivots, condition estimate " << info.condition_estimate << '\n';
  return factors;
}

int compare(std::int64_t points) {
  const System system = make_system(points);
  std::cout << std::setprecision(3) << system.A.rows() << " rows, " << system.A.matrix().nnz() << " entries\n";
  const std::int64_t slow = solve("jacobi", system, tessera::JacobiPreconditioner<double>(system.A.matrix()));
  const std::int64_t sparse = solve("ilutp, sparse", system, factorize(system, 1e-2, 10));
  const std::int64_t full = solve("ilutp, fuller", system, factorize(system, 1e-4, 50));
  std::cout << "fewer iterations with more fill: " << (full < sparse && sparse < slow ? "yes" : "no") << '\n';

  const tessera::DirectPrediction prediction = tessera::predict_direct(system.A.matrix());
  std::cout << "direct would have " << prediction.factor_nnz << " entries, " << prediction.flops << " flops\n";
  solve("direct", system, tessera::DirectFactors<double>(system.A.matrix()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const long points = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 20;
  if (argc > 2 || points < 1 || points > 100) {
    std::cerr << "usage: ilu_gmres [POINTS A SIDE, 1 to 100]\n";
    return 2;
  }
  try {
    return compare(points);
  } catch (const tessera::Error& error) {
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
