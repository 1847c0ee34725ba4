#include "compare/tables.hpp"
#include "device_facts.hpp"
#include "machine.hpp"
#include "summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cli {

namespace {

[[nodiscard]] std::int64_t rounds_of(const CompareOutcome& outcome) {
  std::int64_t rounds = 0;
  for (const KernelRow& row : outcome.products) rounds = std::max(rounds, row.warm.summary.count);
  return rounds;
}

[[nodiscard]] std::vector<std::string> facts(const CompareOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} x {}, {} nonzeros{}, {:.1f} per row", outcome.problem, m.rows, m.cols, m.nnz,
                              outcome.pattern ? " (pattern)" : "", m.mean_row_nnz));
  const std::string place = outcome.device.is_host() ? fmt::format("{} threads on {}", outcome.threads, cpu_name())
                                                     : device_text(outcome.device, Device{});
  lines.push_back(fmt::format("{}, {}, {} rounds, kernels in random order", place,
                              outcome.precision == Precision::fp64 ? "fp64" : "fp32", rounds_of(outcome)));
  std::string traffic = fmt::format("a product moves at least {} (last-level cache {})", size_text(outcome.least_bytes),
                                    size_text(outcome.cache_bytes));
  if (outcome.copy_gbytes_per_s > 0.0) {
    traffic += fmt::format("; copying as many runs at {} GB/s", short_number(outcome.copy_gbytes_per_s));
  }
  lines.push_back(std::move(traffic));
  return lines;
}

}  // namespace

std::string compare_summary(const CompareOutcome& outcome) {
  const std::vector<std::string> lines = facts(outcome);
  std::string text = fmt::format("matrix      {}\nmachine     {}\ntraffic     {}\n\n", lines[0], lines[1], lines[2]);
  text += aligned_text(product_table(outcome));
  for (const Solver solver : solvers_of(outcome)) {
    text += fmt::format("\n{}\n{}", solver_title(outcome, solver), aligned_text(solve_table(outcome, solver)));
  }
  const std::vector<std::string> notes = remarks(outcome);
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += note + '\n';
  return text;
}

std::string compare_markdown(const CompareOutcome& outcome) {
  std::string text;
  for (const std::string& fact : facts(outcome)) text += fmt::format("- {}\n", fact);
  text += '\n' + markdown_text(product_table(outcome));
  for (const Solver solver : solvers_of(outcome)) {
    text += fmt::format("\n{}\n\n{}", solver_title(outcome, solver), markdown_text(solve_table(outcome, solver)));
  }
  const std::vector<std::string> notes = remarks(outcome);
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += fmt::format("- {}\n", note);
  return text;
}

}  // namespace tessera::cli
