/// Ratios, break-even, order of rows, and how they become text.

#include "compare_report.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::cli {

namespace {

using compare::KernelRow;
using compare::pays_after;
using compare::SolveRow;
using compare::SortKey;
using compare::summarise;
using compare::Times;
using compare::TimingRatio;
using compare::TimingSummary;

[[nodiscard]] Times times(std::vector<double> samples) {
  const TimingSummary summary = summarise(samples);
  return {std::move(samples), summary, {}, {}};
}

[[nodiscard]] KernelRow row(const std::string& name, double setup, double product, double error, std::uint64_t bytes) {
  KernelRow result;
  result.kernel = name;
  result.passed = true;
  result.setup = times({setup, setup, setup});
  result.warm = times({product, product, product});
  result.total_ms = setup + 1000 * product;
  result.error_over_bound = error;
  result.plan.bytes = bytes;
  return result;
}

[[nodiscard]] std::vector<std::string> order(std::vector<KernelRow> rows, SortKey key) {
  sort_rows(rows, key);
  std::vector<std::string> names;
  for (const KernelRow& each : rows) names.push_back(each.kernel);
  return names;
}

TEST(SortRows, BestFirstByEachKeyAndFailuresLast) {
  KernelRow failed = row("failed", 0, 0, 0, 0);
  failed.passed = false;
  KernelRow untimed = row("untimed", 0, 0, 0, 0);
  untimed.warm = {};
  const std::vector<KernelRow> rows{failed, untimed, row("a", 9000, 1, 0.3, 50), row("b", 0, 5, 0.2, 0),
                                    row("c", 10, 2, 0.1, 90)};
  using Names = std::vector<std::string>;
  EXPECT_EQ(order(rows, SortKey::total), (Names{"c", "b", "a", "untimed", "failed"}));
  EXPECT_EQ(order(rows, SortKey::spmv), (Names{"a", "c", "b", "untimed", "failed"}));
  EXPECT_EQ(order(rows, SortKey::setup), (Names{"b", "c", "a", "untimed", "failed"}));
  EXPECT_EQ(order(rows, SortKey::error), (Names{"c", "b", "a", "untimed", "failed"}));
  EXPECT_EQ(order(rows, SortKey::memory), (Names{"b", "a", "c", "untimed", "failed"}));
}

TEST(SpeedUp, IsReferenceOverOwnWithAnIntervalAroundIt) {
  const auto ratio = speed_up(times({4.0, 4.1, 3.9, 4.0}), times({2.0, 2.0, 2.1, 1.9}), 1);
  ASSERT_TRUE(ratio);
  EXPECT_DOUBLE_EQ(ratio->ratio, 2.0);
  EXPECT_LE(ratio->low, 2.0);
  EXPECT_GE(ratio->high, 2.0);
  EXPECT_GT(ratio->low, 1.8);
  EXPECT_LT(ratio->high, 2.2);
  EXPECT_FALSE(speed_up({}, times({1.0}), 1));
  EXPECT_FALSE(speed_up(times({1.0}), times({0.0, 0.0}), 1)) << "too short for the clock";
}

TEST(PaysAfter, CountsProductsUntilTheSetUpIsWonBack) {
  const TimingRatio clear{2.0, 1.9, 2.1};
  const auto won = pays_after(10.0, 2.0, 1.0, clear);
  EXPECT_TRUE(won.known && won.clear);
  EXPECT_EQ(won.applies, 10);
  EXPECT_EQ(pays_after(10.1, 2.0, 1.0, clear).applies, 11) << "rounded up";
  EXPECT_EQ(pays_after(0.0, 2.0, 1.0, clear).applies, 0);
  EXPECT_FALSE(pays_after(10.0, 1.0, 1.0, TimingRatio{1.0, 0.9, 1.1}).applies) << "never";
  EXPECT_FALSE(pays_after(10.0, 1.0, 2.0, TimingRatio{0.5, 0.4, 0.6}).applies);
  EXPECT_FALSE(pays_after(10.0, 2.0, 1.0, TimingRatio{2.0, 0.9, 3.0}).clear) << "the interval holds 1";
  EXPECT_FALSE(pays_after(10.0, 2.0, 1.0, std::nullopt).known);
  EXPECT_FALSE(pays_after(1e300, 1.0 + 1e-15, 1.0, clear).applies) << "more than an integer holds";
}

TEST(ExitCodes, FailuresComeFirstThenSignalsThenTheWorstSolve) {
  CompareOutcome outcome;
  outcome.products.push_back(row("a", 1, 1, 0, 0));
  EXPECT_EQ(exit_code_of(outcome, 0, false), ExitCode::success);
  SolveRow solve;
  solve.passed = true;
  solve.status = Status::max_iterations;
  outcome.solves.push_back(solve);
  EXPECT_EQ(exit_code_of(outcome, 0, false), ExitCode::not_converged);
  solve.status = Status::breakdown;
  outcome.solves.push_back(solve);
  EXPECT_EQ(exit_code_of(outcome, 0, false), ExitCode::failed);
  EXPECT_EQ(exit_code_of(outcome, 0, true), ExitCode::success);
  outcome.interrupted = true;
  EXPECT_EQ(exit_code_of(outcome, SIGINT, true), ExitCode::interrupted);
  EXPECT_EQ(exit_code_of(outcome, SIGTERM, true), ExitCode::terminated);
  outcome.slower.push_back("product a warm");
  EXPECT_EQ(exit_code_of(outcome, SIGINT, true), ExitCode::verification_failed);
}

TEST(ShortNumber, ThreeDigitsWithoutAnExponentWhereThatIsShort) {
  EXPECT_EQ(short_number(0.0), "0");
  EXPECT_EQ(short_number(4.321), "4.32");
  EXPECT_EQ(short_number(43.21), "43.2");
  EXPECT_EQ(short_number(999.6), "1000");
  EXPECT_EQ(short_number(123456.0), "123456");
  EXPECT_EQ(short_number(1.5e7), "1.5e+07");
  EXPECT_EQ(short_number(0.01234), "0.0123");
  EXPECT_EQ(short_number(1.24e-7), "1.2e-07");
  EXPECT_EQ(short_number(std::nan("")), "nan");
  EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Csv, QuotesWhatWouldBreakALine) {
  EXPECT_EQ(csv_line({"a", "", "b c"}), "a,,b c\n");
  EXPECT_EQ(csv_line({"a,b", "say \"x\"", "two\nlines", "cr\r"}),
            "\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\"cr\r\"\n");
}

TEST(Markdown, EscapesBarsStarsAndBreaks) {
  const TextTable table{{{"", "kernel"}, {"1000 x", "ms"}}, {{"a|b", "1"}, {"* c\nd", "<2"}}};
  EXPECT_EQ(markdown_text(table), "| kernel | 1000 x ms |\n| --- | ---: |\n| a\\|b | 1 |\n| \\* c d | \\<2 |\n");
}

TEST(AlignedText, CountsCharactersAndLeavesNoBlanksAtLineEnds) {
  const TextTable table{{{"", "kernel"}, {"ms", "±IQR"}, {"", "x"}}, {{"a", "1 ±0", "yes"}, {"long name", "-", ""}}};
  EXPECT_EQ(aligned_text(table),
            "            ms\n"
            "kernel    ±IQR   x\n"
            "a         1 ±0 yes\n"
            "long name    -\n");
}

[[nodiscard]] CompareOutcome sample_outcome() {
  CompareOutcome outcome;
  outcome.problem = "A, \"B\".mtx";
  outcome.applies = 1000;
  outcome.least_bytes = 4'000'000;
  outcome.copy_gbytes_per_s = 8.0;
  KernelRow reference = row("csr", 0.0, 1.0, 0.25, 0);
  reference.reference = true;
  reference.repeats = true;
  KernelRow fast = row("fast", 5.0, 0.5, 0.5, 1 << 20);
  fast.warm.speed_up = TimingRatio{2.0, 1.9, 2.1};
  fast.pays = {true, 10, true};
  KernelRow failed;
  failed.kernel = "bad";
  failed.reason = "row 3: 1 instead of 2, error, \"large\"";
  outcome.products = {fast, reference, failed};
  return outcome;
}

TEST(ProductTable, ShowsEveryRowWithItsNumbers) {
  const TextTable table = product_table(sample_outcome());
  ASSERT_EQ(table.rows.size(), 3U);
  const std::vector<std::string> fast{"* fast",           "(5.00)", "1.00", "0.5 ±0", "8.00",   "100 %",
                                      "2.00 (1.90-2.10)", "10",     "505",  "0.5",    "differ", "pass"};
  EXPECT_EQ(table.rows[0], fast);
  const std::vector<std::string> reference{"  csr", "(<0.001)", "0",    "1.00 ±0", "4.00", "50 %",
                                           "1",     "-",        "1000", "0.25",    "same", "pass"};
  EXPECT_EQ(table.rows[1], reference);
  const std::vector<std::string> failed{"  bad", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "FAIL"};
  EXPECT_EQ(table.rows[2], failed);
  for (const auto& cells : table.rows) EXPECT_EQ(cells.size(), table.columns.size());
}

TEST(CompareCsv, HasTheSameNumberOfCellsInEveryLine) {
  CompareOutcome outcome = sample_outcome();
  SolveRow solve;
  solve.kernel = "csr";
  solve.passed = true;
  solve.solved = true;
  solve.status = Status::converged;
  solve.total = times({3.0});
  solve.solve = times({2.0});
  outcome.solves.push_back(solve);
  const std::string csv = compare_csv(outcome);
  std::size_t line = 0;
  std::size_t commas = 0;
  std::size_t expected = 0;
  bool quoted = false;
  for (const char c : csv) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) ++commas;
    if (c != '\n' || quoted) continue;
    if (line++ == 0) expected = commas;
    EXPECT_EQ(commas, expected) << csv;
    commas = 0;
  }
  EXPECT_EQ(line, 5U);
  EXPECT_NE(csv.find("\"row 3: 1 instead of 2, error, \"\"large\"\"\""), std::string::npos) << csv;
}

TEST(Remarks, NameFailuresAndLosses) {
  CompareOutcome outcome = sample_outcome();
  outcome.slower = {"product csr warm"};
  outcome.fail_if_slower = 0.05;
  const auto texts = remarks(outcome);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_TRUE(texts[0].starts_with("FAIL bad: row 3")) << texts[0];
  EXPECT_EQ(texts[1], "SLOWER product csr warm: the whole interval lies above +5.00 % of the baseline");
}

}  // namespace

}  // namespace tessera::cli
