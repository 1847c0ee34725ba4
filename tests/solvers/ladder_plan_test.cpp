/// The order of the rungs, their names, the cost models, and how long the ladder stays with Jacobi.
#include "solvers/ladder/costs.hpp"
#include "solvers/ladder/jacobi_watch.hpp"

#include "tessera/generators.hpp"
#include "tessera/ladder.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// r_k = q^k.
[[nodiscard]] std::vector<double> geometric(double q, int last) {
  std::vector<double> residuals;
  for (int k = 0; k <= last; ++k) residuals.push_back(std::pow(q, k));
  return residuals;
}

TEST(ProjectedIterations, OfAGeometricSequenceAreExact) {
  for (const double q : {0.5, 0.9, 0.99}) {
    EXPECT_NEAR(detail::projected_iterations(geometric(q, 40), 1e-15), std::log(1e-15) / std::log(q), 1e-6) << q;
  }
  EXPECT_EQ(detail::projected_iterations(geometric(0.5, 40), 0.125), 3.0) << "reached within the trial";
}

TEST(ProjectedIterations, ASlowSecondHalfCounts) {
  std::vector<double> residuals = geometric(0.5, 20);
  for (int k = 0; k < 20; ++k) residuals.push_back(residuals.back() * 0.99);
  const double expected = 40 + std::log(residuals.back() / 1e-12) / -std::log(0.99);
  EXPECT_NEAR(detail::projected_iterations(residuals, 1e-12), expected, 1e-6);
}

TEST(ProjectedIterations, WhatDoesNotFallNeverEnds) {
  EXPECT_EQ(detail::projected_iterations(std::vector<double>{1.0}, 0.5), never);
  EXPECT_EQ(detail::projected_iterations(std::vector<double>(41, 1.0), 0.5), never);
  EXPECT_EQ(detail::projected_iterations(geometric(1.1, 40), 0.5), never);
  EXPECT_EQ(detail::projected_iterations(geometric(0.9, 40), 0.0), never) << "no tolerance is met";
}

[[nodiscard]] LadderFacts facts_of(index_t rows, bool definite) {
  LadderFacts facts;
  facts.rows = rows;
  facts.nnz = 5 * static_cast<offset_t>(rows);
  facts.symmetric = facts.definite_diagonal = definite;
  facts.full_diagonal = true;
  return facts;
}

[[nodiscard]] DirectPrediction prediction_of(offset_t entries, double flops) {
  DirectPrediction prediction;
  prediction.factor_nnz = entries;
  prediction.flops = flops;
  return prediction;
}

/// Iterations that a watch lets a residual q^k run, at most `most`.
struct Watched {
  int iterations = 0;
  int asked = 0;  ///< for the price
  std::string reason;
};

[[nodiscard]] Watched watch(const LadderFacts& facts, double q, double price, int most) {
  Watched result;
  detail::JacobiWatch jacobi(facts, RungMethod::cg, Device{}, true, [&] {
    ++result.asked;
    return price;
  });
  const double target = 1e-8;
  for (double residual = 1.0; result.iterations < most; residual *= q) {
    if (!jacobi.goes_on(residual, target) || residual <= target) break;
    ++result.iterations;
  }
  result.reason = jacobi.reason();
  return result;
}

TEST(JacobiWatch, StaysWhereConvergenceIsNear) {
  const Watched seen = watch(facts_of(1000, false), 0.5, 0.0, 1000);
  EXPECT_EQ(seen.iterations, 27) << "log(1e-8) / log(0.5), whatever the price";
  EXPECT_EQ(seen.asked, 0);
  EXPECT_TRUE(seen.reason.empty());
}

TEST(JacobiWatch, LeavesWhatDoesNotConvergeOnceItHasCostAThirdOfTheAnalysis) {
  const LadderFacts facts = facts_of(1000, false);
  const Watched seen = watch(facts, 1.0, 5.0, 100000);
  const double cost = detail::iteration_ms(facts, RungMethod::cg, Device{});
  EXPECT_EQ(seen.asked, 1);
  EXPECT_FALSE(seen.reason.empty());
  EXPECT_GE(seen.iterations * cost, detail::analysis_ms(facts) / 3 - 16 * cost);
  EXPECT_LE(seen.iterations * cost, detail::analysis_ms(facts) / 3 + 17 * cost);
}

