#include "solvers/pagerank_batch.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

TransitionMatrix<double> small_graph() {
  return TransitionMatrix<double>(
      from_dense<double>({{0, 1, 1, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}, {0, 0, 0, 0}}, 4).view());
}

/// These options are refused, and the message names the wrong one.
void expect_refused(const PageRankOptions& options, const std::string& text) {
  try {
    (void)pagerank(small_graph(), options);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(PageRank, RefusesOptionsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double damping : {-0.1, 1.0, 1.5, nan}) expect_refused({.damping = damping}, "damping");
  for (const double tolerance : {-1e-9, nan}) expect_refused({.tolerance = tolerance}, "tolerance");
  expect_refused({.max_iterations = -1}, "max_iterations");
  expect_refused({.time_limit_seconds = nan}, "time_limit_seconds");
  const std::vector<double> three{1, 1, 1};
  const std::vector<double> negative{1, -1, 1, 1};
  const std::vector<double> infinite{1, 1, std::numeric_limits<double>::infinity(), 1};
  const std::vector<double> zeros(4);
  expect_refused({.personalization = three}, "4, got 3");
  expect_refused({.personalization = negative}, "vertex 2 has -1");
  expect_refused({.personalization = infinite}, "vertex 3 has inf");
  expect_refused({.personalization = zeros}, "sums to 0");
  EXPECT_THROW((void)pagerank(small_graph(), {.personalization = three}), DimensionError);
}

/// A tolerance multiplied by the number of vertices, as elsewhere, is met by any two distributions.
TEST(PageRank, RefusesATolerancesThatAnyTwoDistributionsMeet) {
  expect_refused({.tolerance = 2.0, .norm = RankNorm::l1}, "tolerance must be in [0, 2)");
  expect_refused({.tolerance = 1.42, .norm = RankNorm::l2}, "norm l2");
  expect_refused({.tolerance = 1.0, .norm = RankNorm::linf}, "norm linf");
  EXPECT_TRUE(pagerank(small_graph(), {.tolerance = 1.99, .norm = RankNorm::l1}).converged());
}

/// Between two vertices that link to each other the change shrinks by the damping alone: no graph takes longer.
TEST(PageRank, IterationsAreBoundedByToleranceAndDamping) {
  const TransitionMatrix<double> pair(from_dense<double>({{0, 1}, {1, 0}}, 2).view());
  const std::vector<double> first{1, 0};
  for (const double tolerance : {1e-3, 1e-6, 1e-11}) {
    for (const double damping : {0.5, 0.85, 0.99}) {
      PageRankOptions options{.damping = damping, .tolerance = tolerance, .max_iterations = 100000};
      options.personalization = first;
      const std::int64_t bound = detail::most_rank_iterations(options);
      const auto found = pagerank(pair, options);
      ASSERT_TRUE(found.converged());
      EXPECT_LE(found.iterations, bound);
      EXPECT_GE(static_cast<double>(found.iterations) + 4 + std::log(0.5) / std::log(damping),
                static_cast<double>(bound));
    }
  }
  EXPECT_EQ(detail::most_rank_iterations({.tolerance = 0.0, .max_iterations = 70}), 70);
  EXPECT_EQ(detail::most_rank_iterations({.tolerance = 1e-6, .max_iterations = 70}), 70);
  EXPECT_EQ(detail::most_rank_iterations({.damping = 0.0, .max_iterations = 70}), 2);
}

TEST(PageRank, IterationLimitKeepsTheResult) {
  const auto result = pagerank(small_graph(), {.tolerance = 1e-12, .max_iterations = 2});
  EXPECT_EQ(result.status, Status::max_iterations);
  EXPECT_EQ(result.iterations, 2);
  EXPECT_EQ(result.spmv_count, 2);
  EXPECT_NE(result.reason.find("limit 2"), std::string::npos) << result.reason;
  LongVector expected = uniform_distribution(4);
  const Csr<double> adjacency = from_dense<double>({{0, 1, 1, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}, {0, 0, 0, 0}}, 4);
  for (int step = 0; step < 2; ++step) {
    expected = pagerank_step(adjacency.view(), expected, uniform_distribution(4), 0.85L, Dangling::teleport);
  }
  EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-15L);
  const auto start = pagerank(small_graph(), {.max_iterations = 0});
  EXPECT_EQ(start.status, Status::max_iterations);
  EXPECT_EQ(start.ranks[1], 0.25);
  EXPECT_TRUE(std::isinf(start.change)) << "no step, no change known";
}

