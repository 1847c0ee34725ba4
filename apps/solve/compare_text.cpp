#include "compare_report.hpp"
#include "summary_text.hpp"
#include "system_ordering.hpp"

#include "support/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
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
using compare::TimingSummary;

constexpr double us_per_ms = 1e3;
constexpr const char* none = "-";

/// Times of products: in microseconds unless one takes a millisecond.
struct Unit {
  std::string_view name = "us";
  double per_ms = us_per_ms;
};

[[nodiscard]] Unit unit_for(const std::vector<KernelRow>& rows) {
  const bool long_ones = std::any_of(rows.begin(), rows.end(), [](const KernelRow& row) {
    return row.warm.summary.median >= 1.0 || row.cold.summary.median >= 1.0;
  });
  return long_ones ? Unit{"ms", 1.0} : Unit{};
}

[[nodiscard]] std::string spread_text(const TimingSummary& times, double per_ms) {
  return fmt::format("{} ±{}", short_number(times.median * per_ms),
                     short_number((times.upper_quartile - times.lower_quartile) * per_ms));
}

[[nodiscard]] std::string ratio_text(const std::optional<TimingRatio>& ratio, bool reference) {
  if (reference) return "1";
  if (!ratio) return none;
  return fmt::format("{:.2f} ({:.2f}-{:.2f})", ratio->ratio, ratio->low, ratio->high);
}

[[nodiscard]] std::string change_text(const std::optional<TimingRatio>& change) {
  if (!change) return none;
  const double half_width = (change->high - change->low) / 2;
  return fmt::format("{:+.1f} ±{:.1f} %", 100 * (change->ratio - 1), 100 * half_width);
}

[[nodiscard]] std::string pays_text(const PaysAfter& pays) {
  if (!pays.known) return none;
  // A tilde: the interval of the speed-up holds 1, so another run may say otherwise.
  const std::string number = pays.applies ? fmt::format("{}", *pays.applies) : std::string("never");
  return pays.clear ? number : "~" + number;
}

[[nodiscard]] std::string setup_text(const Times& setup) {
  constexpr double shortest = 1e-3;
  if (!setup.measured()) return none;
  return setup.summary.median < shortest ? "(<0.001)" : fmt::format("({})", short_number(setup.summary.median));
}

[[nodiscard]] std::string marked(const std::string& name, bool best) { return (best ? "* " : "  ") + name; }

[[nodiscard]] double mebibytes(std::uint64_t bytes) {
  constexpr double mebibyte = 1024.0 * 1024.0;
  return static_cast<double>(bytes) / mebibyte;
}

[[nodiscard]] std::string copy_share(const CompareOutcome& outcome, double gbytes) {
  if (!(outcome.copy_gbytes_per_s > 0.0)) return none;
  return fmt::format("{:.0f} %", 100 * gbytes / outcome.copy_gbytes_per_s);
}

[[nodiscard]] std::vector<std::string> product_cells(const CompareOutcome& outcome, const KernelRow& row, bool best) {
  const Unit unit = unit_for(outcome.products);
  const bool timed = row.warm.measured();
  const double gbytes = gbytes_per_second(outcome.least_bytes, row.warm.summary.median);
  std::vector<std::string> cells{marked(row.kernel, best)};
  cells.push_back(setup_text(row.setup));
  cells.push_back(row.passed ? short_number(mebibytes(row.plan.bytes)) : none);
  cells.push_back(timed ? spread_text(row.warm.summary, unit.per_ms) : none);
  cells.push_back(timed ? short_number(gbytes) : none);
  cells.push_back(timed ? copy_share(outcome, gbytes) : none);
  cells.push_back(timed ? ratio_text(row.warm.speed_up, row.reference) : none);
  cells.push_back(pays_text(row.pays));
  cells.push_back(timed ? short_number(row.total_ms) : none);
  cells.push_back(row.passed ? short_number(row.error_over_bound) : none);
  cells.emplace_back(row.passed ? (row.repeats ? "same" : "differ") : none);
  if (outcome.baseline) cells.push_back(change_text(row.warm.change));
  cells.emplace_back(row.passed ? "pass" : "FAIL");
  return cells;
}

[[nodiscard]] std::vector<std::string> cold_cells(const CompareOutcome& outcome, const KernelRow& row) {
  const Unit unit = unit_for(outcome.products);
  const double gbytes = gbytes_per_second(outcome.least_bytes, row.cold.summary.median);
  std::vector<std::string> cells{"    cold",
                                 "",
                                 "",
                                 spread_text(row.cold.summary, unit.per_ms),
                                 short_number(gbytes),
                                 copy_share(outcome, gbytes),
                                 ratio_text(row.cold.speed_up, row.reference),
                                 "",
                                 "",
                                 "",
                                 ""};
  if (outcome.baseline) cells.push_back(change_text(row.cold.change));
  cells.emplace_back("");
  return cells;
}