TEST(JacobiWatch, StaysForEverWhereThereIsNothingElse) {
  EXPECT_EQ(watch(facts_of(1000, false), 1.0, never, 5000).iterations, 5000);
}

TEST(JacobiWatch, APromiseThatIsNotKeptEndsAtAMultipleOfThePrice) {
  const LadderFacts facts = facts_of(1000, false);
  detail::JacobiWatch jacobi(facts, RungMethod::cg, Device{}, true, [] { return 100.0; });
  // Falls fast enough to promise an end within the price, but the target moves away as well.
  double residual = 1.0;
  int iterations = 0;
  while (iterations < 1'000'000 && jacobi.goes_on(residual, residual * 1e-2)) {
    residual *= 0.999;
    ++iterations;
  }
  const double cost = detail::iteration_ms(facts, RungMethod::cg, Device{});
  EXPECT_LE(iterations * cost, detail::analysis_ms(facts) + 3 * 100.0 + 17 * cost);
  EXPECT_FALSE(jacobi.reason().empty());
}

TEST(JacobiWatch, WeighsMultigridForLargeDefiniteSystems) {
  const LadderFacts facts = facts_of(1'000'000, true);
  EXPECT_EQ(watch(facts, 0.9, 0.0, 1000).iterations, 175) << "below the break-even of 200";
  const Watched slow = watch(facts, 0.99, 0.0, 10000);
  EXPECT_LE(slow.iterations, 48);
  EXPECT_EQ(slow.asked, 0) << "multigrid is next, and needs no analysis";
  EXPECT_NE(slow.reason.find("amg pays above 200"), std::string::npos) << slow.reason;
}

[[nodiscard]] std::vector<std::string> commands(const std::vector<RungPlan>& rungs) {
  std::vector<std::string> result;
  result.reserve(rungs.size());
  for (const RungPlan& rung : rungs) result.push_back(rung.command_options());
  return result;
}

