/// Earlier documents: read, matched, held against.

#include "solve_process.hpp"

#include "compare/baseline.hpp"
#include "compare_report.hpp"

#include "tessera/error.hpp"

#include <cmath>

namespace tessera::testing {

namespace {

[[nodiscard]] compare::Times times(double median, double iqr, std::int64_t count) {
  compare::Times result;
  result.summary = {count, median, median - iqr / 2, median + iqr / 2, median - iqr, median + iqr};
  return result;
}

[[nodiscard]] cli::CompareOutcome outcome_with(double median, double iqr) {
  cli::CompareOutcome outcome;
  outcome.problem = "A.mtx";
  outcome.threads = 2;
  outcome.matrix.rows = 4;
  outcome.matrix.cols = 4;
  outcome.matrix.nnz = 10;
  compare::KernelRow row;
  row.kernel = "csr";
  row.passed = true;
  row.setup = times(1, 0, 3);
  row.warm = times(median, iqr, 100);
  compare::KernelRow failed;
  failed.kernel = "bad";
  failed.reason = "wrong";
  outcome.products = {row, failed};
  compare::SolveRow solve;
  solve.kernel = "csr";
  solve.passed = true;
  solve.solved = true;
  solve.status = Status::converged;
  solve.setup = times(1, 0, 3);
  solve.solve = times(median, iqr, 3);
  solve.total = times(median, iqr, 3);
  outcome.solves = {solve};
  return outcome;
}

class BaselineTest : public SolveTest {
 protected:
  /// Writes the document of an outcome as the command would, and reads it back.
  [[nodiscard]] compare::Baseline written(const cli::CompareOutcome& outcome) const {
    const cli::Options options(cli::Command::compare, {"A.mtx"}, {});
    const auto json = cli::compare_json(outcome, options, {{"solve"}, "now"}, cli::ExitCode::success);
    return compare::read_baseline(file("old.json", cli::document_text(json)));
  }
};

TEST_F(BaselineTest, WhatIsWrittenIsReadBack) {
  const compare::Baseline baseline = written(outcome_with(2.0, 0.1));
  EXPECT_EQ(baseline.measured_on.rows, 4);
  EXPECT_EQ(baseline.measured_on.nnz, 10);
  EXPECT_EQ(baseline.measured_on.threads, 2);
  ASSERT_EQ(baseline.cases.size(), 2U) << "a failed kernel has no times";
  const compare::TimingSummary& product = baseline.cases.at("product csr warm");
  EXPECT_EQ(product.median, 2.0);
  EXPECT_EQ(product.count, 100);
  EXPECT_NEAR(product.noise(), 0.05, 1e-12);
  EXPECT_TRUE(baseline.cases.contains("solve cg csr"));
}

TEST_F(BaselineTest, AClearLossIsNamedAndAnUnclearOneIsNot) {
  const compare::Baseline baseline = written(outcome_with(2.0, 0.1));
  auto slower = outcome_with(2.4, 0.1);
  hold_against_baseline(baseline, 0.05, slower);
  // 100 samples with an IQR of 4-5 % pin the ratio 1.2 to within 1.3 %; 3 samples to within 8 %.
  EXPECT_EQ(slower.slower, (std::vector<std::string>{"product csr warm", "solve cg csr"}));
  ASSERT_TRUE(slower.products[0].warm.change);
  EXPECT_DOUBLE_EQ(slower.products[0].warm.change->ratio, 1.2);
  EXPECT_NEAR(slower.products[0].warm.change->low, 1.2 * std::exp(-1.96 * 0.93 * std::hypot(0.05, 0.1 / 2.4) / 10),
              1e-12);

  auto noisy = outcome_with(2.4, 1.0);
  hold_against_baseline(baseline, 0.15, noisy);
  EXPECT_TRUE(noisy.slower.empty()) << "the interval reaches below 15 %";
  auto faster = outcome_with(1.0, 0.1);
  hold_against_baseline(baseline, 0.0, faster);
  EXPECT_TRUE(faster.slower.empty());
  EXPECT_LT(faster.products[0].warm.change->high, 1.0);
}

TEST_F(BaselineTest, CasesThatAreNewAreSaid) {
  const compare::Baseline baseline = written(outcome_with(2.0, 0.1));
  auto outcome = outcome_with(2.0, 0.1);
  outcome.products[0].kernel = "new";
  hold_against_baseline(baseline, 0.05, outcome);
  const support::Warnings& warnings = outcome.compare::Outcome::warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text.find("no case \"product new warm\""), std::string::npos);
}

/// Documents of earlier versions name the reproducible variant by its class.
TEST_F(BaselineTest, OldNamesOfKernelsAreKnown) {
  for (const char* old_name : {"merbit:gpu", "merbit:run"}) {
    auto before = outcome_with(2.0, 0.1);
    before.products[0].kernel = before.solves[0].kernel = old_name;
    const compare::Baseline baseline = written(before);
    auto after = outcome_with(2.4, 0.1);
    after.products[0].kernel = after.solves[0].kernel = "merbit:reproducible";
    hold_against_baseline(baseline, 0.05, after);
    EXPECT_EQ(after.slower,
              (std::vector<std::string>{"product merbit:reproducible warm", "solve cg merbit:reproducible"}));
    EXPECT_TRUE(after.compare::Outcome::warnings.empty());
  }
}

TEST_F(BaselineTest, AnotherMatrixTypeOrMachine) {
  const compare::Baseline baseline = written(outcome_with(2.0, 0.1));
  const compare::MeasuredOn same = baseline.measured_on;
  EXPECT_EQ(same.value, "fp64");
  support::Warnings warnings;
  check_baseline(baseline, same, warnings);
  EXPECT_TRUE(warnings.empty());
  auto elsewhere = same;
  elsewhere.cpu = "another processor";
  check_baseline(baseline, elsewhere, warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].text.find("another processor"), std::string::npos);
  auto larger = same;
  larger.nnz = 11;
  EXPECT_THROW(check_baseline(baseline, larger, warnings), InvalidMatrix);
  auto single = same;
  single.value = single.precision = "fp32";
  EXPECT_THROW(check_baseline(baseline, single, warnings), InvalidMatrix);
}

