/// Performance profiles and tables of benchmarks against numbers worked out by hand.

#include "bench/bench_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::testing {

namespace {

using cli::BenchMeasure;
using cli::BenchRecord;
using cli::TableFormat;

constexpr double unsolved = std::numeric_limits<double>::infinity();

/// Ratios: A 1, 2, 1; B 2, 1, 1; C 4, 3; nobody solves the fourth problem, which counts all the same.
TEST(PerformanceProfileTest, IsThatOfDolanAndMore) {
  const cli::PerformanceProfile profile({{1, 2, unsolved}, {4, 2, 8}, {3, 3, 9}, {unsolved, unsolved, unsolved}});
  EXPECT_EQ(profile.solvers(), 3U);
  EXPECT_EQ(profile.largest_ratio(), 4.0);
  const std::vector<std::vector<double>> expected{{0.5, 0.75, 0.75, 0.75}, {0.5, 0.75, 0.75, 0.75}, {0, 0, 0.25, 0.5}};
  const std::vector<double> taus{1.0, 2.0, 3.0, 4.0};
  for (std::size_t solver = 0; solver < 3; ++solver) {
    for (std::size_t i = 0; i < taus.size(); ++i) {
      EXPECT_EQ(profile.share(solver, taus[i]), expected[solver][i]) << solver << " " << taus[i];
    }
    EXPECT_EQ(profile.share(solver, 0.999), 0.0);
  }
  EXPECT_EQ(profile.share(0, 1.999), 0.5);
  EXPECT_EQ(profile.share(2, 3.999), 0.25);
  EXPECT_EQ(profile.share(2, unsolved), 0.5);
}

/// The axis ends at ratio 4: A and B reach .75 in its middle, C .5 at its end.
TEST(PerformanceProfileTest, IsDrawn) {
  const cli::PerformanceProfile profile({{1, 2, unsolved}, {4, 2, 8}, {3, 3, 9}, {unsolved, unsolved, unsolved}});
  std::istringstream lines(profile_figure(profile));
  std::vector<std::string> figure;
  for (std::string line; std::getline(lines, line);) figure.push_back(line);
  ASSERT_EQ(figure.size(), 14U);
  EXPECT_EQ(figure[0], "rho");
  EXPECT_EQ(figure[3], " 0.8 |" + std::string(30, ' ') + std::string(31, 'A'));
  EXPECT_EQ(figure[6], " 0.5 |" + std::string(30, 'A') + std::string(30, ' ') + "C");
  EXPECT_EQ(figure[11].substr(0, 8), " 0.0 |CC");
  EXPECT_NE(figure[13].find("1.00           1.41           2.00           2.83           4.00  tau"), std::string::npos)
      << figure[13];
}

[[nodiscard]] BenchRecord record(const std::string& matrix, const std::string& method, double ms, bool solved = true) {
  BenchRecord result;
  result.matrix = matrix;
  result.identity = "identity of " + matrix;
  result.rows = result.cols = 10;
  result.nnz = 30;
  result.configuration = {method, "jacobi", "auto"};
  result.chosen = {method, "jacobi", "csr"};
  result.status = solved ? "converged" : "max_iterations";
  result.solved = solved;
  result.setup_ms = 0.25 * ms;
  result.solve_ms = 0.75 * ms;
  result.iterations = 7;
  result.products = 9;
  return result;
}

TEST(BenchTableTest, TakesMediansAndTheLatestOfEqualRuns) {
  std::vector<BenchRecord> records;
  for (const double ms : {8.0, 1.0, 4.0}) {
    records.push_back(record("a.mtx", "cg", ms));
    records.back().repetition = static_cast<std::int64_t>(records.size());
  }
  records.push_back(record("a.mtx", "idr", 100.0, false));
  records.push_back(record("a.mtx", "idr", 2.0));  // the same run once more
  const cli::BenchTable table = bench_table(records, BenchMeasure::time);
  ASSERT_EQ(table.rows.size(), 1U);
  ASSERT_EQ(table.configurations, (std::vector<std::string>{"cg jacobi", "idr jacobi"}));
  EXPECT_EQ(table.rows[0].cells[0]->cost, 4.0);
  EXPECT_EQ(table.rows[0].cells[0]->runs, 3U);
  EXPECT_EQ(table.rows[0].cells[1]->cost, 2.0);
  EXPECT_EQ(table.profile().share(0, 1.9), 0.0);
  EXPECT_EQ(table.profile().share(0, 2.0), 1.0);
}

TEST(BenchTableTest, OneRepetitionThatFailsIsAFailure) {
  BenchRecord again = record("a.mtx", "cg", 1.0, false);
  again.repetition = 2;
  const cli::BenchTable table = bench_table({record("a.mtx", "cg", 1.0), again}, BenchMeasure::time);
  EXPECT_FALSE(table.rows[0].cells[0]->solved);
  EXPECT_EQ(table.profile().share(0, unsolved), 0.0);
}

TEST(BenchTableTest, RowsWithoutAllTheirRunsAreNoPartOfTheProfile) {
  const cli::BenchTable table = bench_table(
      {record("a.mtx", "cg", 1.0), record("a.mtx", "idr", 2.0), record("b.mtx", "idr", 1.0)}, BenchMeasure::time);
  EXPECT_EQ(table.incomplete_rows(), 1U);
  EXPECT_EQ(table.profile().share(0, 1.0), 1.0) << "of a.mtx alone";
  EXPECT_EQ(table.profile().share(1, 1.0), 0.0);
  EXPECT_NE(table_text(table, TableFormat::text, 0).find("1 matrix has not every run yet"), std::string::npos);
}

TEST(BenchTableTest, WhatDiffersIsNamed) {
  BenchRecord other = record("a.mtx", "cg", 1.0);
  other.options = "rtol=1e-4";
  const cli::BenchTable table = bench_table({record("a.mtx", "cg", 1.0), other}, BenchMeasure::time);
  EXPECT_EQ(table.configurations, (std::vector<std::string>{"cg jacobi", "cg jacobi rtol=1e-4"}));
}

/// Fields of a line of CSV, quotes taken off.
[[nodiscard]] std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields{""};
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += line[i];
    }
  }
  return fields;
}

