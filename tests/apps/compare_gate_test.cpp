/// The gate: what a kernel may do and what it may not, and that a failure keeps its row, without times.

#include "compare_support.hpp"

#include "compare/gate.hpp"
#include "compare/oracle.hpp"
#include "compare_command.hpp"
#include "errors.hpp"
#include "solve_process.hpp"
#include "support/system.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/make_csr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::testing {

namespace {

template <class T>
[[nodiscard]] std::shared_ptr<const Csr<T>> grid(std::int64_t side) {
  return std::make_shared<const Csr<T>>(poisson2d<T>(side, side));
}

template <class T>
[[nodiscard]] compare::Verdict verdict_on(const std::shared_ptr<const Csr<T>>& matrix,
                                          const compare::Candidate<T>& candidate) {
  const std::vector<T> x = support::random_vector<T>(matrix->cols(), 1);
  const auto oracle = compare::product_oracle<T>(matrix->view(), x);
  return compare::check_products<T>(candidate.plan(matrix), x, oracle);
}

template <class T>
class GateTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GateTest, Types);

TYPED_TEST(GateTest, EveryRegisteredKernelPasses) {
  for (const std::int64_t side : {1, 7, 60}) {
    for (const auto& candidate : compare::registered_candidates<TypeParam>(Device())) {
      const compare::Verdict verdict = verdict_on(grid<TypeParam>(side), candidate);
      EXPECT_TRUE(verdict.passed) << candidate.name << ": " << verdict.reason;
      EXPECT_LE(verdict.error_over_bound, 1.0);
    }
  }
}

/// One unit in the last place of a single row is too much when the bound is a few of them; here 1000.
TYPED_TEST(GateTest, OneWrongRowIsFound) {
  const auto spoil = [](int, std::span<const TypeParam>, std::span<TypeParam> y) {
    y[17] += 1000 * std::numeric_limits<TypeParam>::epsilon();
  };
  const compare::Verdict verdict = verdict_on(grid<TypeParam>(9), spoilt_candidate<TypeParam>("bent", spoil));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.reason.find("row 18"), std::string::npos) << verdict.reason;
  EXPECT_GT(verdict.error_over_bound, 1.0);
}

TYPED_TEST(GateTest, AnElementLeftUnwrittenIsFound) {
  const auto spoil = [](int, std::span<const TypeParam>, std::span<TypeParam> y) {
    y.back() = std::numeric_limits<TypeParam>::quiet_NaN();
  };
  const compare::Verdict verdict = verdict_on(grid<TypeParam>(5), spoilt_candidate<TypeParam>("lazy", spoil));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.reason.find("row 25: nan"), std::string::npos) << verdict.reason;
}

/// A kernel that is right at first, as one that leaves rubbish in its second buffer would be.
TYPED_TEST(GateTest, AProductThatGoesWrongLaterIsFound) {
  const auto spoil = [](int call, std::span<const TypeParam>, std::span<TypeParam> y) {
    if (call == 5) y[0] += TypeParam{1};
  };
  const compare::Verdict verdict = verdict_on(grid<TypeParam>(5), spoilt_candidate<TypeParam>("tired", spoil));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.reason.find("product 4 of a loop"), std::string::npos) << verdict.reason;
}

TYPED_TEST(GateTest, BrokenPromisesOfEqualBitsAreFailures) {
  const auto spoil = [](int call, std::span<const TypeParam>, std::span<TypeParam> y) {
    if (call % 2 == 0) y[3] = std::nextafter(y[3], TypeParam{9});
  };
  const auto matrix = grid<TypeParam>(6);
  const compare::Verdict promised = verdict_on(matrix, spoilt_candidate<TypeParam>("liar", spoil));
  EXPECT_FALSE(promised.passed);
  EXPECT_NE(promised.reason.find("promises gpu_to_gpu"), std::string::npos) << promised.reason;
  const compare::Verdict free =
      verdict_on(matrix, spoilt_candidate<TypeParam>("free", spoil, Determinism::not_guaranteed));
  EXPECT_TRUE(free.passed) << free.reason;
  EXPECT_FALSE(free.repeats);
}