TEST_F(BaselineTest, WhatIsNoComparisonIsRefused) {
  EXPECT_THROW(static_cast<void>(compare::read_baseline(path("missing.json"))), IoError);
  EXPECT_THROW(static_cast<void>(compare::read_baseline(path(""))), IoError) << "a directory";
  try {
    static_cast<void>(compare::read_baseline(file("broken.json", "{\n  \"schema\": ,\n}\n")));
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.line(), 2) << error.what();
  }
  for (const char* text :
       {"", "3", "{}", "[]", R"({"schema": "solve.run/1"})", R"({"schema": 3})", R"({"schema": "solve.compare/1"})",
        R"({"schema": "solve.compare/1", "matrix": {"rows": "many"}})", R"({"schema": 1e999})"}) {
    EXPECT_THROW(static_cast<void>(compare::read_baseline(file("other.json", text))), Error) << text;
  }
}

/// As for every other JSON file: where the fault is, and what.
TEST_F(BaselineTest, ANumberOutOfRangeIsNamedWithItsPlace) {
  const std::string name = file("big.json", "{\n  \"schema\": \"1e999\",\n  \"rows\": 1e999\n}\n");
  try {
    static_cast<void>(compare::read_baseline(name));
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.line(), 3) << error.what();
    EXPECT_EQ(error.column(), 11) << error.what();
    EXPECT_NE(std::string(error.what()).find("1e999"), std::string::npos) << error.what();
  }
  const auto result = run("compare --poisson2d 4 --baseline big.json");
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_NE(result.err.find("big.json:3:11: number overflow parsing '1e999'"), std::string::npos) << result.err;
}

TEST(ChangeOf, NeedsTimesThatAreNotZero) {
  EXPECT_FALSE(compare::change_of({}, times(1, 0, 3).summary));
  const auto exact = compare::change_of(times(2, 0, 1).summary, times(3, 0, 1).summary);
  ASSERT_TRUE(exact);
  EXPECT_DOUBLE_EQ(exact->low, 1.5);
  EXPECT_DOUBLE_EQ(exact->high, 1.5);
}

}  // namespace

}  // namespace tessera::testing
