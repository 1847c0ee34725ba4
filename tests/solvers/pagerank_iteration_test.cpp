/// PageRank, the part that host and GPU share: the inverse of a degree, the update of a scaled rank, the weights and
/// the end of an iteration.
#include "spmv/common/pagerank_iteration.hpp"

#include "solvers/pagerank.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

TEST(ScaledRank, InverseOfEveryDegreeIsExactToRounding) {
  std::vector<index_t> degrees{std::numeric_limits<index_t>::max(), std::numeric_limits<index_t>::max() - 1};
  for (index_t d = 1; d < 100000; ++d) degrees.push_back(d);
  for (int k = 1; k < 31; ++k) degrees.push_back(index_t{1} << k);
  for (const index_t d : degrees) {
    const double exact = 1.0 / d;
    ASSERT_LE(std::abs(detail::inverse_divisor(detail::rank_divisor(d)) - exact), epsilon * exact) << d;
  }
  EXPECT_EQ(detail::rank_divisor(0), 1.0) << "a vertex without out-links";
  EXPECT_EQ(detail::inverse_divisor(1.0), 1.0);
  EXPECT_EQ(detail::inverse_divisor(4096.0), 1.0 / 4096.0);
}

/// Some vertices dangle, some link to themselves.
Csr<double> random_graph(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<std::vector<double>> dense(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) dense[i][j] = i % 5 != 2 && generator() % 4 == 0 ? 1.0 : 0.0;
  }
  return from_dense<double>(dense, static_cast<index_t>(n));
}

std::vector<double> teleport_of(std::size_t n, bool personalised) {
  std::vector<double> v(n, 1.0 / static_cast<double>(n));
  if (personalised) {
    for (std::size_t i = 0; i < n; ++i) v[i] = i == 3 ? 0.75 : i == 2 ? 0.25 : 0.0;
  }
  return v;
}

/// The fused iteration by plain loops.
template <class T>
struct ScaledIteration {
  const TransitionMatrix<double>& transition;
  std::vector<T> teleport;
  detail::RankRules rules;
  std::vector<T> y;
  detail::RankState state;

  ScaledIteration(const TransitionMatrix<double>& graph, const std::vector<double>& v, const PageRankOptions& options)
      : transition(graph),
        teleport(v.begin(), v.end()),
        rules(detail::rank_rules<T>(options, graph.vertices())),
        y(v.size()) {
    detail::RankSums sums;
    const T* const given = rules.uniform_teleport ? nullptr : teleport.data();
    const detail::PagerankStartScaled<T> start{1.0 / rules.vertices, given, graph.out_degree().data(), y.data()};
    for (std::size_t i = 0; i < y.size(); ++i) start(static_cast<std::int64_t>(i), sums);
    state = detail::first_rank_state(rules, sums);
  }

  void iterate() {
    const CsrView<double> links = transition.in_links()->view();
    std::vector<T> next(y.size());
    detail::RankSums sums;
    for (std::size_t i = 0; i < y.size(); ++i) {
      T sum{0};
      for (offset_t k = links.row_offsets[i]; k < links.row_offsets[i + 1]; ++k) {
        sum += y[static_cast<std::size_t>(links.columns[static_cast<std::size_t>(k)])];
      }
      detail::RankParts parts;
      next[i] = detail::update_scaled_rank(state.weights, sum, teleport[i], transition.out_degree()[i], y[i],
                                           rules.norm, parts);
      sums += parts.sums(rules.norm);
    }
    y = std::move(next);
    detail::finish_iteration(rules, state, sums);
  }

  [[nodiscard]] std::vector<T> ranks() const {
    std::vector<T> x(y.size());
    detail::CompensatedSum sum;
    const detail::PagerankUnscale<T> unscale{1.0 / state.sums.total.value(), y.data(), transition.out_degree().data(),
                                             x.data()};
    for (std::size_t i = 0; i < y.size(); ++i) unscale(static_cast<std::int64_t>(i), sum);
    return x;
  }
};

