// The preconditioner in a JSON document.
#include "precond_report.hpp"

#include <optional>
#include <utility>

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

/// \param shared_levels of several devices
[[nodiscard]] Json hierarchy_json(const AmgInfo& info, const std::optional<int>& shared_levels) {
  Json json;
  json["levels"] = Json::array();
  for (const AmgLevelInfo& level : info.levels) json["levels"].push_back(level_json(level));
  json["block_size"] = info.block_size;
  put_number(json, "operator_complexity", info.operator_complexity);
  put_number(json, "grid_complexity", info.grid_complexity);
  json["setup_times_ms"] = times_json(info.times);
  json["coarsens"] = info.coarsens;
  json["reason"] = info.reason;
  if (shared_levels) json["shared_levels"] = *shared_levels;
  return json;
}

[[nodiscard]] Json polynomial_json(const PolynomialOutcome& polynomial) {
  const auto& [options, info] = polynomial;
  Json json{{"kind", options.kind == PolynomialKind::chebyshev ? "chebyshev" : "neumann"}};
  json["degree"] = options.degree;
  json["explicit"] = options.explicit_matrix;
  put_number(json, "gershgorin", info.gershgorin);
  put_number(json, "lambda_max", info.lambda_max);
  put_number(json, "interval_low", info.interval_low);
  put_number(json, "interval_high", info.interval_high);
  put_number(json, "damping", info.damping);
  json["products"] = info.products;
  json["explicit_nnz"] = info.explicit_nnz;
  put_number(json, "fill", info.fill);
  Json times;
  put_number(times, "spectrum", info.spectrum_ms);
  put_number(times, "products", info.products_ms);
  put_number(times, "drop", info.drop_ms);
  put_number(times, "plan", info.plan_ms);
  json["setup_times_ms"] = std::move(times);
  return json;
}

[[nodiscard]] Json factors_json(const FactorOutcome& factors) {
  const auto& [options, info] = factors;
  Json json{{"kind", to_string(options.kind)}, {"blocks", options.blocks}};
  json["lower_nnz"] = info.lower_nnz;
  json["upper_nnz"] = info.upper_nnz;
  put_number(json, "fill", info.fill);
  json["zero_pivots"] = info.zero_pivots;
  put_number(json, "shift", info.shift);
  put_number(json, "condition_estimate", info.condition_estimate);
  json["permuted"] = info.permuted;
  put_number(json, "smallest_diagonal", info.smallest_diagonal);
  json["ordering"] = to_string(info.ordering);
  json["scaling"] = info.scaling;
  json["lower_levels"] = info.lower_levels;
  json["upper_levels"] = info.upper_levels;
  json["solve"] = to_string(info.solve);
  Json times;
  put_number(times, "prepare", info.prepare_ms);
  put_number(times, "factor", info.factor_ms);
  put_number(times, "analysis", info.analysis_ms);
  json["setup_times_ms"] = std::move(times);
  return json;
}

[[nodiscard]] Json direct_json(const DirectInfo& info) {
  const DirectPrediction& prediction = info.prediction;
  Json json{{"method", to_string(prediction.method)}, {"predicted_nnz", prediction.factor_nnz}};
  json["factor_nnz"] = info.factor_nnz;
  put_number(json, "flops", prediction.flops);
  json["predicted_bytes"] = prediction.bytes;
  json["negative_pivots"] = info.negative_pivots;
  Json times;
  put_number(times, "prediction", prediction.ms);
  put_number(times, "factor", info.factor_ms);
  json["setup_times_ms"] = std::move(times);
  return json;
}

[[nodiscard]] Json inverse_json(const support::InverseOutcome& inverse) {
  const FsaiInfo& info = inverse.info;
  Json json{{"kind", inverse.kind}, {"level", inverse.level}};
  put_number(json, "filter", inverse.filter);
  json["max_row_entries"] = inverse.max_row_entries;
  json["nnz"] = info.nnz;
  json["dropped"] = info.dropped;
  json["largest_row"] = info.largest_row;
  put_number(json, "fill", info.fill);
  Json times;
  put_number(times, "pattern", info.pattern_ms);
  put_number(times, "rows", info.rows_ms);
  put_number(times, "plan", info.plan_ms);
  json["setup_times_ms"] = std::move(times);
  return json;
}

}  // namespace

Json precond_json(const PrecondOutcome& precond, double setup_ms) {
  Json json{{"name", precond.name}, {"reason", precond.reason}};
  put_number(json, "setup_ms", setup_ms);
  json["bytes"] = precond.info.bytes;
  json["symmetric"] = precond.info.is_symmetric;
  json["hierarchy"] = precond.hierarchy ? hierarchy_json(*precond.hierarchy, precond.shared_levels) : Json(nullptr);
  json["polynomial"] = precond.polynomial ? polynomial_json(*precond.polynomial) : Json(nullptr);
  json["factors"] = precond.factors ? factors_json(*precond.factors) : Json(nullptr);
  json["direct"] = precond.direct ? direct_json(*precond.direct) : Json(nullptr);
  json["approximate_inverse"] =
      precond.approximate_inverse ? inverse_json(*precond.approximate_inverse) : Json(nullptr);
  json["trial"] = nullptr;
  return json;
}

}  // namespace tessera::cli
