#include "inspect.hpp"
#include "ladder_report.hpp"
#include "report_json.hpp"

namespace tessera::cli {

namespace {

[[nodiscard]] std::string_view name_of(ValueSymmetry symmetry) {
  switch (symmetry) {
    case ValueSymmetry::exact:
      return "symmetric";
    case ValueSymmetry::rounding:
      return "symmetric_up_to_rounding";
    case ValueSymmetry::skew:
      return "skew_symmetric";
    case ValueSymmetry::none:
      break;
  }
  return "none";
}

[[nodiscard]] Json file_json(const MatrixMarketHeader& header) {
  return {{"format", to_string(header.format)},
          {"field", to_string(header.field)},
          {"symmetry", to_string(header.symmetry)},
          {"entries", header.entries}};
}

[[nodiscard]] Json symmetry_json(const InspectOutcome& outcome) {
  const MatrixDetails& d = outcome.details;
  Json json;
  json["positions"] = outcome.components && d.mirrored == d.off_diagonal;
  json["values"] = name_of(value_symmetry(outcome));
  json["off_diagonal"] = d.off_diagonal;
  json["mirrored"] = d.mirrored;
  json["equal_pairs"] = d.equal_pairs;
  json["opposite_pairs"] = d.opposite_pairs;
  put_number(json, "max_difference_over_max_abs", d.asymmetry);
  put_number(json, "rounding_tolerance", symmetry_tolerance(outcome.precision));
  return json;
}

[[nodiscard]] Json values_json(const InspectOutcome& outcome) {
  Json json;
  put_number(json, "min_abs", outcome.details.min_abs);
  put_number(json, "max_abs", outcome.details.max_abs);
  json["negative"] = outcome.details.negative;
  json["ones"] = outcome.details.ones;
  json["explicit_zeros"] = outcome.matrix.explicit_zeros;
  json["not_finite"] = outcome.matrix.not_finite;
  put_number(json, "row_norm_min", outcome.details.row_norm_min);
  put_number(json, "row_norm_max", outcome.details.row_norm_max);
  return json;
}

[[nodiscard]] Json diagonal_json(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  Json json;
  json["length"] = std::min(m.rows, m.cols);
  json["missing"] = m.diagonal_missing;
  json["zero"] = m.diagonal_zero;
  json["negative"] = m.diagonal_negative;
  json["not_finite"] = m.diagonal_not_finite;
  put_number(json, "min_abs", m.diagonal_min_abs);
  put_number(json, "max_abs", m.diagonal_max_abs);
  json["weakly_dominant_rows"] = m.weakly_dominant_rows;
  json["strictly_dominant_rows"] = outcome.details.strictly_dominant_rows;
  return json;
}

[[nodiscard]] Json rows_json(const InspectOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  Json json;
  json["min_nnz"] = m.min_row_nnz;
  json["max_nnz"] = m.max_row_nnz;
  put_number(json, "mean_nnz", m.mean_row_nnz);
  put_number(json, "stddev_nnz", m.stddev_row_nnz);
  put_number(json, "gini", m.gini_row_nnz);
  put_number(json, "max_share", m.max_row_share);
  json["hub_rows"] = outcome.details.hub_rows;
  json["hub_nnz"] = outcome.details.hub_nnz;
  json["log2_histogram"] = m.row_length_histogram;
  return json;
}

[[nodiscard]] Json tiles_json(const TileEstimate& tiles) {
  Json json;
  json["count"] = static_cast<offset_t>(tiles.tiles);
  put_number(json, "fill", tiles.fill);
  put_number(json, "products_per_pair", tiles.products_per_pair());
  return json;
}

[[nodiscard]] Json components_json(const std::optional<ComponentCounts>& counts) {
  if (!counts) return nullptr;
  return {{"count", counts->count}, {"largest", counts->largest}, {"singletons", counts->singletons}};
}

[[nodiscard]] Json structure_json(const InspectOutcome& outcome) {
  Json json;
  json["empty_rows"] = outcome.matrix.empty_rows;
  json["empty_cols"] = outcome.matrix.empty_cols;
  json["lower_bandwidth"] = outcome.details.lower_bandwidth;
  json["upper_bandwidth"] = outcome.details.upper_bandwidth;
  json["profile"] = outcome.details.profile;
  json["components"] = components_json(outcome.components);
  json["strong_components"] = components_json(outcome.strong_components);
  return json;
}

[[nodiscard]] Json kernels_json(const InspectOutcome& outcome) {
  Json json = Json::array();
  for (const KernelCost& cost : outcome.kernels) {
    if (cost.plan) {
      json.push_back(plan_json(*cost.plan));
    } else {
      json.push_back({{"kernel", to_string(cost.algorithm)}, {"problem", cost.problem}});
    }
  }
  return json;
}

[[nodiscard]] Json layouts_json(const std::vector<detail::LayoutOutlook>& layouts) {
  Json json = Json::array();
  for (const detail::LayoutOutlook& layout : layouts) {
    Json one{{"kernel", to_string(layout.algorithm)},
             {"layout", layout.layout},
             {"qualifies", layout.qualifies},
             {"taken", layout.taken},
             {"reason", layout.reason}};
    one["bytes_per_nonzero"] = layout.qualifies ? Json(layout.bytes_per_nonzero) : Json(nullptr);
    json.push_back(std::move(one));
  }
  return json;
}

[[nodiscard]] Json amg_json(const std::optional<AmgOutlook>& amg) {
  if (!amg) return nullptr;
  Json json;
  put_number(json, "strong_neighbours", amg->prediction.strong_neighbours);
  json["levels"] = Json::array();
  for (const support::PredictedLevel& level : amg->prediction.levels) {
    json["levels"].push_back({{"rows", level.rows}, {"nnz", level.nnz}});
  }
  put_number(json, "operator_complexity", amg->prediction.operator_complexity);
  put_number(json, "grid_complexity", amg->prediction.grid_complexity);
  json["auto_tries"] = amg->auto_tries;
  return json;
}

[[nodiscard]] Json advice_json(const InspectOutcome& outcome) {
  const Advice& advice = outcome.advice;
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  Json json;
  json["kernel"] = to_string(outcome.plan.algorithm);
  json["kernel_reason"] = outcome.plan.reason;
  json["method"] = text_or_null(advice.method);
  json["method_reason"] = advice.method_reason;
  json["precond"] = text_or_null(advice.precond);
  json["precond_reason"] = text_or_null(advice.precond_reason);
  json["command"] = text_or_null(advice.command);
  return json;
}

}  // namespace

Json inspect_json(const InspectOutcome& outcome, const Options& options, const Invocation& invocation, ExitCode code) {
  Json json = document_head("solve.inspect/1", invocation);
  put_machine(json, outcome);
  json["config"] = config_json(options);
  json["matrix"] = matrix_json(outcome);
  json["file"] = outcome.header ? file_json(*outcome.header) : Json(nullptr);
  json["values"] = values_json(outcome);
  json["symmetry"] = symmetry_json(outcome);
  json["diagonal"] = diagonal_json(outcome);
  json["rows"] = rows_json(outcome);
  json["structure"] = structure_json(outcome);
  json["tiles"] = tiles_json(outcome.tiles);
  json["spy"] = spy_json(outcome.spy);
  json["kernels"] = kernels_json(outcome);
  json["layouts"] = layouts_json(outcome.layouts);
  json["predictions"] = outcome.predictions ? predictions_json(*outcome.predictions) : Json(nullptr);
  json["amg"] = amg_json(outcome.amg);
  json["ladder"] =
      outcome.ladder ? planned_ladder_json(outcome.ladder->facts, outcome.ladder->given_up) : Json(nullptr);
  json["advice"] = advice_json(outcome);
  json["result"] = {{"status", "inspected"}, {"exit_code", static_cast<int>(code)}};
  json["timings_ms"] = {{"read", outcome.read_ms}, {"inspect", outcome.inspect_ms}};
  json["memory_bytes"] = {{"matrix", outcome.memory.matrix}, {"plan", outcome.memory.plan}};
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

}  // namespace tessera::cli