[[nodiscard]] std::string iterations_text(const SolveRow& row) {
  if (row.min_iterations == row.max_iterations) return fmt::format("{}", row.iterations);
  return fmt::format("{}-{}", row.min_iterations, row.max_iterations);
}

[[nodiscard]] std::string ending_text(const SolveRow& row) {
  if (!row.passed) return "FAIL";
  if (!row.solved) return "not run";
  return std::string(to_string(row.status));
}

[[nodiscard]] std::vector<std::string> solve_cells(const CompareOutcome& outcome, const SolveRow& row, bool best) {
  const bool timed = row.total.measured();
  const double products = static_cast<double>(std::max<std::int64_t>(row.spmv_count, 1));
  std::vector<std::string> cells{marked(row.kernel, best)};
  if (row.preconds_compared) cells.push_back(row.precond);
  cells.push_back(setup_text(row.setup));
  cells.push_back(row.solved ? iterations_text(row) : none);
  cells.push_back(timed ? spread_text(row.solve.summary, 1.0) : none);
  cells.push_back(timed ? short_number(row.total.summary.median) : none);
  cells.push_back(timed ? short_number(us_per_ms * row.solve.summary.median / products) : none);
  cells.push_back(timed ? ratio_text(row.total.speed_up, row.reference) : none);
  cells.push_back(pays_text(row.pays));
  if (row.preconds_compared) cells.push_back(pays_text(row.pays_solves));
  cells.push_back(row.solved ? fmt::format("{:.2e}", row.checked_residual) : none);
  if (outcome.baseline) cells.push_back(change_text(row.total.change));
  cells.push_back(ending_text(row));
  return cells;
}

[[nodiscard]] std::int64_t rounds_of(const CompareOutcome& outcome) {
  std::int64_t rounds = 0;
  for (const KernelRow& row : outcome.products) rounds = std::max(rounds, row.warm.summary.count);
  return rounds;
}

[[nodiscard]] std::vector<std::string> facts(const CompareOutcome& outcome, std::size_t width = 0) {
  const MatrixStatistics& m = outcome.matrix;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} x {}, {} nonzeros{}, {:.1f} per row", shown_problem(outcome, width), m.rows,
                              m.cols, m.nnz, outcome.pattern ? " (pattern)" : "", m.mean_row_nnz));
  const std::string place = outcome.device.is_host()
                                ? fmt::format("{} on {}", support::threads_text(outcome.threads), support::cpu_name())
                                : support::device_text(outcome.device, Device{});
  lines.push_back(fmt::format("{}, {}, {} rounds, kernels in random order", place,
                              outcome.precision == Precision::fp64 ? "fp64" : "fp32", rounds_of(outcome)));
  std::string traffic = fmt::format("at least {} per product (last-level cache {})", size_text(outcome.least_bytes),
                                    size_text(outcome.cache_bytes));
  if (outcome.copy_gbytes_per_s > 0.0) {
    traffic += fmt::format("; a copy of as many bytes runs at {} GB/s", short_number(outcome.copy_gbytes_per_s));
  }
  lines.push_back(std::move(traffic));
  return lines;
}

}  // namespace

TextTable product_table(const CompareOutcome& outcome) {
  const Unit unit = unit_for(outcome.products);
  TextTable table;
  table.columns = {{"", "  kernel"},
                   {"(set-up", "ms)", 5},
                   {"plan", "MiB", 6},
                   {"product", fmt::format("{} ±IQR", unit.name)},
                   {"", "GB/s", 3},
                   {"of", "copy", 7},
                   {fmt::format("x faster than {}", outcome.reference), "(95 % interval)"},
                   {"pays", "after", 4},
                   {fmt::format("{} x", outcome.applies), "ms", 2},
                   {"error/", "bound", 8},
                   {"", "bits", 9}};
  if (outcome.baseline) table.columns.push_back({"time against", "baseline", 1});
  table.columns.push_back({"", "check"});
  for (std::size_t i = 0; i < outcome.products.size(); ++i) {
    const KernelRow& row = outcome.products[i];
    table.rows.push_back(product_cells(outcome, row, i == 0 && row.warm.measured()));
    if (row.cold.measured()) table.rows.push_back(cold_cells(outcome, row));
  }
  return table;
}

