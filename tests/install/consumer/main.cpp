/// Touches each part of the library: generation, a plan, a preconditioner, a solver, the version.

#include <tessera/tessera.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

int main() {
  const tessera::SpmvPlan<double> A(tessera::poisson2d<double>(30, 30));
  const tessera::JacobiPreconditioner<double> M(A.matrix());
  const std::vector<double> b(900, 1.0);
  std::vector<double> x(900, 0.0);
  const tessera::SolveReport report = tessera::cg<double>(A, M, b, x);
  const std::string status{to_string(report.status)};
  std::printf("%s\n", status.c_str());
  try {
    static_cast<void>(tessera::read_matrix_market<double>("no-such-file.mtx"));
  } catch (const tessera::IoError&) {
    return report.converged() ? 0 : 1;
  }
  return 2;
}
