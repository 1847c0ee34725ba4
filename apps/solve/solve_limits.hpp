/// \file
/// The limits of a solve while its preconditioner is set up.
#pragma once

#include "core/interruption.hpp"
#include "core/stopwatch.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"
#include "tessera/error.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

namespace tessera::cli {

/// The result of `set_up`, or nothing where the limit of time or a signal came first.
/// \param solver its limit of time becomes what set-up leaves of it
template <class SetUp>
[[nodiscard]] auto set_up_within_limits(SolverOptions& solver, const SetUp& set_up)
    -> std::optional<decltype(set_up())> {
  const Stopwatch watch;
  const detail::InterruptionScope limit(solver.time_limit_seconds);
  std::optional<decltype(set_up())> result;
  try {
    result.emplace(set_up());
  } catch (const BudgetExceeded&) {
    if (detail::is_wanted()) throw;
  }
  solver.time_limit_seconds = std::max(0.0, solver.time_limit_seconds - watch.seconds());
  return result;
}

/// The ending of a solve that such a limit kept from its first iteration: x stays what it is. \param b, x on the host
template <class T>
[[nodiscard]] SolveReport report_of_guess(const SpmvPlan<T>& A, std::span<const T> b, std::span<T> x,
                                          SolverOptions solver) {
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

}  // namespace tessera::cli