TYPED_TEST(GateTest, WhatAKernelThrowsIsItsFailure) {
  const auto spoil = [](int call, std::span<const TypeParam>, std::span<TypeParam>) {
    if (call == 2) throw OutOfMemory(1000, 10, "carries");
  };
  const compare::Verdict verdict = verdict_on(grid<TypeParam>(4), spoilt_candidate<TypeParam>("hungry", spoil));
  EXPECT_FALSE(verdict.passed);
  EXPECT_NE(verdict.reason.find("carries"), std::string::npos) << verdict.reason;
}

TEST(Oracle, HoldsInfinityAndNaNInPlace) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto matrix = from_dense<double>({{infinite, 0}, {nan, 0}, {1e308, 1e308}, {2.0, 0}}, 2);
  const std::vector<double> x{1.0, 1.0};
  const auto oracle = compare::product_oracle<double>(matrix.view(), x);
  EXPECT_EQ(oracle.unchecked_rows, 1) << "1e308 + 1e308 overflows in double";
  EXPECT_TRUE(compare::deviation<double>(oracle, std::vector<double>{infinite, nan, infinite, 2.0}).within_bound());
  EXPECT_TRUE(compare::deviation<double>(oracle, std::vector<double>{infinite, nan, nan, 2.0}).within_bound());
  for (const auto& wrong : {std::vector<double>{-infinite, nan, 0, 2.0}, std::vector<double>{1e308, nan, 0, 2.0},
                            std::vector<double>{infinite, 0.0, 0, 2.0}, std::vector<double>{infinite, nan, 0, nan},
                            std::vector<double>{infinite, nan, 0, infinite}}) {
    EXPECT_FALSE(compare::deviation<double>(oracle, wrong).within_bound());
  }
}

TEST(Oracle, RowsWithoutEntriesAreExactlyZero) {
  const auto matrix = from_dense<double>({{1.0}, {}, {}}, 3);
  const std::vector<double> x{1.0, 1.0, 1.0};
  const auto oracle = compare::product_oracle<double>(matrix.view(), x);
  EXPECT_TRUE(compare::deviation<double>(oracle, std::vector<double>{1.0, 0.0, -0.0}).within_bound());
  EXPECT_FALSE(compare::deviation<double>(oracle, std::vector<double>{1.0, 5e-324, 0.0}).within_bound());
}

TEST(Oracle, TheFactorHoldsForAnyLength) {
  constexpr long double u = 0x1p-24L;
  EXPECT_NEAR(static_cast<double>(compare::rounding_factor<float>(6) / (10 * u)), 1.0, 1e-5);
  // (1 + u)^n - 1 for n u = 2, where n u / (1 - n u) means nothing.
  EXPECT_NEAR(static_cast<double>(compare::rounding_factor<float>(std::int64_t{1} << 25)), std::exp(2.0) - 1.0, 1e-4);
}

TEST(Candidates, AreThoseOfTheRegistryAndCsrIsAlwaysAmongThem) {
  const auto table = compare::registered_candidates<double>(Device());
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    EXPECT_TRUE(std::any_of(table.begin(), table.end(), [&](const auto& c) { return c.name == to_string(algorithm); }));
  }
  // The second list is spelt as in documents of earlier versions.
  for (const char* wanted : {"merbit:reproducible,merge", "merbit:gpu,merge"}) {
    std::vector<std::string> names;
    for (const auto& candidate : cli::choose_candidates(table, wanted)) {
      names.push_back(candidate.name);
      const bool promises = candidate.options.determinism == Determinism::gpu_to_gpu;
      EXPECT_EQ(promises, candidate.name == "merbit:reproducible") << candidate.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"csr", "merge", "merbit:reproducible"})) << wanted;
  }
  EXPECT_EQ(cli::choose_candidates(table, "all").size(), table.size());
  for (const char* text : {"", "merge,", "merge,merge", "mergee", "merge merbit"}) {
    EXPECT_THROW(static_cast<void>(cli::choose_candidates(table, text)), cli::UsageError) << text;
  }
}

/// The right kernels and one that is wrong.
[[nodiscard]] std::vector<compare::Candidate<double>> with_a_wrong_one() {
  auto candidates = compare::registered_candidates<double>(Device());
  candidates.push_back(spoilt_candidate<double>("wrong", [](int, std::span<const double>, std::span<double> y) {
    for (double& value : y) value *= 1.0001;
  }));
  candidates.push_back({"greedy", SpmvOptions{}, [](const auto&) -> compare::PlannedKernel<double> {
                          throw OutOfMemory(1U << 30U, 1U << 20U, "descriptors");
                        }});
  return candidates;
}