TEST(BenchTableTest, IsCsvMarkdownAndLatexWithNamesOfAnyKind) {
  BenchRecord bad = record("50%, \"a_b\" & c|d.mtx", "cg", 1.0, false);
  bad.status = "bad_input";
  bad.reason = "line 3: expected a number, found \"x\"";
  bad.chosen = {"", "", ""};
  const cli::BenchTable table =
      bench_table({record("a.mtx", "cg", 1.0), record("a.mtx", "idr", 3.0), bad, record(bad.matrix, "idr", 2.0)},
                  BenchMeasure::time);

  std::istringstream csv(table_text(table, TableFormat::csv, 0));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(csv, line);) rows.push_back(fields_of(line));
  ASSERT_EQ(rows.size(), 5U);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  EXPECT_EQ(rows[3].front(), bad.matrix);
  EXPECT_EQ(rows[3].back(), bad.reason);

  std::istringstream markdown(table_text(table, TableFormat::markdown, 0));
  int bars = 0;
  for (std::string line; std::getline(markdown, line);) {
    if (!line.starts_with("| a ") && !line.starts_with("| 50%")) continue;
    ++bars;
    std::string unescaped = line;
    for (std::size_t at = 0; (at = unescaped.find("\\|", at)) != std::string::npos;) unescaped.erase(at, 2);
    EXPECT_EQ(std::count(unescaped.begin(), unescaped.end(), '|'), 6) << line;
  }
  EXPECT_EQ(bars, 2);

  const std::string latex = table_text(table, TableFormat::latex, 0);
  EXPECT_NE(latex.find("50\\%, \"a\\_b\" \\& c|d & 10 & 30 & input & 2.00 (7) \\\\\n"), std::string::npos) << latex;
  EXPECT_NE(latex.find("A cg jacobi & 1/2 & 0.50 & 0.50"), std::string::npos) << latex;
  EXPECT_NE(latex.find("B idr jacobi & 2/2 & 0.50 & 0.50 & 0.50 & 1.00"), std::string::npos) << latex;
}

}  // namespace

}  // namespace tessera::testing
