#include "compare/tables.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <string_view>

namespace tessera::cli {

namespace {

constexpr std::string_view columns[] = {
    "kind",         "solver",           "kernel",      "cache",       "check",          "reason",
    "setup_ms",     "plan_bytes",       "median_ms",   "q1_ms",       "q3_ms",          "min_ms",
    "rounds",       "gbytes_per_s",     "copy_share",  "speed_up",    "speed_up_low",   "speed_up_high",
    "pays_after",   "total_ms",         "error_bound", "bits_repeat", "status",         "iterations",
    "products",     "residual_checked", "residual",    "target",      "baseline_ratio", "baseline_low",
    "baseline_high"};

/// Cells of one line by column; those that are missing stay empty.
using Cells = std::map<std::string_view, std::string>;

[[nodiscard]] std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

[[nodiscard]] std::string line(const Cells& cells) {
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
  return line(cells);
}

[[nodiscard]] std::string solve_line(const SolveRow& row) {
  Cells cells{{"kind", "solve"},
              {"solver", std::string(to_string(row.solver))},
              {"kernel", row.kernel},
              {"check", row.passed ? "pass" : "FAIL"},
              {"reason", row.reason}};
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
  return line(cells);
}

}  // namespace

std::string compare_csv(const CompareOutcome& outcome) {
  std::string text = csv_line(std::vector<std::string>(std::begin(columns), std::end(columns)));
  for (const KernelRow& row : outcome.products) {
    text += product_line(outcome, row, false);
    if (row.cold.measured()) text += product_line(outcome, row, true);
  }
  for (const SolveRow& row : outcome.solves) text += solve_line(row);
  return text;
}

}  // namespace tessera::cli