TEST(PageRank, ReportsTheChangeInTheNormAskedFor) {
  const Csr<double> adjacency = from_dense<double>({{0, 1, 1, 0}, {0, 0, 1, 0}, {1, 0, 0, 1}, {0, 0, 0, 0}}, 4);
  const LongVector start = uniform_distribution(4);
  const LongVector next = pagerank_step(adjacency.view(), start, start, 0.85L, Dangling::teleport);
  long double l1 = 0;
  long double squares = 0;
  long double largest = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const long double difference = std::fabs(next[i] - start[i]);
    l1 += difference;
    squares += difference * difference;
    largest = std::max(largest, difference);
  }
  const auto change = [](RankNorm norm) { return pagerank(small_graph(), {.norm = norm, .max_iterations = 1}).change; };
  EXPECT_NEAR(change(RankNorm::l1), static_cast<double>(l1), 1e-15);
  EXPECT_NEAR(change(RankNorm::l2), static_cast<double>(std::sqrt(squares)), 1e-15);
  EXPECT_NEAR(change(RankNorm::linf), static_cast<double>(largest), 1e-15);
}

TEST(PageRank, ChangeEqualToTheToleranceIsConverged) {
  const double change = pagerank(small_graph(), {.max_iterations = 3}).change;
  EXPECT_EQ(pagerank(small_graph(), {.tolerance = change}).iterations, 3);
  EXPECT_GT(pagerank(small_graph(), {.tolerance = std::nextafter(change, 0.0)}).iterations, 3);
}

TEST(PageRank, SmallestGraphs) {
  const auto none = pagerank(TransitionMatrix<double>(Csr<double>{}.view()));
  EXPECT_TRUE(none.converged());
  EXPECT_TRUE(none.ranks.empty());
  for (const double link : {0.0, 1.0}) {
    const auto one = pagerank(TransitionMatrix<double>(from_dense<double>({{link}}, 1).view()));
    EXPECT_TRUE(one.converged());
    EXPECT_EQ(one.ranks[0], 1.0);
  }
}

TEST(PageRank, WithoutDampingOnlyTheTeleportDistributionCounts) {
  const std::vector<double> personalization{1, 0, 2, 1};
  const auto result = pagerank(small_graph(), {.damping = 0.0, .personalization = personalization});
  EXPECT_TRUE(result.converged());
  EXPECT_EQ(std::vector<double>(result.ranks.begin(), result.ranks.end()), (std::vector<double>{0.25, 0, 0.5, 0.25}));
}

TEST(PageRank, PersonalizationOfAnyMagnitude) {
  for (const double factor : {5e-324, 1e-300, 1e300}) {
    const std::vector<double> personalization{factor, 0, factor, 0};
    const auto result = pagerank(small_graph(), {.damping = 0.0, .personalization = personalization});
    EXPECT_EQ(result.ranks[2], 0.5);
  }
}

TEST(PageRank, WeightsArePreferences) {
  const Csr<double> adjacency = from_dense<double>({{0, 3, 1}, {1, 0, 0}, {1, 0, 0}}, 3);
  const auto result = pagerank(TransitionMatrix<double>(adjacency.view()), {.tolerance = 1e-15});
  const LongVector expected = pagerank_oracle(adjacency.view(), uniform_distribution(3), 0.85L, Dangling::teleport);
  EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-14L);
  EXPECT_GT(result.ranks[1], 1.9 * result.ranks[2]);
}

TEST(PageRank, EveryKernelAgreesWithTheOracleOnAPowerLawGraph) {
  const Csr<double> adjacency = rmat<double>({.scale = 12, .edge_factor = 6});
  const auto n = static_cast<std::size_t>(adjacency.rows());
  const LongVector expected = pagerank_oracle(adjacency.view(), uniform_distribution(n), 0.85L, Dangling::teleport);
  const TransitionMatrix<double> transition(adjacency.view());
  for (const SpmvAlgorithm algorithm : spmv_algorithms()) {
    if (algorithm == SpmvAlgorithm::patterns) continue;  // refuses rows that do not repeat
    PageRankOptions options{.tolerance = 1e-14};
    options.spmv.algorithm = algorithm;
    const auto result = pagerank(transition, options);
    EXPECT_TRUE(result.converged()) << result.reason;
    EXPECT_EQ(result.plan.algorithm, algorithm);
    EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-12L);
    EXPECT_NEAR(static_cast<double>(long_sum<double>(result.ranks.span())), 1.0, 1e-14);
    EXPECT_NEAR(result.sum, 1.0, 1e-14);
  }
}

