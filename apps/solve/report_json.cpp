// Results of run and pagerank, and what any solve tells of its iterations: history, times and rates.
#include "report_json.hpp"

#include "accuracy_report.hpp"
#include "columns_report.hpp"
#include "group_run.hpp"
#include "ladder_report.hpp"
#include "least_squares.hpp"
#include "precond_report.hpp"
#include "system_ordering.hpp"

#include "compare/timing.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::size_t full_history_rows = 10000;

[[nodiscard]] std::int64_t steps(const HistoryEntry& from, const HistoryEntry& to) {
  return std::max<std::int64_t>(to.iteration - from.iteration, 0);
}

[[nodiscard]] Json history_json(const std::vector<HistoryEntry>& history) {
  Json rows = Json::array();
  const std::vector<std::size_t> kept = decimated_rows(history.size());
  for (const std::size_t row : kept) {
    const HistoryEntry& entry = history[row];
    rows.push_back(Json::array({entry.iteration, number_or_null(entry.seconds), number_or_null(entry.recurrence),
                                number_or_null(entry.true_residual)}));
  }
  Json json;
  json["columns"] = {"iteration", "seconds", "recurrence", "true"};
  json["rows"] = std::move(rows);
  // A long history may have been thinned out while it grew.
  const std::size_t total = history.empty() ? 0 : static_cast<std::size_t>(steps(history.front(), history.back())) + 1;
  json["decimation"] = kept.empty() ? 1 : (total + kept.size() - 1) / kept.size();
  json["total_rows"] = total;
  return json;
}

/// Median time of an iteration between two entries of the history. Nothing for less than two.
[[nodiscard]] std::optional<double> median_iteration_ms(const std::vector<HistoryEntry>& history) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < history.size(); ++i) {
    const auto iterations = static_cast<double>(std::max<std::int64_t>(steps(history[i - 1], history[i]), 1));
    gaps.push_back(1e3 * (history[i].seconds - history[i - 1].seconds) / iterations);
  }
  if (gaps.empty()) return std::nullopt;
  return compare::summarise(gaps).median;
}

struct Progression {
  std::int64_t iterations = 0;
  const std::vector<HistoryEntry>* history = nullptr;
  const RunOutcome* run = nullptr;  ///< of a solve
};

/// Phases of all commands.
[[nodiscard]] double phases_ms(const Timings& timings, const CommonOutcome& outcome) {
  return timings.read_ms + outcome.inspect_ms + timings.upload_ms + timings.plan_ms + timings.preconditioner_ms +
         timings.solve_ms + timings.download_ms + outcome.write_ms;
}

[[nodiscard]] Json timings_json(const Timings& timings, const CommonOutcome& outcome, const Progression& progression) {
  Json json;
  put_number(json, outcome.from_file ? "read" : "generate", timings.read_ms);
  put_number(json, "inspect", outcome.inspect_ms);
  put_number(json, "upload", timings.upload_ms);
  put_number(json, "plan", timings.plan_ms);
  put_number(json, "precond_setup", timings.preconditioner_ms);
  put_number(json, "solve", timings.solve_ms);
  put_number(json, "download", timings.download_ms);
  if (progression.run != nullptr) put_number(json, "accuracy", progression.run->accuracy.ms);
  if (progression.run != nullptr && progression.run->ladder) {
    put_number(json, "ladder_rest", progression.run->ladder->rest_ms);
  }
  if (progression.run != nullptr && progression.run->advice_ms > 0.0) {
    put_number(json, "advice", progression.run->advice_ms);
  }
  put_number(json, "write", outcome.write_ms);
  if (progression.iterations > 0) {
    put_number(json, "per_iteration_mean", timings.solve_ms / static_cast<double>(progression.iterations));
  }
  if (const auto median = median_iteration_ms(*progression.history)) put_number(json, "per_iteration_median", *median);
  put_number(json, "total", progression.run != nullptr ? total_ms(*progression.run) : phases_ms(timings, outcome));
  return json;
}

/// The work of the products alone; over the whole time of the solve it gives a lower bound of the rate.
struct ProductWork {
  std::int64_t products = 0;
  offset_t nnz = 0;
  std::uint64_t bytes = 0;  ///< matrix and descriptors, read once per product; 0 where it is not known
};

[[nodiscard]] Json derived_json(const ProductWork& work, double solve_ms) {
  Json json = Json::object();
  if (!(solve_ms > 0.0)) return json;
  const double per_second = static_cast<double>(work.products) / (1e6 * solve_ms);
  put_number(json, "gflops", 2.0 * static_cast<double>(work.nnz) * per_second);
  if (work.bytes > 0) put_number(json, "gbytes_per_s", static_cast<double>(work.bytes) * per_second);
  return json;
}

