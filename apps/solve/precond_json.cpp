// The preconditioner in a JSON document.
#include "precond_report.hpp"

namespace tessera::cli {

namespace {

[[nodiscard]] Json level_json(const AmgLevelInfo& level) {
  Json json{{"rows", level.rows}, {"nnz", level.nnz}};
  put_number(json, "strong", level.strong);
  json["aggregates"] = level.aggregates;
  json["rounds"] = level.rounds;
  put_number(json, "spectral_radius", level.spectral_radius);
  json["layout"] = level.layout;
  json["bytes"] = level.bytes;
  return json;
}

[[nodiscard]] Json times_json(const AmgSetupTimes& times) {
  Json json;
  put_number(json, "strength", times.strength);
  put_number(json, "eigenvalues", times.eigenvalues);
  put_number(json, "aggregation", times.aggregation);
  put_number(json, "prolongator", times.prolongator);
  put_number(json, "restriction", times.restriction);
  put_number(json, "products", times.products);
  put_number(json, "coarsest", times.coarsest);
  put_number(json, "layout", times.layout);
  put_number(json, "check", times.check);
  return json;
}

[[nodiscard]] Json hierarchy_json(const AmgInfo& info) {
  Json json;
  json["levels"] = Json::array();
  for (const AmgLevelInfo& level : info.levels) json["levels"].push_back(level_json(level));
  put_number(json, "operator_complexity", info.operator_complexity);
  put_number(json, "grid_complexity", info.grid_complexity);
  json["setup_times_ms"] = times_json(info.times);
  json["coarsens"] = info.coarsens;
  json["reason"] = info.reason;
  return json;
}

[[nodiscard]] Json trial_json(const support::JacobiTrial& trial) {
  Json json{{"status", to_string(trial.status)}, {"iterations", trial.iterations}};
  put_number(json, "projected_iterations", trial.projected);
  put_number(json, "amg_break_even", trial.break_even);
  put_number(json, "ms", trial.ms);
  return json;
}

}  // namespace

Json precond_json(const PrecondOutcome& precond, double setup_ms) {
  Json json{{"name", precond.name}, {"reason", precond.reason}};
  put_number(json, "setup_ms", setup_ms);
  json["bytes"] = precond.info.bytes;
  json["symmetric"] = precond.info.is_symmetric;
  json["hierarchy"] = precond.hierarchy ? hierarchy_json(*precond.hierarchy) : Json(nullptr);
  json["trial"] = precond.trial ? trial_json(*precond.trial) : Json(nullptr);
  return json;
}

}  // namespace tessera::cli
