#include "solve_limits.hpp"

#include "support/system.hpp"

#include <fmt/format.h>

namespace tessera::cli {

template <class T>
SolveReport report_of_guess(const SpmvPlan<T>& A, std::span<const T> b, std::span<T> x, SolverOptions solver) {
  solver.max_iterations = 0;
  const IdentityOperator<T> none(A.rows(), A.device());
  SolveReport report = support::solve_from_host<T>(IterativeMethod::bicgstab, {A, none}, b, x, solver);
  if (report.status == Status::max_iterations || report.status == Status::time_limit) {
    report.status = Status::time_limit;
    report.reason = fmt::format("time limit passed while the preconditioner was set up; ||b - A x||_2 = {:g} > {:g}",
                                report.true_residual, report.target);
  }
  return report;
}

template SolveReport report_of_guess(const SpmvPlan<float>&, std::span<const float>, std::span<float>, SolverOptions);
template SolveReport report_of_guess(const SpmvPlan<double>&, std::span<const double>, std::span<double>,
                                     SolverOptions);

}  // namespace tessera::cli
