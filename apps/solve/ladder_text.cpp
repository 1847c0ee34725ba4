// The ladder in summaries and warnings.
#include "ladder_report.hpp"
#include "summary_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string rung_name(const RungPlan& plan) {
  return plan.precond == RungPrecond::direct ? std::string("direct")
                                             : fmt::format("{}, {}", to_string(plan.method), plan.precond_name());
}

}  // namespace

std::string ladder_lines(const RunOutcome& outcome) {
  if (!outcome.ladder || outcome.ladder->ladder.rungs.size() < 2) return {};
  const LadderReport& ladder = outcome.ladder->ladder;
  std::string text;
  for (std::size_t i = 0; i < ladder.rungs.size(); ++i) {
    const RungReport& rung = ladder.rungs[i];
    const std::string_view mark = i == ladder.rung ? "*" : " ";
    const std::string cost = fmt::format("set-up {}, {} in {}", time_text(rung.setup_ms),
                                         counted(rung.iterations, "iteration"), time_text(rung.solve_ms));
    text += line(i == 0 ? "ladder" : "",
                 fmt::format("{}{} {}: {} ({})", mark, i + 1, rung_name(rung.plan), rung.outcome, cost));
  }
  if (ladder.analysis_ms > 0.0) text += line("", fmt::format("  analysis {}", time_text(ladder.analysis_ms)));
  return text;
}

std::string planned_ladder_lines(const LadderFacts& facts, const std::string& given_up) {
  const std::string proof = singularity_proof(facts);
  std::string text;
  if (!proof.empty()) text += line("singular", proof);
  std::size_t number = 0;
  for (const RungPlan& plan : plan_ladder(facts)) {
    ++number;
    text += line(number == 1 ? "ladder" : "", fmt::format("{} {}: {}", number, rung_name(plan), plan.reason));
  }
  if (facts.direct) {
    text +=
        line("direct", fmt::format("{}: {} entries predicted, {:.2g} operations, {}", to_string(facts.direct->method),
                                   facts.direct->factor_nnz, facts.direct->flops, size_text(facts.direct->bytes)));
  }
  if (!given_up.empty()) text += line("direct", given_up);
  return text;
}

void warn_about_ladder(const RunOutcome& outcome, Warnings& warnings) {
  if (outcome.ladder && !outcome.ladder->ladder.proof.empty()) {
    const std::string tail = outcome.report.converged() ? "; x is one of many solutions" : "";
    warnings.push_back({"W017", fmt::format("the matrix is {}{}", outcome.ladder->ladder.proof, tail)});
  }
  if (!outcome.next_command.empty()) warnings.push_back({"W018", "try: " + outcome.next_command});
}

}  // namespace tessera::cli