TEST(PageRank, SinglePrecisionSumsToOneAndEndsAtItsAccuracy) {
  const Csr<float> adjacency = rmat<float>({.scale = 12, .edge_factor = 6});
  const auto n = static_cast<std::size_t>(adjacency.rows());
  const LongVector expected = pagerank_oracle(adjacency.view(), uniform_distribution(n), 0.85L, Dangling::teleport);
  const auto result = pagerank(TransitionMatrix<float>(adjacency.view()), {.tolerance = 1e-14});
  EXPECT_TRUE(result.status == Status::stagnated || result.change <= 1e-14) << result.reason;
  EXPECT_LT(result.iterations, 500) << "far from the limit";
  EXPECT_LE(l1_distance<float>(result.ranks.span(), expected), 1e-5L);
  EXPECT_NEAR(result.sum, 1.0, 1e-6);
  EXPECT_NEAR(static_cast<double>(long_sum<float>(result.ranks.span())), result.sum, 1e-15);
}

TEST(PageRank, ObserverHistoryAndTimeLimit) {
  std::vector<IterationInfo> seen;
  PageRankOptions options{.tolerance = 1e-14, .keep_history = true};
  options.observer = [&](const IterationInfo& info) {
    seen.push_back(info);
    return info.iteration == 4 ? Control::stop : Control::proceed;
  };
  const auto stopped = pagerank(small_graph(), options);
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_EQ(stopped.iterations, 4);
  EXPECT_TRUE(stopped.reason.starts_with("stopped by the observer after iteration 4; ")) << stopped.reason;
  PageRankOptions named = options;
  named.stop_cause = [] { return std::string("interrupted by Ctrl-C"); };
  const std::string reason = pagerank(small_graph(), named).reason;
  EXPECT_TRUE(reason.starts_with("interrupted by Ctrl-C after iteration 4; ")) << reason;
  seen.erase(seen.begin() + 5, seen.end());
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[0].iteration, 0);
  EXPECT_TRUE(std::isinf(seen[0].residual));
  ASSERT_EQ(stopped.history.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(stopped.history[i].recurrence, seen[i + 1].residual);
  EXPECT_EQ(stopped.history.back().recurrence, stopped.change);
  EXPECT_NEAR(static_cast<double>(long_sum<double>(stopped.ranks.span())), 1.0, 1e-15);

  const auto timed = pagerank(small_graph(), {.tolerance = 0.0, .time_limit_seconds = 0.0});
  EXPECT_EQ(timed.status, Status::time_limit);
  EXPECT_EQ(timed.iterations, 1);
}

/// No tolerance makes it run for ever.
TEST(PageRank, ZeroToleranceEndsAtTheFixedPointOrAtTheAttainableAccuracy) {
  const auto result = pagerank(TransitionMatrix<double>(rmat<double>({.scale = 9}).view()),
                               {.tolerance = 0.0, .max_iterations = 100000});
  EXPECT_TRUE(result.status == Status::converged || result.status == Status::stagnated) << result.reason;
  EXPECT_LE(result.change, 1e-14);
}

TEST(TopRanks, FallAndTiesGoToTheLowerVertex) {
  const std::vector<double> ranks{0.1, 0.3, 0.1, 0.3, 0.2};
  const auto vertices = [&](std::int64_t k) {
    std::vector<index_t> result;
    for (const RankedVertex& entry : top_ranks<double>(ranks, k)) {
      EXPECT_EQ(entry.rank, ranks[static_cast<std::size_t>(entry.vertex)]);
      result.push_back(entry.vertex);
    }
    return result;
  };
  EXPECT_EQ(vertices(0), std::vector<index_t>{});
  EXPECT_EQ(vertices(1), std::vector<index_t>{1});
  EXPECT_EQ(vertices(4), (std::vector<index_t>{1, 3, 4, 0}));
  EXPECT_EQ(vertices(99), (std::vector<index_t>{1, 3, 4, 0, 2}));
  EXPECT_THROW((void)top_ranks<double>(ranks, -1), InvalidArgument);
  EXPECT_TRUE(top_ranks<float>({}, 3).empty());
}

TEST(TopRanks, NanComesLast) {
  const std::vector<float> ranks{std::numeric_limits<float>::quiet_NaN(), 0.5F, 0.25F};
  const auto top = top_ranks<float>(ranks, 3);
  EXPECT_EQ(top[0].vertex, 1);
  EXPECT_EQ(top[2].vertex, 0);
}

TEST(PageRankNames, OfEveryEnumerator) {
  EXPECT_EQ(to_string(Dangling::teleport), "teleport");
  EXPECT_EQ(to_string(Dangling::uniform), "uniform");
  EXPECT_EQ(to_string(Dangling::self), "self");
  EXPECT_EQ(to_string(Dangling::drop), "drop");
  EXPECT_EQ(to_string(RankNorm::l1), "l1");
  EXPECT_EQ(to_string(RankNorm::l2), "l2");
  EXPECT_EQ(to_string(RankNorm::linf), "linf");
}

}  // namespace
}  // namespace tessera::testing
