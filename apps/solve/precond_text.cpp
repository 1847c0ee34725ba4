// The preconditioner in the summary of a run.
#include "precond_report.hpp"
#include "summary_text.hpp"
#include "text_table.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] std::vector<std::string> level_cells(const AmgInfo& info, std::size_t number) {
  const AmgLevelInfo& level = info.levels[number];
  constexpr double mebibyte = 1024.0 * 1024.0;
  const double per_row = level.rows > 0 ? static_cast<double>(level.nnz) / static_cast<double>(level.rows) : 0.0;
  const bool coarsest = number + 1 == info.levels.size();
  return {fmt::format("  {}", number),
          fmt::format("{}", level.rows),
          fmt::format("{}", level.nnz),
          fmt::format("{:.1f}", per_row),
          coarsest ? "-" : fmt::format("{:.0f} %", 100.0 * level.strong),
          coarsest ? "-" : fmt::format("{}", level.aggregates),
          coarsest ? "-" : fmt::format("{:.2f}", level.spectral_radius),
          level.layout,
          fmt::format("{:.2f}", static_cast<double>(level.bytes) / mebibyte)};
}

[[nodiscard]] std::string level_table(const AmgInfo& info) {
  TextTable table;
  table.columns = {{"", "  level"},     {"", "rows"},           {"", "entries"}, {"per", "row"}, {"", "strong"},
                   {"aggre-", "gates"}, {"spectral", "radius"}, {"", "layout"},  {"", "MiB"}};
  for (std::size_t i = 0; i < info.levels.size(); ++i) table.rows.push_back(level_cells(info, i));
  return aligned_text(table);
}

/// "products 12.3 ms, aggregation 4.5 ms, ...", in the order of the work.
[[nodiscard]] std::string times_text(const AmgSetupTimes& times) {
  const std::array<std::pair<std::string_view, double>, 9> phases{{{"strength", times.strength},
                                                                   {"eigenvalues", times.eigenvalues},
                                                                   {"aggregation", times.aggregation},
                                                                   {"prolongator", times.prolongator},
                                                                   {"restriction", times.restriction},
                                                                   {"products", times.products},
                                                                   {"coarsest", times.coarsest},
                                                                   {"layout", times.layout},
                                                                   {"check", times.check}}};
  std::string text;
  for (const auto& [name, ms] : phases) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, time_text(ms));
  return text;
}

}  // namespace

std::string precond_lines(const PrecondOutcome& precond) {
  if (!precond.hierarchy) return {};
  const AmgInfo& info = *precond.hierarchy;
  std::string text =
      line("amg", fmt::format("{}, {}, operator complexity {:.2f}, grid complexity {:.2f}, {}",
                              counted(static_cast<std::int64_t>(info.levels.size()), "level"),
                              size_text(precond.info.bytes), info.operator_complexity, info.grid_complexity,
                              precond.info.is_symmetric ? "symmetric" : "not symmetric"));
  text += line("set-up", times_text(info.times));
  return text + level_table(info);
}

void warn_about_precond(const PrecondOutcome& precond, const std::string& method, Warnings& warnings) {
  if (!precond.hierarchy) return;
  if (!precond.hierarchy->coarsens) {
    warnings.push_back({"W011", fmt::format("amg does not coarsen this matrix: {}; --precond jacobi costs less",
                                            precond.hierarchy->reason)});
  }
  if (!precond.info.is_symmetric && method == "cg") {
    warnings.push_back({"W012", "amg is not symmetric here, which cg asks for; --method bicgstab takes any"});
  }
}

}  // namespace tessera::cli