TextTable solve_table(const CompareOutcome& outcome, Solver solver) {
  const bool preconds = solver != Solver::pagerank && outcome.preconds.size() > 1;
  const std::string reference = outcome.reference + (preconds ? ", " + outcome.preconds.front() : "");
  TextTable table;
  table.columns = {{"", "  kernel"}};
  if (preconds) table.columns.push_back({"", "precond"});
  const std::vector<Heading> common{
      {"(set-up", "ms)", 6}, {"", "iterations", 3},    {"solve", "ms ±IQR", 2},
      {"end to", "end ms"},  {"us per", "product", 8}, {fmt::format("x faster than {}", reference), "(95 % interval)"},
      {"pays", "after", 5}};
  table.columns.insert(table.columns.end(), common.begin(), common.end());
  if (preconds) table.columns.push_back({"precond pays", "after solves", 4});
  table.columns.push_back({"residual", "checked", 7});
  if (outcome.baseline) table.columns.push_back({"time against", "baseline", 1});
  table.columns.push_back({"", "ending"});
  bool first = true;
  for (const SolveRow& row : outcome.solves) {
    if (row.solver != solver) continue;
    table.rows.push_back(solve_cells(outcome, row, first && row.total.measured()));
    first = false;
  }
  return table;
}

std::vector<Solver> solvers_of(const CompareOutcome& outcome) {
  std::vector<Solver> solvers;
  for (const SolveRow& row : outcome.solves) {
    if (std::find(solvers.begin(), solvers.end(), row.solver) == solvers.end()) solvers.push_back(row.solver);
  }
  return solvers;
}

std::string solver_title(const CompareOutcome& outcome, Solver solver) {
  const auto row = std::find_if(outcome.solves.begin(), outcome.solves.end(),
                                [solver](const SolveRow& each) { return each.solver == solver && each.solved; });
  if (row == outcome.solves.end()) return std::string(compare::to_string(solver));
  if (solver == Solver::pagerank) return fmt::format("pagerank, until ||x' - x||_1 <= {:.3g}", row->target);
  const std::string precond = row->preconds_compared ? "" : fmt::format(" with precond {}", row->precond);
  return fmt::format("{}{}, until ||b - A x|| <= {:.3g}", compare::to_string(solver), precond, row->target);
}

std::vector<std::string> remarks(const CompareOutcome& outcome) {
  std::vector<std::string> texts;
  for (const KernelRow& row : outcome.products) {
    if (!row.passed) texts.push_back(fmt::format("FAIL {}: {}", row.kernel, row.reason));
  }
  for (const SolveRow& row : outcome.solves) {
    if (!row.passed)
      texts.push_back(fmt::format("FAIL {} with {}: {}", to_string(row.solver), row_name(row), row.reason));
    if (row.passed && row.solved && row.status != Status::converged) {
      texts.push_back(fmt::format("{} with {}: {}", to_string(row.solver), row_name(row), row.status_reason));
    }
  }
  for (const std::string& name : outcome.slower) {
    texts.push_back(fmt::format("SLOWER {}: the whole interval lies above +{} % of the baseline", name,
                                short_number(100 * outcome.fail_if_slower.value_or(0.0))));
  }
  if (outcome.unchecked_rows > 0) {
    texts.push_back(fmt::format("{} rows were not checked: their sums can overflow", outcome.unchecked_rows));
  }
  if (outcome.interrupted) texts.emplace_back("interrupted: what had been measured by then");
  return texts;
}

std::string compare_summary(const CompareOutcome& outcome, std::size_t width) {
  const std::vector<std::string> lines = facts(outcome, width);
  std::string text = fmt::format("matrix      {}\nmachine     {}\ntraffic     {}\n", lines[0], lines[1], lines[2]);
  text += ordering_line(outcome) + '\n';
  text += aligned_text(product_table(outcome), width);
  for (const Solver solver : solvers_of(outcome)) {
    text += fmt::format("\n{}\n{}", solver_title(outcome, solver), aligned_text(solve_table(outcome, solver), width));
  }
  const std::vector<std::string> notes = remarks(outcome);
  if (!notes.empty()) text += '\n';
  for (const std::string& note : notes) text += note + '\n';
  return text;
}

std::string compare_markdown(const CompareOutcome& outcome) {
  std::string text;
  for (const std::string& fact : facts(outcome)) text += fmt::format("- {}\n", fact);
  if (outcome.ordering) {
    text += fmt::format("- numbering {}, set-up {}\n", outcome.ordering->name, time_text(outcome.ordering->ms));
  }
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
