// Tables and performance profiles of benchmarks.
#include "bench_tables.hpp"

#include "text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// A, ..., Z, a, ..., z; then "?".
[[nodiscard]] char letter_of(std::size_t solver) {
  constexpr std::size_t alphabet = 26;
  if (solver < alphabet) return static_cast<char>('A' + solver);
  return solver < 2 * alphabet ? static_cast<char>('a' + (solver - alphabet)) : '?';
}

}  // namespace

PerformanceProfile::PerformanceProfile(const std::vector<std::vector<double>>& costs)
    : problems_(costs.size()), ratios_(costs.empty() ? 0 : costs.front().size()) {
  for (const std::vector<double>& problem : costs) {
    const double least = *std::min_element(problem.begin(), problem.end());
    for (std::size_t solver = 0; solver < problem.size(); ++solver) {
      if (std::isfinite(problem[solver])) ratios_[solver].push_back(problem[solver] / least);
    }
  }
  for (std::vector<double>& each : ratios_) std::sort(each.begin(), each.end());
}

double PerformanceProfile::share(std::size_t solver, double tau) const {
  const std::vector<double>& ratios = ratios_[solver];
  const auto within = std::upper_bound(ratios.begin(), ratios.end(), tau) - ratios.begin();
  return problems_ == 0 ? 0.0 : static_cast<double>(within) / static_cast<double>(problems_);
}

double PerformanceProfile::largest_ratio() const {
  double largest = 1.0;
  for (const std::vector<double>& each : ratios_) {
    if (!each.empty()) largest = std::max(largest, each.back());
  }
  return largest;
}

