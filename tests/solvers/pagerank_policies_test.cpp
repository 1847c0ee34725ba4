/// Every dangling policy against a dense solve of the fixed-point equation, and closed forms.
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongColumn = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
using Dense = std::vector<std::vector<double>>;

/// The fixed point from a linear system. For `drop`, x ∝ y with y = d Pᵀ y + (1 - d) c v; the unknown factor is fixed
/// by Σ x = 1: (I - λ⁻¹ d Pᵀ) x = λ⁻¹ (1 - d) v with λ = 1 - d m, m the dangling mass of x, found by bisection on λ.
LongColumn dense_ranks(const Dense& weights, const LongColumn& v, long double d, Dangling policy) {
  const auto n = static_cast<Eigen::Index>(weights.size());
  LongMatrix transition = LongMatrix::Zero(n, n);  // Pᵀ
  std::vector<Eigen::Index> dangling;
  for (Eigen::Index i = 0; i < n; ++i) {
    long double total = 0;
    for (const double w : weights[static_cast<std::size_t>(i)]) total += w;
    if (total == 0.0L) {
      dangling.push_back(i);
      if (policy == Dangling::self) transition(i, i) = 1;
      if (policy == Dangling::teleport) transition.col(i) = v;
      if (policy == Dangling::uniform) transition.col(i).setConstant(1.0L / static_cast<long double>(n));
      continue;
    }
    for (Eigen::Index j = 0; j < n; ++j) {
      transition(j, i) = weights[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] / total;
    }
  }
  const LongMatrix identity = LongMatrix::Identity(n, n);
  const auto solve = [&](long double lambda) {
    return LongColumn((identity - d / lambda * transition).fullPivLu().solve((1 - d) / lambda * v));
  };
  if (policy != Dangling::drop) return solve(1);
  // Σ x(λ) falls as λ grows, from infinity at the spectral radius of d Pᵀ, below which x is not nonnegative.
  long double low = (1 - d) / 2;
  long double high = 1;
  for (int k = 0; k < 200; ++k) {
    const long double middle = (low + high) / 2;
    const LongColumn x = solve(middle);
    (x.minCoeff() >= 0 && x.sum() <= 1 ? high : low) = middle;
  }
  return solve(high);
}

Dense random_graph(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  Dense weights(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 4 == 1) continue;  // dangling
    for (std::size_t j = 0; j < n; ++j) {
      if (generator() % 3 == 0) weights[i][j] = static_cast<double>(1 + generator() % 5);
    }
  }
  return weights;
}

LongColumn normalised(const std::vector<double>& weights) {
  LongColumn v(static_cast<Eigen::Index>(weights.size()));
  for (Eigen::Index i = 0; i < v.size(); ++i) v(i) = weights[static_cast<std::size_t>(i)];
  return v / v.sum();
}

class Policies : public ::testing::TestWithParam<Dangling> {};
INSTANTIATE_TEST_SUITE_P(PageRank, Policies,
                         ::testing::Values(Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

TEST_P(Policies, AgreeWithADenseSolve) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Dense weights = random_graph(17, seed);
    const TransitionMatrix<double> transition(from_dense(weights, 17).view());
    for (const double damping : {0.5, 0.85, 0.99}) {
      for (const bool personalised : {false, true}) {
        SCOPED_TRACE(::testing::Message() << "seed " << seed << ", damping " << damping);
        std::vector<double> personalization;
        if (personalised) {
          personalization.assign(17, 0.0);
          personalization[3] = 5.0;
          personalization[1] = 2.5;  // dangling
          personalization[8] = 1.0;
        }
        const LongColumn v = normalised(personalised ? personalization : std::vector<double>(17, 1.0));
        const LongColumn exact = dense_ranks(weights, v, damping, GetParam());
        const auto result = pagerank(transition, {.damping = damping,
                                                  .tolerance = 1e-15,
                                                  .dangling = GetParam(),
                                                  .personalization = personalization,
                                                  .max_iterations = 100000});
        EXPECT_TRUE(result.status == Status::converged || result.status == Status::stagnated) << result.reason;
        EXPECT_EQ(result.dangling_count, 4);
        const LongVector expected(exact.data(), exact.data() + exact.size());
        EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-13L / (1 - damping));
        EXPECT_NEAR(static_cast<double>(long_sum<double>(result.ranks.span())), 1.0, 1e-14);
      }
    }
  }
}

