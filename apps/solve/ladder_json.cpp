// The ladder in JSON documents.
#include "ladder_report.hpp"

namespace tessera::cli {

namespace {

[[nodiscard]] Json plan_json(const RungPlan& plan) {
  return {{"name", plan.command_options()},
          {"method", to_string(plan.method)},
          {"precond", plan.precond_name()},
          {"reason", plan.reason}};
}

[[nodiscard]] Json rung_json(const RungReport& rung) {
  Json json = plan_json(rung.plan);
  json["on_host"] = rung.on_host;
  json["set_up"] = rung.set_up;
  json["status"] = rung.set_up ? Json(to_string(rung.status)) : Json(nullptr);
  json["iterations"] = rung.iterations;
  put_number(json, "relative_residual", rung.relative_residual);
  put_number(json, "setup_ms", rung.setup_ms);
  put_number(json, "solve_ms", rung.solve_ms);
  json["bytes"] = rung.info.bytes;
  json["outcome"] = rung.outcome;
  return json;
}

void put_facts(Json& json, const LadderFacts& facts) {
  json["structural_rank"] = facts.structural_rank ? Json(*facts.structural_rank) : Json(nullptr);
  json["duplicate_rows"] = facts.duplicate_rows;
  json["proof"] = singularity_proof(facts);
  json["direct"] = nullptr;
  if (!facts.direct) return;
  Json direct{{"method", to_string(facts.direct->method)}, {"predicted_nnz", facts.direct->factor_nnz}};
  put_number(direct, "flops", facts.direct->flops);
  direct["bytes"] = facts.direct->bytes;
  json["direct"] = std::move(direct);
}

}  // namespace

Json ladder_json(const RunOutcome& outcome) {
  if (!outcome.ladder) return nullptr;
  const LadderReport& ladder = outcome.ladder->ladder;
  Json json;
  json["rungs"] = Json::array();
  for (const RungReport& rung : ladder.rungs) json["rungs"].push_back(rung_json(rung));
  json["rung"] = ladder.rungs.empty() ? Json(nullptr) : Json(ladder.rung);
  put_facts(json, ladder.facts);
  put_number(json, "analysis_ms", ladder.analysis_ms);
  put_number(json, "ms", outcome.ladder->ms);
  json["next_command"] = outcome.next_command;
  return json;
}

Json planned_ladder_json(const LadderFacts& facts, const std::string& given_up) {
  Json json;
  json["rungs"] = Json::array();
  for (const RungPlan& plan : plan_ladder(facts)) json["rungs"].push_back(plan_json(plan));
  put_facts(json, facts);
  json["given_up"] = given_up.empty() ? Json(nullptr) : Json(given_up);
  return json;
}

}  // namespace tessera::cli