std::string profile_figure(const PerformanceProfile& profile) {
  constexpr std::size_t width = 61;
  constexpr std::size_t height = 11;
  constexpr double widest = 1024.0;
  const double end = std::clamp(profile.largest_ratio(), 2.0, widest);
  const auto tau_at = [&](std::size_t column) {
    return std::pow(end, static_cast<double>(column) / static_cast<double>(width - 1));
  };
  std::vector<std::string> lines(height, std::string(width, ' '));
  for (std::size_t solver = profile.solvers(); solver-- > 0;) {
    for (std::size_t column = 0; column < width; ++column) {
      // Ratios at the right end are meant to be within it, whatever pow() rounds.
      const double share = profile.share(solver, tau_at(column) * (1.0 + 1e-12));
      const auto row = static_cast<std::size_t>(std::lround(share * static_cast<double>(height - 1)));
      lines[height - 1 - row][column] = letter_of(solver);
    }
  }
  std::string text = "rho\n";
  for (std::size_t row = 0; row < height; ++row) {
    const double share = 1.0 - static_cast<double>(row) / static_cast<double>(height - 1);
    std::string line = fmt::format("{:4.1f} |{}", share, lines[row]);
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  constexpr std::size_t marks = 5;
  text += "     +" + std::string(width, '-') + '\n';
  std::string axis(width + 8, ' ');
  for (std::size_t mark = 0; mark < marks; ++mark) {
    const std::size_t column = mark * (width - 1) / (marks - 1);
    const std::string number = short_number(tau_at(column));
    axis.replace(column + 6, number.size(), number);
  }
  axis.erase(axis.find_last_not_of(' ') + 1);
  return text + axis + "  tau\n";
}

namespace {

[[nodiscard]] double cost_of(const BenchRecord& record, BenchMeasure measure) {
  if (!record.solved) return infinite;
  // Ratios need something to divide by: x0 may be the solution.
  constexpr double least_ms = 1e-3;
  if (measure == BenchMeasure::products) return static_cast<double>(std::max<std::int64_t>(record.products, 1));
  const double ms = measure == BenchMeasure::cpu ? record.cpu_ms : record.setup_ms + record.solve_ms;
  return std::isnan(ms) ? infinite : std::max(ms, least_ms);
}

/// The lower median, so that it is the cost of a run.
[[nodiscard]] BenchCell cell_of(std::vector<BenchRecord> runs, BenchMeasure measure) {
  std::stable_sort(runs.begin(), runs.end(), [&](const BenchRecord& a, const BenchRecord& b) {
    return cost_of(a, measure) < cost_of(b, measure);
  });
  const bool solved = std::isfinite(cost_of(runs.back(), measure));
  const BenchRecord& chosen = solved ? runs[(runs.size() - 1) / 2] : runs.back();
  return {chosen, solved, cost_of(chosen, measure), runs.size()};
}

/// What the records differ in besides matrix, configuration and repetition.
[[nodiscard]] std::string surroundings(const BenchRecord& record, const std::vector<BenchRecord>& all) {
  const auto differ = [&](auto member) {
    return std::any_of(all.begin(), all.end(), [&](const BenchRecord& each) { return each.*member != record.*member; });
  };
  std::string text;
  const auto add = [&](const std::string& part) { text += part.empty() ? "" : ' ' + part; };
  if (differ(&BenchRecord::options)) add(record.options);
  if (differ(&BenchRecord::version) || differ(&BenchRecord::commit)) add(record.version + ' ' + record.commit);
  if (differ(&BenchRecord::cpu)) add(record.cpu);
  return text;
}

[[nodiscard]] std::size_t place_of(const std::string& word, std::vector<std::string>& words) {
  const auto found = std::find(words.begin(), words.end(), word);
  const auto place = static_cast<std::size_t>(found - words.begin());
  if (found == words.end()) words.push_back(word);
  return place;
}

[[nodiscard]] std::string word_of(const BenchRecord& record) {
  static const std::map<std::string_view, std::string_view> words{
      {"max_iterations", "limit"}, {"time_limit", "time"},   {"memory_limit", "memory"},  {"out_of_memory", "memory"},
      {"bad_input", "input"},      {"converged", "inexact"}, {"not_finite", "not finite"}};
  const auto found = words.find(record.status);
  return std::string(found == words.end() ? std::string_view(record.status) : found->second);
}

[[nodiscard]] std::string cell_text(const std::optional<BenchCell>& cell, BenchMeasure measure) {
  if (!cell) return "-";
  if (!cell->solved) return word_of(cell->record);
  if (measure == BenchMeasure::products) return fmt::format("{}", cell->record.products);
  return fmt::format("{} ({})", short_number(cell->cost), cell->record.iterations);
}

[[nodiscard]] std::string_view meaning(BenchMeasure measure) {
  if (measure == BenchMeasure::products) return "products with A";
  return measure == BenchMeasure::cpu ? "ms of processor time of the whole run (iterations)"
                                      : "ms of set-up and solve (iterations)";
}

[[nodiscard]] std::string file_name(const std::string& matrix) {
  const std::string name = matrix.substr(matrix.rfind('/') + 1);  // npos + 1 is 0
  return name.substr(0, name.find(".mtx"));
}

/// \param two_lines method above the rest, else all in one
[[nodiscard]] TextTable results_table(const BenchTable& table, bool two_lines) {
  TextTable text{{{"", "matrix"}, {"", "rows", 1}, {"", "nonzeros", 2}}, {}};
  int spare = 3;
  for (const std::string& name : table.configurations) {
    const std::size_t blank = two_lines ? std::min(name.find(' '), name.size()) : name.size();
    text.columns.push_back({name.substr(0, blank), blank == name.size() ? "" : name.substr(blank + 1), spare++});
  }
  for (const BenchTable::Row& row : table.rows) {
    std::vector<std::string> cells{file_name(row.matrix), "", ""};
    for (const auto& cell : row.cells) {
      if (cell && cell->record.rows > 0) {
        cells[1] = fmt::format("{}", cell->record.rows);
        cells[2] = fmt::format("{}", cell->record.nnz);
      }
      cells.push_back(cell_text(cell, table.measure));
    }
    text.rows.push_back(std::move(cells));
  }
  return text;
}

constexpr std::array<double, 5> shown_ratios{1.0, 1.5, 2.0, 4.0, 10.0};

[[nodiscard]] TextTable profile_table(const BenchTable& table, const PerformanceProfile& profile) {
  TextTable text{{{"", "configuration"}, {"", "solved"}}, {}};
  for (const double tau : shown_ratios) text.columns.push_back({"", fmt::format("rho({})", tau)});
  text.columns.push_back({"", "rho(inf)"});
  for (std::size_t solver = 0; solver < table.configurations.size(); ++solver) {
    std::size_t solved = 0;
    std::size_t runs = 0;
    for (const BenchTable::Row& row : table.rows) {
      if (!row.cells[solver]) continue;
      ++runs;
      if (row.cells[solver]->solved) ++solved;
    }
    std::vector<std::string> cells{fmt::format("{} {}", letter_of(solver), table.configurations[solver]),
                                   fmt::format("{}/{}", solved, runs)};
    for (const double tau : shown_ratios) cells.push_back(fmt::format("{:.2f}", profile.share(solver, tau)));
    cells.push_back(fmt::format("{:.2f}", profile.share(solver, infinite)));
    text.rows.push_back(std::move(cells));
  }
  return text;
}

/// "bad.mtx: bad.mtx:3: expected ..." for what was refused, cannot be read or crashed; each matrix once per reason.
[[nodiscard]] std::vector<std::string> troubles(const BenchTable& table) {
  std::vector<std::string> lines;
  for (const BenchTable::Row& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i] || !row.cells[i]->record.chosen.method.empty() || row.cells[i]->solved) continue;
      const BenchRecord& record = row.cells[i]->record;
      const bool is_input = record.status == "bad_input" && record.reason.starts_with(row.matrix);
      std::string line =
          is_input ? record.reason : fmt::format("{}, {}: {}", row.matrix, table.configurations[i], record.reason);
      if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(std::move(line));
    }
  }
  return lines;
}