class ScaledSteps : public ::testing::TestWithParam<Dangling> {};
INSTANTIATE_TEST_SUITE_P(PageRank, ScaledSteps,
                         ::testing::Values(Dangling::teleport, Dangling::uniform, Dangling::self, Dangling::drop),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

TEST_P(ScaledSteps, FollowTheDefinition) {
  constexpr std::size_t n = 23;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Csr<double> adjacency = random_graph(n, seed);
    const TransitionMatrix<double> transition(adjacency.view());
    ASSERT_TRUE(transition.in_links()->is_pattern());
    for (const bool personalised : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", personalised " << personalised);
      const std::vector<double> v = teleport_of(n, personalised);
      PageRankOptions options;
      options.dangling = GetParam();
      options.tolerance = 1e-12;
      if (personalised) options.personalization = v;
      ScaledIteration<double> wide(transition, v, options);
      ScaledIteration<float> narrow(transition, v, options);
      LongVector expected(v.begin(), v.end());
      for (int step = 0; step < 20; ++step) {
        const LongVector before = expected;
        expected = pagerank_step(adjacency.view(), before, LongVector(v.begin(), v.end()), 0.85L, GetParam());
        wide.iterate();
        narrow.iterate();
        long double change = 0;
        for (std::size_t i = 0; i < n; ++i) change += std::abs(expected[i] - before[i]);
        ASSERT_NEAR(wide.state.norm, static_cast<double>(change), 1e-14);
        ASSERT_NEAR(wide.state.sums.total.value(), 1.0, 1e-15);
        ASSERT_LE(l1_distance<double>(wide.ranks(), expected), 1e-14L) << "step " << step;
        ASSERT_LE(l1_distance<float>(narrow.ranks(), expected), 4e-6L) << "step " << step;
      }
    }
  }
}

/// Sums of an iteration with the given change in every norm.
detail::RankSums moved_by(double change) {
  detail::RankSums sums;
  sums.total.add(1.0);
  sums.l1 = change;
  sums.squares = change * change;
  sums.largest.value = change;
  return sums;
}

detail::RankRules rules_of(double tolerance, std::int64_t max_iterations) {
  PageRankOptions options;
  options.tolerance = tolerance;
  options.max_iterations = max_iterations;
  return detail::rank_rules<double>(options, 10);
}

TEST(RankState, EndsWhereTheToleranceHolds) {
  const detail::RankRules rules = rules_of(0.25, 10);
  detail::RankState state = detail::first_rank_state(rules, moved_by(0.0));
  EXPECT_EQ(state.halt, 0);
  EXPECT_TRUE(std::isinf(state.norm));
  detail::finish_iteration(rules, state, moved_by(0.5));
  EXPECT_EQ(state.halt, 0);
  detail::finish_iteration(rules, state, moved_by(0.25));
  EXPECT_NE(state.halt, 0);
  EXPECT_EQ(state.status, Status::converged);
  EXPECT_EQ(state.iteration, 2);
  EXPECT_EQ(state.changes[1], 0.5);
  EXPECT_EQ(state.changes[2], 0.25);
}

TEST(RankState, EndsAtTheLimitAndBeforeTheFirstStepOfNone) {
  const detail::RankRules rules = rules_of(0.0, 3);
  detail::RankState state = detail::first_rank_state(rules, moved_by(0.0));
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(state.halt, 0);
    detail::finish_iteration(rules, state, moved_by(0.5));
  }
  EXPECT_NE(state.halt, 0);
  EXPECT_EQ(state.status, Status::max_iterations);
  EXPECT_NE(detail::first_rank_state(rules_of(0.0, 0), moved_by(0.0)).halt, 0);
}

TEST(RankState, NoNumberEndsBeforeAnythingElse) {
  const detail::RankRules rules = rules_of(0.25, 1);
  detail::RankState state = detail::first_rank_state(rules, moved_by(0.0));
  detail::RankSums sums = moved_by(0.1);
  sums.total.add(std::numeric_limits<double>::quiet_NaN());
  detail::finish_iteration(rules, state, sums);
  EXPECT_EQ(state.status, Status::not_finite);
}

TEST(RankState, StagnatesOnlyAtTheLevelOfRounding) {
  for (const double change : {100 * epsilon, 1e-3}) {
    const detail::RankRules rules = rules_of(0.0, 1000);
    detail::RankState state = detail::first_rank_state(rules, moved_by(0.0));
    for (std::int64_t step = 0; step <= detail::stagnation_window; ++step) {
      EXPECT_EQ(state.halt, 0) << step;
      detail::finish_iteration(rules, state, moved_by(change));
    }
    EXPECT_EQ(state.halt != 0, change < 1e-6);
    if (state.halt != 0) {
      EXPECT_EQ(state.status, Status::stagnated);
    }
    EXPECT_EQ(state.best_iteration, 1);
  }
}

TEST(RankState, MeasuresInTheNormAskedFor) {
  detail::RankSums sums = moved_by(0.0);
  sums.l1 = 3.0;
  sums.squares = 4.0;
  sums.largest.value = 1.5;
  EXPECT_EQ(detail::rank_change(sums, RankNorm::l1), 3.0);
  EXPECT_EQ(detail::rank_change(sums, RankNorm::l2), 2.0);
  EXPECT_EQ(detail::rank_change(sums, RankNorm::linf), 1.5);
}

}  // namespace
}  // namespace tessera::testing