/// Policies are told apart by a graph with a dangling vertex; without one they are the same.
TEST(PageRankPolicies, DifferOnlyWhereVerticesDangle) {
  const TransitionMatrix<double> with(from_dense<double>({{0, 1, 1}, {1, 0, 0}, {0, 0, 0}}, 3).view());
  const TransitionMatrix<double> without(from_dense<double>({{0, 1, 1}, {1, 0, 0}, {1, 0, 0}}, 3).view());
  const std::vector<double> personalization{1, 0, 0};
  std::vector<std::vector<double>> ranks;
  for (const Dangling policy : {Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop}) {
    const PageRankOptions options{.tolerance = 1e-14, .dangling = policy, .personalization = personalization};
    const auto result = pagerank(with, options);
    ranks.emplace_back(result.ranks.begin(), result.ranks.end());
    const auto same = pagerank(without, options);
    EXPECT_NEAR(same.ranks[0], 1 / 1.85, 1e-13);  // x0 = (1 - d) + d (1 - x0)
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = i + 1; j < ranks.size(); ++j) EXPECT_GT(std::abs(ranks[i][0] - ranks[j][0]), 1e-3);
  }
}

TEST(PageRankClosedForm, CycleAndCompleteGraphAreUniform) {
  Dense cycle(7, std::vector<double>(7));
  Dense complete(7, std::vector<double>(7, 1.0));
  for (std::size_t i = 0; i < 7; ++i) {
    cycle[i][(i + 1) % 7] = 1.0;
    complete[i][i] = 0.0;
  }
  for (const Dense& graph : {cycle, complete}) {
    const auto result = pagerank(TransitionMatrix<double>(from_dense(graph, 7).view()));
    EXPECT_TRUE(result.converged());
    for (const double rank : result.ranks) EXPECT_NEAR(rank, 1.0 / 7, 1e-15);
  }
}

/// n leaves that link to a hub, which links to nothing: hub h = d (1 - h) + c, leaf = c, c = (1 - d + d h) / (n + 1).
TEST(PageRankClosedForm, StarWithDanglingHub) {
  constexpr std::size_t leaves = 9;
  Dense star(leaves + 1, std::vector<double>(leaves + 1));
  for (std::size_t i = 1; i <= leaves; ++i) star[i][0] = 1.0;
  const auto result = pagerank(TransitionMatrix<double>(from_dense(star, leaves + 1).view()), {.tolerance = 1e-15});
  constexpr double d = 0.85;
  constexpr double n = leaves + 1.0;
  // h (1 + d - d / n) = d + (1 - d) / n
  const double hub = (d + (1 - d) / n) / (1 + d - d / n);
  EXPECT_NEAR(result.ranks[0], hub, 1e-14);
  EXPECT_NEAR(result.ranks[4], (1 - d + d * hub) / n, 1e-14);
}

TEST(PageRankClosedForm, SelfLoopsCountAndAreNotRemoved) {
  // Vertex 0 links to itself and to 1; 1 links to 0: x0 = (1-d)/2 + d (x0/2 + x1), x1 = (1-d)/2 + d x0/2.
  const auto result =
      pagerank(TransitionMatrix<double>(from_dense<double>({{1, 1}, {1, 0}}, 2).view()), {.tolerance = 1e-15});
  constexpr double d = 0.85;
  const double x0 = ((1 - d) / 2 + d) / (1 + d / 2);
  EXPECT_NEAR(result.ranks[0], x0, 1e-14);
  EXPECT_NEAR(result.ranks[1], 1 - x0, 1e-14);
}

TEST(PageRankClosedForm, AllDanglingGraphs) {
  const Csr<double> empty = from_dense<double>(Dense(5, std::vector<double>(5)), 5);
  const std::vector<double> personalization{1, 2, 3, 4, 0};
  for (const Dangling policy : {Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop}) {
    const auto uniform = pagerank(TransitionMatrix<double>(empty.view()), {.dangling = policy});
    EXPECT_TRUE(uniform.converged());
    EXPECT_EQ(uniform.dangling_count, 5);
    for (const double rank : uniform.ranks) EXPECT_NEAR(rank, 0.2, 1e-15);
    const auto personal = pagerank(TransitionMatrix<double>(empty.view()),
                                   {.tolerance = 1e-15, .dangling = policy, .personalization = personalization});
    const double spread = policy == Dangling::uniform ? 0.85 : 0.0;
    EXPECT_NEAR(personal.ranks[3], spread * 0.2 + (1 - spread) * 0.4, 1e-14) << to_string(policy);
  }
}

}  // namespace
}  // namespace tessera::testing