[[nodiscard]] std::string incomplete_text(const BenchTable& table) {
  const std::size_t count = table.incomplete_rows();
  if (count == 0) return {};
  return fmt::format("{} {} not every run yet and no part in rho.\n", count,
                     count == 1 ? "matrix has" : "matrices have");
}

[[nodiscard]] std::string people_text(const BenchTable& table, std::size_t width) {
  const PerformanceProfile profile = table.profile();
  std::string text = fmt::format("{}\n{}\n", meaning(table.measure), aligned_text(results_table(table, true), width));
  const std::vector<std::string> lines = troubles(table);
  for (const std::string& line : lines) text += "  " + line + '\n';
  if (!lines.empty()) text += '\n';
  text += fmt::format("rho(tau): share of the matrices solved within tau times the least of all\n{}{}",
                      aligned_text(profile_table(table, profile)), incomplete_text(table));
  if (table.configurations.size() > 1) text += '\n' + profile_figure(profile);
  return text;
}

[[nodiscard]] std::string markdown_of(const BenchTable& table) {
  const PerformanceProfile profile = table.profile();
  std::string text =
      fmt::format("Cells: {}.\n\n{}\n", meaning(table.measure), markdown_text(results_table(table, false)));
  for (const std::string& line : troubles(table)) text += fmt::format("- `{}`\n", line);
  text += fmt::format("\nrho(tau): the share of the matrices solved within tau times the least of all.\n\n{}\n{}",
                      markdown_text(profile_table(table, profile)), incomplete_text(table));
  if (table.configurations.size() > 1) text += fmt::format("\n```\n{}```\n", profile_figure(profile));
  return text;
}

[[nodiscard]] std::string quoted_csv(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

[[nodiscard]] std::string number_csv(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }

[[nodiscard]] std::string csv_of(const BenchTable& table) {
  std::string text =
      "matrix,rows,cols,nnz,configuration,method,precond,kernel,options,runs,solved,status,iterations,products,"
      "residual,"
      "chosen_method,chosen_precond,chosen_kernel,device,setup_ms,solve_ms,cpu_ms,peak_bytes,reason\n";
  for (const BenchTable::Row& row : table.rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (!row.cells[i]) continue;
      const BenchCell& cell = *row.cells[i];
      const BenchRecord& record = cell.record;
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", quoted_csv(row.matrix),
          record.rows, record.cols, record.nnz, quoted_csv(table.configurations[i]), record.configuration.method,
          quoted_csv(record.configuration.precond), record.configuration.kernel, quoted_csv(record.options), cell.runs,
          cell.solved ? 1 : 0, record.status, record.iterations, record.products, number_csv(record.residual),
          record.chosen.method, quoted_csv(record.chosen.precond), record.chosen.kernel, quoted_csv(record.device),
          number_csv(record.setup_ms), number_csv(record.solve_ms), number_csv(record.cpu_ms), record.peak_bytes,
          quoted_csv(record.reason));
    }
  }
  return text;
}

