/// The order of the rungs, their names, the cost models, and how long the ladder stays with a rung.
#include "solvers/ladder/costs.hpp"
#include "solvers/ladder/rung_watch.hpp"

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

constexpr double iteration_cost = 0.5;
constexpr double asking = 60.0;

/// Iterations that a watch lets a residual q^k run, at most `most`.
struct Watched {
  int iterations = 0;
  int asked = 0;  ///< for the price
  std::string reason;
};

[[nodiscard]] Watched watch(double q, double price, int most, detail::WatchRules rules = {}) {
  Watched result;
  rules.iteration_ms = iteration_cost;
  rules.alternative = [&](double) {
    ++result.asked;
    return detail::Alternative{price, "the next rung promises to cost less"};
  };
  detail::RungWatch rung(rules);
  const double target = 1e-8;
  for (double residual = 1.0; result.iterations < most; residual *= q) {
    if (!rung.goes_on(residual, target) || residual <= target) break;
    ++result.iterations;
  }
  result.reason = rung.reason();
  return result;
}

TEST(RungWatch, StaysWhereConvergenceIsNear) {
  const Watched seen = watch(0.5, 0.0, 1000, {.asking_ms = asking});
  EXPECT_EQ(seen.iterations, 27) << "log(1e-8) / log(0.5), whatever the price";
  EXPECT_EQ(seen.asked, 0);
  EXPECT_TRUE(seen.reason.empty());
}

TEST(RungWatch, LeavesAfterAThirdOfTheCostOfAskingWhereNothingFalls) {
  const Watched seen = watch(1.0, 5.0, 100000, {.asking_ms = asking});
  EXPECT_EQ(seen.asked, 1);
  EXPECT_EQ(seen.reason, "left after 48 iterations: very many would be needed, the next rung promises to cost less");
  EXPECT_GE(seen.iterations * iteration_cost, asking / 3);
  EXPECT_LE(seen.iterations * iteration_cost, asking / 3 + 16 * iteration_cost);
  EXPECT_EQ(watch(1.0, 5.0, 1000, {.first_look = 40}).iterations, 48) << "looked at every 16 iterations";
}

TEST(RungWatch, StaysForEverWhereThereIsNothingElse) {
  EXPECT_EQ(watch(1.0, never, 5000, {.asking_ms = asking}).iterations, 5000);
}

TEST(RungWatch, AnEndBeyondTheLimitIsNone) {
  const detail::WatchRules rules{.most_iterations = 1000};
  EXPECT_TRUE(watch(0.98, 1e6, 10000, rules).reason.empty()) << "912 iterations";
  EXPECT_EQ(watch(0.985, 1e6, 10000, rules).iterations, 16) << "1219 iterations";
}

TEST(RungWatch, SpendsPartOfThePriceFirst) {
  const Watched seen = watch(1.0, 90.0, 1000, {.least_rent = 1.0 / 3.0});
  EXPECT_EQ(seen.iterations, 64) << "30 ms are 60 iterations";
}

TEST(RungWatch, ARungThatWasLeftIsTakenOnceItsPriceIsSpent) {
  const detail::WatchRules rules{.asking_ms = 1000.0, .left = {40.0, "-m cg -p jacobi promises to cost less"}};
  const Watched slow = watch(0.999, 0.0, 10000, rules);
  EXPECT_EQ(slow.iterations, 80) << "40 ms";
  EXPECT_EQ(slow.asked, 0);
  EXPECT_NE(slow.reason.find("-m cg -p jacobi promises"), std::string::npos) << slow.reason;
  EXPECT_TRUE(watch(0.85, 0.0, 10000, rules).reason.empty()) << "114 iterations: the end is near at the 80th";
}

TEST(RungWatch, APromiseThatIsNotKeptEndsAtAMultipleOfThePrice) {
  detail::WatchRules rules{.iteration_ms = iteration_cost, .asking_ms = asking};
  rules.alternative = [](double) { return detail::Alternative{100.0, "x"}; };
  detail::RungWatch rung(rules);
  // Falls fast enough to promise an end within the price, but the target moves away as well.
  double residual = 1.0;
  int iterations = 0;
  while (iterations < 1'000'000 && rung.goes_on(residual, residual * 0.9)) {
    residual *= 0.999;
    ++iterations;
  }
  EXPECT_LE(iterations * iteration_cost, asking + 3 * 100.0 + 17 * iteration_cost);
  EXPECT_GE(iterations * iteration_cost, 300.0);
  EXPECT_FALSE(rung.reason().empty());
}