[[nodiscard]] Json breakdowns_json(const std::vector<BreakdownEvent>& events) {
  Json json = Json::array();
  for (const BreakdownEvent& event : events) {
    Json item{{"iteration", event.iteration}, {"kind", to_string(event.kind)}};
    put_number(item, "value", event.value);
    item["action"] = event.restarted ? "restart" : "stop";
    json.push_back(std::move(item));
  }
  return json;
}

[[nodiscard]] Json mixed_json(const std::optional<MixedOutcome>& mixed) {
  if (!mixed) return nullptr;
  return {{"exact", mixed->is_exact},
          {"exponent", mixed->exponent},
          {"kernel", to_string(mixed->plan.algorithm)},
          {"single_iterations", mixed->single_iterations},
          {"double_iterations", mixed->double_iterations},
          {"double_products", mixed->double_products},
          {"fallback", mixed->fallback}};
}

[[nodiscard]] Json engine_json(const std::optional<petsc::EngineInfo>& engine) {
  if (!engine) return nullptr;
  return {{"petsc", engine->petsc},         {"mpi", engine->mpi},           {"processes", engine->processes},
          {"most_rows", engine->most_rows}, {"most_nnz", engine->most_nnz}, {"mat_type", engine->mat_type},
          {"ksp_type", engine->ksp_type},   {"pc_type", engine->pc_type}};
}

[[nodiscard]] Json run_result_json(const RunOutcome& outcome, ExitCode code) {
  const SolveReport& report = outcome.report;
  Json json;
  json["status"] = to_string(report.status);
  json["reason"] = report.reason;
  json["exit_code"] = static_cast<int>(code);
  json["method"] = outcome.method;
  json["method_reason"] = outcome.method_reason;
  json["precond"] = outcome.precond.name;
  json["precond_reason"] = outcome.precond.reason;
  json["breakdown"] = to_string(report.breakdown);
  json["iterations"] = report.iterations;
  json["spmv_count"] = report.spmv_count;
  json["precond_count"] = report.preconditioner_count;
  json["restarts"] = report.restarts;
  json["replacements"] = report.replacements;
  json["breakdowns"] = breakdowns_json(report.breakdowns);
  Json residual;
  put_number(residual, "recurrence", report.recurrence_residual);
  put_number(residual, "true", report.true_residual);
  put_number(residual, "b_norm", report.b_norm);
  put_number(residual, "r0_norm", report.r0_norm);
  put_number(residual, "target", report.target);
  residual["norm"] = "l2";
  put_number(residual, "rtol", outcome.relative_tolerance);
  put_number(residual, "atol", outcome.absolute_tolerance);
  residual["base"] = outcome.base == ResidualBase::b ? "b" : "r0";
  json["residual"] = std::move(residual);
  json["rhs"] = outcome.rhs;
  json["x0"] = outcome.x0;
  json["mixed"] = mixed_json(outcome.mixed);
  put_accuracy(json, outcome);
  if (outcome.least_squares) json["least_squares"] = least_squares_json(*outcome.least_squares);
  return json;
}

[[nodiscard]] Json pagerank_result_json(const PageRankOutcome& outcome, ExitCode code) {
  Json json;
  json["status"] = to_string(outcome.status);
  json["reason"] = outcome.reason;
  json["exit_code"] = static_cast<int>(code);
  json["iterations"] = outcome.iterations;
  json["spmv_count"] = outcome.spmv_count;
  put_number(json, "change", outcome.change);
  json["norm"] = to_string(outcome.options.norm);
  put_number(json, "tolerance", outcome.options.tolerance);
  put_number(json, "damping", outcome.options.damping);
  json["dangling"] = to_string(outcome.options.dangling);
  json["teleport"] = outcome.personalized ? "personalized" : "uniform";
  put_number(json, "sum", outcome.sum);
  json["vertices"] = outcome.matrix.rows;
  json["edges"] = outcome.edges;
  json["dangling_count"] = outcome.dangling_count;
  json["index_base"] = 1;
  json["top"] = ranking_json(outcome.rankings[outcome.worst_vector], outcome.names, "rank");
  if (!outcome.vectors.empty()) json["vector"] = outcome.worst_vector + 1;
  return json;
}

/// Several distributions of jumps.
[[nodiscard]] Json rank_vectors_json(const PageRankOutcome& outcome) {
  Json json = Json::array();
  for (std::size_t k = 0; k < outcome.vectors.size(); ++k) {
    const auto& [personalization, report] = outcome.vectors[k];
    Json item{{"personalize", personalization},
              {"status", to_string(report.status)},
              {"reason", report.reason},
              {"iterations", report.iterations},
              {"spmv_count", report.spmv_count}};
    put_number(item, "change", report.change);
    put_number(item, "sum", report.sum * outcome.scale);
    item["top"] = ranking_json(outcome.rankings[k], outcome.names, "rank");
    json.push_back(std::move(item));
  }
  return json;
}

}  // namespace