[[nodiscard]] std::string escaped_latex(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\textbackslash{}";
    } else if (c == '~' || c == '^') {
      result += fmt::format("\\{}{{}}", c);
    } else {
      if (std::string_view("_&%$#{}").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

[[nodiscard]] std::string tabular(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text;
    for (const std::string& cell : cells) text += (text.empty() ? "" : " & ") + escaped_latex(cell);
    return text + " \\\\\n";
  };
  std::vector<std::string> titles;
  for (const Heading& heading : table.columns) titles.push_back(heading.top.empty() ? heading.bottom : heading.top);
  std::string text = fmt::format("\\begin{{tabular}}{{l{}}}\n\\hline\n{}\\hline\n",
                                 std::string(table.columns.size() - 1, 'r'), line(titles));
  for (const auto& row : table.rows) text += line(row);
  return text + "\\hline\n\\end{tabular}\n";
}

[[nodiscard]] std::string latex_of(const BenchTable& table) {
  return fmt::format(
      "% Cells: {}.\n{}\n% rho(tau): share of the matrices solved within tau times the least of all.\n{}",
      meaning(table.measure), tabular(results_table(table, false)), tabular(profile_table(table, table.profile())));
}

}  // namespace

PerformanceProfile BenchTable::profile() const {
  std::vector<std::vector<double>> costs;
  for (const Row& row : rows) {
    std::vector<double> problem;
    for (const auto& cell : row.cells) {
      if (cell) problem.push_back(cell->cost);
    }
    if (problem.size() == row.cells.size()) costs.push_back(std::move(problem));
  }
  // Without a whole row the shares are 0, not absent.
  if (costs.empty()) costs.emplace_back(configurations.size(), infinite);
  return PerformanceProfile(costs);
}

std::size_t BenchTable::incomplete_rows() const {
  return static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) {
    return std::any_of(row.cells.begin(), row.cells.end(), [](const auto& cell) { return !cell.has_value(); });
  }));
}

BenchTable bench_table(const std::vector<BenchRecord>& records, BenchMeasure measure) {
  std::vector<std::string> keys;
  std::vector<BenchRecord> latest;
  for (const BenchRecord& record : records) {
    const std::size_t place = place_of(record.key(), keys);
    if (place == latest.size()) {
      latest.push_back(record);
    } else {
      latest[place] = record;
    }
  }
  BenchTable table{measure, {}, {}};
  std::vector<std::string> matrices;
  std::vector<std::vector<std::vector<BenchRecord>>> runs;  // per matrix, per configuration
  for (const BenchRecord& record : latest) {
    const std::size_t row = place_of(record.identity.empty() ? record.matrix : record.identity, matrices);
    const std::size_t column =
        place_of(to_string(record.configuration) + surroundings(record, latest), table.configurations);
    if (row == runs.size()) {
      runs.emplace_back();
      table.rows.push_back({record.matrix, {}});
    }
    runs[row].resize(std::max(runs[row].size(), column + 1));
    runs[row][column].push_back(record);
  }
  for (std::size_t row = 0; row < runs.size(); ++row) {
    runs[row].resize(table.configurations.size());
    for (std::vector<BenchRecord>& each : runs[row]) {
      table.rows[row].cells.push_back(each.empty() ? std::nullopt : std::optional(cell_of(std::move(each), measure)));
    }
  }
  return table;
}

std::string table_text(const BenchTable& table, TableFormat format, std::size_t width) {
  switch (format) {
    case TableFormat::markdown:
      return markdown_of(table);
    case TableFormat::csv:
      return csv_of(table);
    case TableFormat::latex:
      return latex_of(table);
    case TableFormat::text:
      break;
  }
  return people_text(table, width);
}

}  // namespace tessera::cli
