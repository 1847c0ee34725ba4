#include "compare_report.hpp"
#include "system_ordering.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace tessera::cli {

namespace {

using compare::gbytes_per_second;
using compare::KernelRow;
using compare::PaysAfter;
using compare::Solver;
using compare::SolveRow;
using compare::Times;
using compare::TimingRatio;

[[nodiscard]] std::string quote_csv(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

constexpr std::string_view columns[] = {
    "kind",          "solver",           "kernel",           "cache",       "check",          "reason",
    "setup_ms",      "plan_bytes",       "median_ms",        "q1_ms",       "q3_ms",          "min_ms",
    "rounds",        "gbytes_per_s",     "copy_share",       "speed_up",    "speed_up_low",   "speed_up_high",
    "pays_after",    "total_ms",         "error_bound",      "bits_repeat", "status",         "iterations",
    "products",      "residual_checked", "residual",         "target",      "baseline_ratio", "baseline_low",
    "baseline_high", "precond",          "pays_after_solves"};

/// Cells of one line by column; a missing one stays empty.
using Cells = std::map<std::string_view, std::string>;

[[nodiscard]] std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

[[nodiscard]] std::string cells_line(const Cells& cells) {
  std::vector<std::string> ordered;
  for (const std::string_view column : columns) {
    const auto found = cells.find(column);
    ordered.push_back(found == cells.end() ? std::string() : found->second);
  }
  return csv_line(ordered);
}

void put_times(const Times& times, Cells& cells) {
  if (!times.measured()) return;
  cells["median_ms"] = number(times.summary.median);
  cells["q1_ms"] = number(times.summary.lower_quartile);
  cells["q3_ms"] = number(times.summary.upper_quartile);
  cells["min_ms"] = number(times.summary.min);
  cells["rounds"] = fmt::format("{}", times.summary.count);
}

void put_ratios(const Times& times, Cells& cells) {
  if (times.speed_up) {
    cells["speed_up"] = number(times.speed_up->ratio);
    cells["speed_up_low"] = number(times.speed_up->low);
    cells["speed_up_high"] = number(times.speed_up->high);
  }
  if (times.change) {
    cells["baseline_ratio"] = number(times.change->ratio);
    cells["baseline_low"] = number(times.change->low);
    cells["baseline_high"] = number(times.change->high);
  }
}

void put_pays(const PaysAfter& pays, Cells& cells) {
  if (pays.known) cells["pays_after"] = pays.applies ? fmt::format("{}", *pays.applies) : "never";
}

[[nodiscard]] std::string product_line(const CompareOutcome& outcome, const KernelRow& row, bool cold) {
  const Times& times = cold ? row.cold : row.warm;
  Cells cells{{"kind", "product"},
              {"kernel", row.kernel},
              {"cache", cold ? "cold" : "warm"},
              {"check", row.passed ? "pass" : "FAIL"},
              {"reason", row.reason}};
  put_times(times, cells);
  put_ratios(times, cells);
  if (row.passed) {
    cells["plan_bytes"] = fmt::format("{}", row.plan.bytes);
    cells["error_bound"] = number(row.error_over_bound);
    cells["bits_repeat"] = row.repeats ? "yes" : "no";
  }
  if (row.setup.measured()) cells["setup_ms"] = number(row.setup.summary.median);
  if (times.measured()) {
    const double gbytes = gbytes_per_second(outcome.least_bytes, times.summary.median);
    cells["gbytes_per_s"] = number(gbytes);
    if (outcome.copy_gbytes_per_s > 0.0) cells["copy_share"] = number(gbytes / outcome.copy_gbytes_per_s);
  }
  if (!cold && times.measured()) {
    cells["total_ms"] = number(row.total_ms);
    put_pays(row.pays, cells);
  }
  return cells_line(cells);
}

[[nodiscard]] std::string solve_line(const SolveRow& row) {
  Cells cells{{"kind", "solve"},      {"solver", std::string(to_string(row.solver))},
              {"kernel", row.kernel}, {"check", row.passed ? "pass" : "FAIL"},
              {"reason", row.reason}, {"precond", row.precond}};
  put_times(row.solve, cells);
  put_ratios(row.total, cells);
  if (row.solved) {
    cells["status"] = to_string(row.status);
    cells["iterations"] = fmt::format("{}", row.iterations);
    cells["products"] = fmt::format("{}", row.spmv_count);
    cells["residual_checked"] = number(row.checked_residual);
    cells["residual"] = number(row.reported_residual);
    cells["target"] = number(row.target);
  }
  if (row.total.measured()) {
    cells["setup_ms"] = number(row.setup.summary.median);
    cells["total_ms"] = number(row.total.summary.median);
    put_pays(row.pays, cells);
  }
  if (row.pays_solves.known) {
    cells["pays_after_solves"] = row.pays_solves.applies ? fmt::format("{}", *row.pays_solves.applies) : "never";
  }
  return cells_line(cells);
}

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
    if (row.solver != Solver::pagerank) result["precond"] = row.precond;
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
  if (row.preconds_compared) json["precond"] = row.precond;
  json["result"] = std::move(result);
  if (!row.total.measured()) return json;
  json["setup_ms"] = times_json(row.setup, outcome.noise);
  json["solve_ms"] = times_json(row.solve, outcome.noise);
  json["total_ms"] = times_json(row.total, outcome.noise);
  put_ratio(json["total_ms"], "speed_up", row.total.speed_up);
  put_ratio(json["total_ms"], "baseline", row.total.change);
  put_pays(json, row.pays);
  if (row.pays_solves.known) {
    json["break_even_solves"] = row.pays_solves.applies ? Json(*row.pays_solves.applies) : Json(nullptr);
  }
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

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + quote_csv(cells[i]);
  return line + '\n';
}

std::string compare_csv(const CompareOutcome& outcome) {
  std::string text = csv_line(std::vector<std::string>(std::begin(columns), std::end(columns)));
  for (const KernelRow& row : outcome.products) {
    text += product_line(outcome, row, false);
    if (row.cold.measured()) text += product_line(outcome, row, true);
  }
  for (const SolveRow& row : outcome.solves) text += solve_line(row);
  return text;
}

Json compare_json(const CompareOutcome& outcome, const Options& options, const Invocation& invocation, ExitCode code) {
  Json json = document_head("solve.compare/1", invocation);
  put_machine(json, outcome);
  json["matrix"] = matrix_json(outcome);
  json["config"] = config_json(options);
  if (outcome.rhs_replaced) json["config"]["rhs"]["value"] = "Arandom";
  if (outcome.ordering) json["ordering"] = ordering_json(*outcome.ordering);
  json["result"] = result_json(outcome, code);
  json["cases"] = Json::array();
  for (const KernelRow& row : outcome.products) json["cases"].push_back(product_json(outcome, row));
  for (const SolveRow& row : outcome.solves) json["cases"].push_back(solve_json(outcome, row));
  json["memory_bytes"] = memory_json(outcome.memory);
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

}  // namespace tessera::cli