TEST(PlanLadder, ForDefiniteSystems) {
  LadderFacts facts = facts_of(5000, true);
  facts.direct = prediction_of(50'000, 1e6);
  const std::vector<std::string> expected{"-m cg -p jacobi",
                                          "-m direct",
                                          "-m cg -p ict:1e-2:10",
                                          "-m cg -p ict:1e-3:50",
                                          "-m cg -p ict:1e-4:300 --precond-opt ordering=amd",
                                          "-m gmres -p ilutp:1e-4:50",
                                          "-m idr -p ilutp:1e-4:50",
                                          "-m gmres -p ilutp:1e-5:100",
                                          "-m gmres -p ilutp:1e-4:50 --precond-opt matching=scale",
                                          "-m gmres -p none"};
  EXPECT_EQ(commands(plan_ladder(facts)), expected);
  facts.rows = 50'000;
  EXPECT_EQ(commands(plan_ladder(facts))[1], "-m cg -p amg");
}

TEST(PlanLadder, DirectFactorsStandFirstWhereTheyAreCheapAndLastWhereTheyAreAffordable) {
  LadderFacts facts = facts_of(5000, false);
  facts.full_diagonal = false;
  facts.direct = prediction_of(100'000, 1e6);
  EXPECT_EQ(commands(plan_ladder(facts)).front(), "-m direct");
  facts.direct = prediction_of(20'000'000, 1e9);
  const std::vector<std::string> last = commands(plan_ladder(facts));
  EXPECT_EQ(last[last.size() - 2], "-m direct");
  EXPECT_EQ(last.back(), "-m gmres -p none");
  facts.direct = prediction_of(60'000'000, 1e9);
  const std::vector<std::string> without = commands(plan_ladder(facts));
  EXPECT_EQ(std::count(without.begin(), without.end(), "-m direct"), 0);
  facts.direct.reset();
  EXPECT_EQ(commands(plan_ladder(facts)), without);
}

TEST(PlanLadder, ASingularMatrixIsNotFactorized) {
  LadderFacts facts = facts_of(100, false);
  facts.structural_rank = 99;
  EXPECT_EQ(commands(plan_ladder(facts)),
            (std::vector<std::string>{"-m bicgstab -p jacobi", "-m bicgstab -p none", "-m gmres -p none"}));
  facts.symmetric = facts.definite_diagonal = true;
  EXPECT_EQ(commands(plan_ladder(facts)),
            (std::vector<std::string>{"-m cg -p jacobi", "-m cg -p none", "-m bicgstab -p none", "-m gmres -p none"}));
  EXPECT_EQ(singularity_proof(facts), "structurally singular: rank at most 99 of 100");
  facts.structural_rank = 100;
  EXPECT_TRUE(singularity_proof(facts).empty());
  facts.duplicate_rows = 2;
  EXPECT_TRUE(facts.is_singular());
  EXPECT_NE(singularity_proof(facts).find("at most 98 of 100"), std::string::npos);
}

TEST(PlanLadder, KeepsToTheMethodOfTheCaller) {
  LadderFacts facts = facts_of(50'000, true);
  facts.direct = prediction_of(50'000, 1e6);
  EXPECT_EQ(commands(plan_ladder(facts, RungMethod::cg)),
            (std::vector<std::string>{"-m cg -p jacobi", "-m cg -p amg", "-m cg -p ict:1e-2:10", "-m cg -p ict:1e-3:50",
                                      "-m cg -p ict:1e-4:300 --precond-opt ordering=amd", "-m cg -p none"}));
  EXPECT_EQ(
      commands(plan_ladder(facts, RungMethod::bicgstab)),
      (std::vector<std::string>{"-m bicgstab -p jacobi", "-m bicgstab -p amg", "-m bicgstab -p ilutp:1e-4:50",
                                "-m bicgstab -p ilutp:1e-5:100",
                                "-m bicgstab -p ilutp:1e-4:50 --precond-opt matching=scale", "-m bicgstab -p none"}));
}

TEST(LadderFacts, SignsOfTheDiagonalAndDominance) {
  const auto facts = [](const Csr<double>& a) { return ladder_facts<double>(statistics(a.view())); };
  const LadderFacts positive = facts(poisson2d<double>(10, 10));
  EXPECT_TRUE(positive.symmetric && positive.definite_diagonal && positive.m_matrix_like && !positive.negated);
  const LadderFacts negative = facts(scaled(poisson2d<double>(10, 10), -1.0));
  EXPECT_TRUE(negative.symmetric && negative.definite_diagonal && negative.negated && !negative.m_matrix_like);
  const LadderFacts mixed = facts(diagonal_matrix<double>({1, -1}));
  EXPECT_TRUE(mixed.full_diagonal && !mixed.definite_diagonal && !mixed.negated);
  const LadderFacts missing = facts(make_csr<double>(2, 2, {0, 1, 2}, {1, 0}, {1, 1}));
  EXPECT_FALSE(missing.full_diagonal || missing.definite_diagonal || missing.negated);
  EXPECT_TRUE(plan_ladder(facts(Csr<double>())).empty());
}

TEST(LadderFacts, AnalysisFindsTheStructuralRankAndCopies) {
  const auto a = from_dense<double>({{1, 2, 0}, {1, 2, 0}, {0, 0, 1}}, 3);
  const CsrView<double> view = a.view();
  const LadderFacts copies = ladder_facts<double>(statistics(view), &view);
  EXPECT_EQ(copies.structural_rank, 3);
  EXPECT_EQ(copies.duplicate_rows, 1);
  const auto b = from_dense<double>({{1, 0, 0}, {2, 0, 0}, {3, 4, 5}}, 3);
  const CsrView<double> deficient = b.view();
  EXPECT_EQ(ladder_facts<double>(statistics(deficient), &deficient).structural_rank, 2);
  const auto c = from_dense<double>({{0, 2, 0}, {1, 0, 0}, {3, 4, 5}}, 3);
  const CsrView<double> permuted = c.view();
  EXPECT_EQ(ladder_facts<double>(statistics(permuted), &permuted).structural_rank, 3);
}

}  // namespace
}  // namespace tessera::testing
