// Several right-hand sides in the summary and in a JSON document.
#include "columns_report.hpp"

#include "summary_text.hpp"
#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::size_t shown_columns = 10;

/// The part of the target that a residual is; infinite where the target is 0.
[[nodiscard]] double excess(const SolveReport& report) { return report.true_residual / report.target; }

}  // namespace

std::string columns_line(const RunOutcome& outcome) {
  if (outcome.columns.empty()) return {};
  std::map<std::string, std::int64_t> endings;
  std::int64_t most = 0;
  for (const ColumnOutcome& column : outcome.columns) {
    ++endings[std::string(to_string(column.report.status))];
    most = std::max(most, column.report.iterations);
  }
  std::string text;
  for (const auto& [ending, count] : endings) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, ending);
  return line("columns",
              fmt::format("{} right-hand sides: {}; at most {}; of the worst, column {}:", outcome.columns.size(), text,
                          counted(most, "iteration"), outcome.worst_column + 1));
}

std::string columns_table(const RunOutcome& outcome, std::size_t width) {
  if (outcome.columns.empty()) return {};
  std::vector<std::size_t> order(outcome.columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool are_many = order.size() > shown_columns;
  if (are_many) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
      const SolveReport& a = outcome.columns[i].report;
      const SolveReport& b = outcome.columns[j].report;
      if (i == outcome.worst_column || j == outcome.worst_column) return i == outcome.worst_column && i != j;
      if (a.converged() != b.converged()) return b.converged();
      return excess(a) > excess(b);
    });
    order.resize(shown_columns);
  }
  TextTable table;
  table.columns = {{"", "column"},     {"", "status"},      {"", "method", 1},
                   {"", "iterations"}, {"", "||b - A x||"}, {"", "target"}};
  for (const std::size_t j : order) {
    const ColumnOutcome& column = outcome.columns[j];
    table.rows.push_back(
        {fmt::format("{}", j + 1), std::string(to_string(column.report.status)),
         fmt::format("{} {}", column.method, column.precond), fmt::format("{}", column.report.iterations),
         fmt::format("{:.2e}", column.report.true_residual), fmt::format("{:.2e}", column.report.target)});
  }
  std::string text = aligned_text(table, width);
  if (are_many) {
    text += fmt::format("{} columns more, whose residuals are smaller parts of their targets\n",
                        outcome.columns.size() - order.size());
  }
  return text;
}

Json columns_json(const RunOutcome& outcome) {
  if (outcome.columns.empty()) return nullptr;
  Json json = Json::array();
  for (const ColumnOutcome& column : outcome.columns) {
    const SolveReport& report = column.report;
    Json item{{"status", to_string(report.status)},
              {"reason", report.reason},
              {"method", column.method},
              {"precond", column.precond},
              {"iterations", report.iterations},
              {"spmv_count", report.spmv_count},
              {"precond_count", report.preconditioner_count},
              {"restarts", report.restarts},
              {"replacements", report.replacements}};
    put_number(item, "recurrence_residual", report.recurrence_residual);
    put_number(item, "true_residual", report.true_residual);
    put_number(item, "b_norm", report.b_norm);
    put_number(item, "r0_norm", report.r0_norm);
    put_number(item, "target", report.target);
    put_number(item, "solve_ms", report.timings.solve_ms);
    json.push_back(std::move(item));
  }
  return json;
}

}  // namespace tessera::cli