TEST(RungWatch, LeavesWhatHasNotFallenToATenth) {
  const detail::WatchRules rules{.must_fall_early = true};
  EXPECT_EQ(watch(0.95, never, 1000, rules).reason, "left after 30 iterations: the residual did not fall to a tenth");
  EXPECT_TRUE(watch(0.92, never, 1000, rules).reason.empty()) << "0.92^30 = 0.08";
}

TEST(RungWatch, ALimitIsPassedWhereTheEndIsNear) {
  // 184 iterations at 0.9, 1833 at 0.99.
  EXPECT_TRUE(watch(0.9, never, 10000, {.soft_limit = 100}).reason.empty());
  EXPECT_EQ(watch(0.99, never, 10000, {.soft_limit = 100}).iterations, 100);
  EXPECT_EQ(watch(0.99, never, 10000, {.soft_limit = 100, .limits_more = never}).iterations, 1833)
      << "the residual halves between two limits";
  EXPECT_EQ(watch(0.999, never, 10000, {.soft_limit = 100, .limits_more = never}).iterations, 200) << "it does not";
}

TEST(Costs, OfRungsKnowTheirFactors) {
  const LadderFacts facts = facts_of(1000, false);
  RungReport rung;
  rung.plan.method = RungMethod::bicgstab;
  const double jacobi = detail::iteration_ms(rung, facts, Device{});
  EXPECT_EQ(jacobi, detail::iteration_ms(facts, RungMethod::bicgstab, Device{}));
  rung.factors.emplace().fill = 3.0;
  EXPECT_DOUBLE_EQ(detail::iteration_ms(rung, facts, Device{}), 4 * jacobi);
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
  facts.direct = prediction_of(20'000'000, 1e10);
  const std::vector<std::string> last = commands(plan_ladder(facts));
  EXPECT_EQ(last[last.size() - 2], "-m direct");
  EXPECT_EQ(last.back(), "-m gmres -p none");
  facts.direct = prediction_of(210'000'000, 1e9);
  const std::vector<std::string> without = commands(plan_ladder(facts));
  EXPECT_EQ(std::count(without.begin(), without.end(), "-m direct"), 0);
  facts.direct.reset();
  EXPECT_EQ(commands(plan_ladder(facts)), without);
}

TEST(PlanLadder, Ilu0StandsBeforePivotingAndAfterWhatIsCheaper) {
  LadderFacts facts = facts_of(50'000, false);
  EXPECT_EQ(commands(plan_ladder(facts))[1], "-m bicgstab -p ilu0");
  facts.direct = prediction_of(4'000'000, 1e8);
  EXPECT_EQ(commands(plan_ladder(facts))[1], "-m bicgstab -p ilu0");
  EXPECT_EQ(commands(plan_ladder(facts))[2], "-m direct");
  facts.direct = prediction_of(200'000, 1e6);
  EXPECT_EQ(commands(plan_ladder(facts))[1], "-m direct");
  EXPECT_EQ(commands(plan_ladder(facts))[2], "-m bicgstab -p ilu0");
  facts.full_diagonal = false;
  const std::vector<std::string> without = commands(plan_ladder(facts));
  EXPECT_EQ(std::count(without.begin(), without.end(), "-m bicgstab -p ilu0"), 0);
  facts = facts_of(200'000, false);
  facts.m_matrix_like = true;
  EXPECT_EQ(commands(plan_ladder(facts))[2], "-m bicgstab -p amg");
}

/// 425 ms predicted for direct factors, which a limit on entries refused, against seconds of incomplete ones.
TEST(PlanLadder, DirectFactorsHaveAPriceInPlaceOfALimit) {
  LadderFacts facts = facts_of(160'000, false);
  facts.nnz = 800'000;
  facts.symmetric = true;
  facts.full_diagonal = false;
  facts.direct = prediction_of(10'800'000, 1e9);
  EXPECT_EQ(commands(plan_ladder(facts)).front(), "-m direct");
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
