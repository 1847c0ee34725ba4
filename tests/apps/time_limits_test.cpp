/// Limits of time and signals: the documents that they leave, and the times of a run.

#include "interrupt.hpp"
#include "ladder_run.hpp"
#include "solve_process.hpp"

#include "tessera/generators.hpp"

#include <csignal>
#include <limits>

namespace tessera::testing {

namespace {

using nlohmann::json;

class TimesTest : public SolveTest {};

/// Sum of times that may be missing.
[[nodiscard]] double sum_of(const json& times, std::initializer_list<const char*> keys) {
  double sum = 0.0;
  for (const char* key : keys) sum += times.value(key, 0.0);
  return sum;
}

TEST_F(TimesTest, TotalHoldsAllRungs) {
  const auto result = run("--generate helmholtz2d:60 -b Arandom --json");
  const json document = json::parse(result.out);
  const json& times = document["timings_ms"];
  double rungs = 0.0;
  for (const json& rung : document["ladder"]["rungs"]) {
    rungs += rung["setup_ms"].get<double>() + rung["solve_ms"].get<double>();
  }
  ASSERT_GE(document["ladder"]["rungs"].size(), 2U) << result.out;
  const double total = times["total"];
  const double ladder = document["ladder"]["ms"];
  EXPECT_GE(total, rungs);
  EXPECT_GE(ladder, rungs);
  const double besides = sum_of(times, {"generate", "inspect", "plan", "accuracy", "advice", "write"});
  EXPECT_NEAR(total, besides + ladder, 1e-6 * total);
  EXPECT_NEAR(total,
              sum_of(times, {"generate", "inspect", "plan", "ladder_rest", "precond_setup", "solve", "accuracy",
                             "advice", "write"}),
              1e-6 * total);
  const std::string text = run("--generate helmholtz2d:60 -b Arandom").out;
  EXPECT_NE(text.find(", rest of the ladder "), std::string::npos) << text;
  EXPECT_NE(text.find("; total "), std::string::npos) << text;
}

class TimeLimitTest : public SolveTest {
 protected:
  /// A set-up of some tenths of a second that is given a thousandth.
  void expect_guess(const std::string& more, const std::string& reason) const {
    const auto result = run("--generate elasticity3d:14 -m cg -p ict:1e-4:300 --max-time 1ms --json " + more);
    EXPECT_EQ(result.exit_code, 3) << more << ": " << result.err;
    const json document = json::parse(result.out);
    EXPECT_EQ(document["result"]["status"], "time_limit") << more;
    EXPECT_EQ(document["result"]["iterations"], 0) << more;
    EXPECT_EQ(document["result"]["precond"], "ict:1e-4:300") << more;
    EXPECT_NE(document["result"]["reason"].get<std::string>().find(reason), std::string::npos) << result.out;
    const json& residual = document["result"]["residual"];
    EXPECT_DOUBLE_EQ(residual["true"].get<double>(), residual["b_norm"].get<double>()) << more;
  }
};

TEST_F(TimeLimitTest, EndsSetUpWithADocument) {
  const std::string reason = "while the preconditioner was set up";
  expect_guess("", reason);
  expect_guess("-b random:2", reason);
  expect_guess("--precision mixed", reason);
}

TEST_F(TimeLimitTest, IsFollowedByAdviceWithoutAnalysis) {
  const json document = json::parse(run("--poisson2d 300 -m bicgstab -p none --max-time 0s --json").out);
  EXPECT_EQ(document["result"]["status"], "time_limit");
  const std::string text = document["warnings"].dump();
  EXPECT_NE(text.find("W018"), std::string::npos) << text;
}

TEST(BudgetedFacts, SayWhatWasGivenUp) {
  const Csr<double> matrix = generate<double>(parse_generator("convdiff:24"));
  const CsrView<double> view = matrix.view();
  const MatrixStatistics facts = statistics(view);
  const double unlimited = std::numeric_limits<double>::infinity();
  const cli::BudgetedFacts all = cli::facts_within<double>(unlimited, facts, view, true);
  EXPECT_EQ(all.given_up, "");
  ASSERT_TRUE(all.facts.direct.has_value());
  EXPECT_EQ(all.facts.direct->factor_nnz, ladder_facts<double>(facts, &view, true).direct->factor_nnz);
  const cli::BudgetedFacts none = cli::facts_within<double>(0.0, facts, view, true);
  EXPECT_NE(none.given_up, "");
  EXPECT_FALSE(none.facts.direct.has_value());
  EXPECT_EQ(none.facts.rows, view.rows);
}

/// Looks at no flag for ten seconds; then it ends by itself.
void be_deaf() {
  for (int i = 0; i < 100; ++i) ::usleep(100'000);
  ::_exit(7);
}

TEST(WatchdogDeathTest, EndsIterationsThatHang) {
  const auto hang = [] {
    cli::install_interrupt_handlers();
    for (int i = 0; i < 3; ++i) static_cast<void>(cli::ends_with_iteration());
    ::raise(SIGTERM);
    be_deaf();
  };
  EXPECT_EXIT(hang(), ::testing::ExitedWithCode(143), "nothing was written");
}

TEST(WatchdogDeathTest, WaitsForResultsAndLongIterations) {
  const auto write = [] {
    cli::install_interrupt_handlers();
    ::raise(SIGTERM);
    static_cast<void>(cli::ends_with_iteration());
    for (int i = 0; i < 20; ++i) ::usleep(50'000);
    ::_exit(7);
  };
  EXPECT_EXIT(write(), ::testing::ExitedWithCode(7), "");
  const auto iterate = [] {
    cli::install_interrupt_handlers();
    const auto iteration = [] {
      for (int i = 0; i < 14; ++i) ::usleep(50'000);
      return cli::ends_with_iteration();
    };
    for (int i = 0; i < 3; ++i) static_cast<void>(iteration());
    ::raise(SIGTERM);
    ::_exit(iteration() ? 8 : 9);
  };
  EXPECT_EXIT(iterate(), ::testing::ExitedWithCode(8), "");
}

}  // namespace

}  // namespace tessera::testing