TEST(Comparison, AKernelWithoutMemoryIsNotAWrongOne) {
  auto candidates = with_a_wrong_one();
  std::erase_if(candidates, [](const auto& candidate) { return candidate.name == "wrong"; });
  const compare::Outcome outcome =
      compare::compare_kernels(quick_comparison(), subject_of(grid<double>(20)), candidates);
  EXPECT_TRUE(outcome.failed());
  EXPECT_EQ(cli::exit_code_of(outcome, 0, false), cli::ExitCode::out_of_memory);
}

TEST(Comparison, AWrongKernelKeepsItsRowAndGetsNoTimes) {
  const auto subject = subject_of(grid<double>(20));
  const auto candidates = with_a_wrong_one();
  const compare::Outcome outcome = compare::compare_kernels(quick_comparison(), subject, candidates);
  ASSERT_EQ(outcome.products.size(), candidates.size());
  int failures = 0;
  for (const compare::KernelRow& row : outcome.products) {
    const bool right = row.kernel != "wrong" && row.kernel != "greedy";
    EXPECT_EQ(row.passed, right) << row.kernel << ": " << row.reason;
    EXPECT_EQ(row.warm.measured(), right) << row.kernel;
    EXPECT_EQ(row.setup.measured(), right) << row.kernel;
    EXPECT_EQ(row.reason.empty(), right) << row.kernel;
    failures += right ? 0 : 1;
  }
  EXPECT_EQ(failures, 2);
  EXPECT_FALSE(outcome.products[candidates.size() - 1].passed) << "failures come last";
  EXPECT_TRUE(outcome.failed());
  EXPECT_EQ(cli::exit_code_of(outcome, 0, true), cli::ExitCode::verification_failed);
}

/// Passes the gate and goes wrong during the timing: found by the check after it.
TEST(Comparison, AKernelThatGoesWrongWhileTimedLosesItsTimes) {
  const auto subject = subject_of(grid<double>(20));
  auto candidates = compare::registered_candidates<double>(Device());
  candidates.push_back(spoilt_candidate<double>("drifting", [](int call, std::span<const double>, std::span<double> y) {
    if (call > 8) y[0] += 1.0;
  }));
  auto settings = quick_comparison();
  settings.timing.rounds = 10;
  const compare::Outcome outcome = compare::compare_kernels(settings, subject, candidates);
  const compare::KernelRow& row = outcome.products.back();
  ASSERT_EQ(row.kernel, "drifting");
  EXPECT_FALSE(row.passed);
  EXPECT_FALSE(row.warm.measured());
  EXPECT_NE(row.reason.find("after 10 rounds"), std::string::npos) << row.reason;
}

class CompareCommandTest : public SolveTest {};

/// The command itself, with a table that holds wrong kernels: all outputs are written, and it exits with 8.
TEST_F(CompareCommandTest, FailuresAreWrittenEverywhereAndExitWith8) {
  file("A.mtx", laplace4);
  cli::CompareSettings settings;
  settings.kernels = "all";
  settings.comparison = quick_comparison();
  settings.rhs.kind = cli::VectorSettings::Kind::a_ones;
  settings.output.quiet = true;
  settings.problem.path = path("A.mtx");
  settings.output.json = path("c.json");
  settings.output.csv = path("c.csv");
  settings.output.markdown = path("c.md");
  const cli::Options options(cli::Command::compare, {path("A.mtx")}, {});
  const auto code = cli::compare_and_report(settings, with_a_wrong_one(), options, cli::Invocation{{"solve"}, "now"});
  EXPECT_EQ(static_cast<int>(code), 8);
  const auto json = nlohmann::json::parse(contents(path("c.json")));
  EXPECT_EQ(json["result"]["status"], "failed");
  EXPECT_EQ(json["result"]["exit_code"], 8);
  const auto& last = json["cases"].back();
  EXPECT_EQ(last["result"]["status"], "FAIL");
  EXPECT_FALSE(last.contains("product_ms"));
  for (const char* name : {"c.csv", "c.md"}) {
    const std::string text = contents(path(name));
    EXPECT_NE(text.find("wrong"), std::string::npos) << text;
    EXPECT_NE(text.find("FAIL"), std::string::npos) << text;
    EXPECT_NE(text.find("descriptors"), std::string::npos) << text;
  }
}

}  // namespace

}  // namespace tessera::testing