void put_tail(Json& json, const CommonOutcome& outcome, const Timings& timings, const Iterations& iterations) {
  json["history"] = history_json(*iterations.history);
  json["timings_ms"] = timings_json(timings, outcome, {iterations.count, iterations.history});
  json["derived"] = derived_json({iterations.products, iterations.nnz, 0}, timings.solve_ms);
  json["memory_bytes"] = memory_json(outcome.memory);
  json["warnings"] = warnings_json(outcome.warnings);
}

double total_ms(const RunOutcome& outcome) {
  const double rest_ms = outcome.ladder ? outcome.ladder->rest_ms : 0.0;
  return phases_ms(outcome.report.timings, outcome) + outcome.accuracy.ms + rest_ms + outcome.advice_ms;
}

std::vector<std::size_t> decimated_rows(std::size_t rows) {
  constexpr std::size_t ends = 100;
  constexpr std::size_t between = 1000;
  std::vector<std::size_t> kept;
  const auto keep = [&](std::size_t row) {
    if (kept.empty() || row > kept.back()) kept.push_back(row);
  };
  if (rows <= full_history_rows) {
    for (std::size_t row = 0; row < rows; ++row) keep(row);
    return kept;
  }
  for (std::size_t row = 0; row < ends; ++row) keep(row);
  const double ratio = static_cast<double>(rows - ends) / static_cast<double>(ends);
  for (std::size_t i = 0; i < between; ++i) {
    const double exponent = static_cast<double>(i) / static_cast<double>(between);
    keep(static_cast<std::size_t>(static_cast<double>(ends) * std::pow(ratio, exponent)));
  }
  for (std::size_t row = rows - ends; row < rows; ++row) keep(row);
  return kept;
}

Json run_json(const RunOutcome& outcome, const Options& options, const Invocation& invocation, ExitCode code) {
  Json json = common_json("solve.run/1", outcome, options, invocation);
  if (outcome.rhs_replaced) json["config"]["rhs"]["value"] = "Arandom";
  if (outcome.break_even) {
    const auto& applications = outcome.break_even->applications;
    json["plan"]["break_even_applies"] = applications ? Json(*applications) : Json(nullptr);
    put_number(json["plan"], "apply_ms", outcome.break_even->apply_ms);
    put_number(json["plan"], "reference_ms", outcome.break_even->reference_ms);
  }
  json["engine"] = engine_json(outcome.engine);
  if (!outcome.parts.empty()) json["devices"] = parts_json(outcome);
  if (outcome.ordering) json["ordering"] = ordering_json(*outcome.ordering);
  if (outcome.engine) json["plan"]["kernel"] = outcome.engine->mat_type;
  json["preconditioner"] = precond_json(outcome.precond, outcome.report.timings.preconditioner_ms);
  json["ladder"] = ladder_json(outcome);
  json["result"] = run_result_json(outcome, code);
  if (!outcome.columns.empty()) {
    json["result"]["column"] = outcome.worst_column + 1;
    json["columns"] = columns_json(outcome);
  }
  json["history"] = history_json(outcome.report.history);
  json["timings_ms"] =
      timings_json(outcome.report.timings, outcome, {outcome.report.iterations, &outcome.report.history, &outcome});
  const std::int64_t transposed = outcome.least_squares ? outcome.least_squares->report.transposed_count : 0;
  json["derived"] = derived_json(
      {outcome.report.spmv_count + transposed, outcome.matrix.nnz, outcome.memory.matrix + outcome.memory.plan},
      outcome.report.timings.solve_ms);
  json["memory_bytes"] = memory_json(outcome.memory);
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

Json pagerank_json(const PageRankOutcome& outcome, const Options& options, const Invocation& invocation,
                   ExitCode code) {
  Json json = common_json("solve.pagerank/1", outcome, options, invocation);
  if (!outcome.parts.empty()) json["devices"] = parts_json(outcome);
  if (outcome.ordering) json["ordering"] = ordering_json(*outcome.ordering);
  json["result"] = pagerank_result_json(outcome, code);
  if (!outcome.vectors.empty()) json["vectors"] = rank_vectors_json(outcome);
  put_tail(json, outcome, outcome.timings, {outcome.iterations, outcome.spmv_count, outcome.edges, &outcome.history});
  return json;
}

}  // namespace tessera::cli
