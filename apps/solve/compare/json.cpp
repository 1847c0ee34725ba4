#include "compare/json.hpp"

#include <algorithm>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] Json times_json(const Times& times, double noise) {
  Json json;
  put_number(json, "median", times.summary.median);
  put_number(json, "q1", times.summary.lower_quartile);
  put_number(json, "q3", times.summary.upper_quartile);
  put_number(json, "min", times.summary.min);
  put_number(json, "max", times.summary.max);
  json["count"] = times.summary.count;
  json["noisy"] = times.summary.noise() > noise;
  return json;
}

[[nodiscard]] Json ratio_json(const TimingRatio& ratio) {
  Json json;
  put_number(json, "ratio", ratio.ratio);
  put_number(json, "low", ratio.low);
  put_number(json, "high", ratio.high);
  return json;
}

void put_ratio(Json& json, const std::string& key, const std::optional<TimingRatio>& ratio) {
  if (ratio) json[key] = ratio_json(*ratio);
}

void put_pays(Json& json, const PaysAfter& pays) {
  if (!pays.known) return;
  json["break_even_applies"] = pays.applies ? Json(*pays.applies) : Json(nullptr);
  json["break_even_clear"] = pays.clear;
}

[[nodiscard]] Json product_json(const CompareOutcome& outcome, const KernelRow& row) {
  Json json{{"kind", "product"}, {"kernel", row.kernel}, {"reference", row.reference}};
  json["result"] = {{"status", row.passed ? "pass" : "FAIL"}, {"reason", row.reason}};
  if (!row.passed) return json;
  json["plan"] = plan_json(row.plan);
  put_pays(json["plan"], row.pays);
  Json verification;
  put_number(verification, "error_over_bound", row.error_over_bound);
  verification["bits_repeat"] = row.repeats;
  json["verification"] = std::move(verification);
  if (!row.warm.measured()) return json;
  json["setup_ms"] = times_json(row.setup, outcome.noise);
  json["product_ms"]["warm"] = times_json(row.warm, outcome.noise);
  put_ratio(json["product_ms"]["warm"], "speed_up", row.warm.speed_up);
  put_ratio(json["product_ms"]["warm"], "baseline", row.warm.change);
  if (row.cold.measured()) {
    json["product_ms"]["cold"] = times_json(row.cold, outcome.noise);
    put_ratio(json["product_ms"]["cold"], "speed_up", row.cold.speed_up);
    put_ratio(json["product_ms"]["cold"], "baseline", row.cold.change);
  }
  put_number(json, "applies_total_ms", row.total_ms);
  const double gbytes = gbytes_per_second(outcome.least_bytes, row.warm.summary.median);
  constexpr std::uint64_t flops_per_nonzero = 2;
  Json derived;
  put_number(
      derived, "gflops",
      gbytes_per_second(flops_per_nonzero * static_cast<std::uint64_t>(outcome.matrix.nnz), row.warm.summary.median));
  put_number(derived, "gbytes_per_s", gbytes);
  if (outcome.copy_gbytes_per_s > 0.0) put_number(derived, "percent_of_copy", 100 * gbytes / outcome.copy_gbytes_per_s);
  json["derived"] = std::move(derived);
  return json;
}

[[nodiscard]] std::string status_of(const SolveRow& row) {
  if (!row.passed) return "FAIL";
  return row.solved ? std::string(to_string(row.status)) : "not_run";
}

[[nodiscard]] Json solve_json(const CompareOutcome& outcome, const SolveRow& row) {
  Json json{{"kind", "solve"}, {"solver", to_string(row.solver)}, {"kernel", row.kernel}, {"reference", row.reference}};
  Json result{{"status", status_of(row)}, {"reason", row.passed ? row.status_reason : row.reason}};
  if (row.solved) {
    if (row.solver != Solver::pagerank) result["precond"] = outcome.precond;
    result["iterations"] = row.iterations;
    result["iterations_min"] = row.min_iterations;
    result["iterations_max"] = row.max_iterations;
    result["spmv_count"] = row.spmv_count;
    Json residual;
    put_number(residual, row.solver == Solver::pagerank ? "change" : "true", row.reported_residual);
    put_number(residual, "checked", row.checked_residual);
    put_number(residual, "checked_allowance", row.allowance);
    put_number(residual, "target", row.target);
    residual["norm"] = row.solver == Solver::pagerank ? "l1" : "l2";
    result["residual"] = std::move(residual);
  }
  json["result"] = std::move(result);
  if (!row.total.measured()) return json;
  json["setup_ms"] = times_json(row.setup, outcome.noise);
  json["solve_ms"] = times_json(row.solve, outcome.noise);
  json["total_ms"] = times_json(row.total, outcome.noise);
  put_ratio(json["total_ms"], "speed_up", row.total.speed_up);
  put_ratio(json["total_ms"], "baseline", row.total.change);
  put_pays(json, row.pays);
  return json;
}

[[nodiscard]] std::string status_of(const CompareOutcome& outcome) {
  if (outcome.failed()) return "failed";
  if (!outcome.slower.empty()) return "slower";
  return outcome.interrupted ? "interrupted" : "complete";
}

[[nodiscard]] Json result_json(const CompareOutcome& outcome, ExitCode code) {
  Json json{{"status", status_of(outcome)}, {"exit_code", static_cast<int>(code)}};
  const bool timed = !outcome.products.empty() && outcome.products.front().warm.measured();
  json["best"] = timed ? Json(outcome.products.front().kernel) : Json(nullptr);
  json["sort"] = to_string(outcome.sort);
  json["applies"] = outcome.applies;
  json["least_bytes"] = outcome.least_bytes;
  json["cache_bytes"] = outcome.cache_bytes;
  put_number(json, "copy_gbytes_per_s", outcome.copy_gbytes_per_s);
  put_number(json, "noise", outcome.noise);
  json["unchecked_rows"] = outcome.unchecked_rows;
  if (outcome.baseline) json["baseline"] = *outcome.baseline;
  json["slower"] = outcome.slower;
  return json;
}

}  // namespace

Json compare_json(const CompareOutcome& outcome, const Options& options, const Invocation& invocation, ExitCode code) {
  Json json = document_head("solve.compare/1", invocation);
  put_machine(json, outcome);
  json["matrix"] = matrix_json(outcome);
  json["config"] = config_json(options);
  json["result"] = result_json(outcome, code);
  json["cases"] = Json::array();
  for (const KernelRow& row : outcome.products) json["cases"].push_back(product_json(outcome, row));
  for (const SolveRow& row : outcome.solves) json["cases"].push_back(solve_json(outcome, row));
  json["memory_bytes"] = memory_json(outcome.memory);
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

}  // namespace tessera::cli
