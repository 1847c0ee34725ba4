/// Outcomes of rungs and of the ladder, in words.
#include "solvers/ladder/outcome.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::detail {

std::string outcome_of(const RungReport& rung, const SolveReport& report, const RungEvents& events) {
  if (report.converged()) {
    if (!rung.error || (rung.error->is_known() && rung.error->relative_error <= trusted_error)) return "solved";
    return rung.error->is_known() ? "met the tolerance, but x has few right digits"
                                  : "met the tolerance, but the error of x is not known";
  }
  if (!events.left.empty()) return events.left;
  if (events.is_backward_stable) return "backward stable: the tolerance is unattainable in this precision";
  return fmt::format("{}: {}", to_string(report.status), report.reason);
}

void set_final_status(const LadderEnding& ending, SolveReport& report) {
  if (report.converged()) return;
  const bool is_limit_of_rung = report.status == Status::max_iterations || report.status == Status::interrupted;
  const auto end_as = [&](Status status, std::string_view reason) {
    if (report.status == status) return;
    report.status = status;
    report.reason = fmt::format("{}; ||b - A x||_2 = {:g} > {:g}", reason, report.true_residual, report.target);
  };
  if (!ending.stop_words.empty()) return end_as(Status::interrupted, ending.stop_words);
  if (ending.is_out_of_time) return end_as(Status::time_limit, "time limit of all rungs reached");
  if (ending.is_out_of_iterations) return end_as(Status::max_iterations, "iteration limit of all rungs reached");
  if (is_limit_of_rung) end_as(Status::stagnated, "no rung of the ladder reached the tolerance");
}

}  // namespace tessera::detail
