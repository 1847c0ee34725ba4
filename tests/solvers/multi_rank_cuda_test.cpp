/// PageRank of several vectors per product on a GPU, against the host.
#include "tests/solvers/rank_graphs.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// Weights on some vertices, others for each vector; none at all for the second one, which is uniform.
std::vector<std::vector<double>> sources_of(index_t n, std::size_t count) {
  std::vector<std::vector<double>> sources(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (k == 1) continue;
    sources[k].assign(static_cast<std::size_t>(n), 0.0);
    for (std::size_t i = k; i < sources[k].size(); i += 2 * k + 3) sources[k][i] = static_cast<double>(1 + i % 3);
    sources[k].back() += 1.0;
  }
  return sources;
}

std::vector<std::span<const double>> spans_of(const std::vector<std::vector<double>>& sources) {
  return {sources.begin(), sources.end()};
}

PageRankOptions on_gpu(PageRankOptions options) {
  options.spmv.device = Device::cuda(0);
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  return options;
}

template <class T>
void expect_as_on_host(const Csr<T>& graph, std::size_t count, const PageRankOptions& options) {
  const TransitionMatrix<T> transition(graph.view());
  const auto sources = sources_of(graph.rows(), count);
  const auto spans = spans_of(sources);
  const auto expected = pagerank_multi<T>(transition, spans, options);
  const auto found = pagerank_multi<T>(transition, spans, on_gpu(options));
  ASSERT_EQ(found.size(), count);
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::size_t k = 0; k < count; ++k) {
    SCOPED_TRACE("vector " + std::to_string(k));
    ASSERT_EQ(found[k].status, expected[k].status) << found[k].reason << "\nhost: " << expected[k].reason;
    ASSERT_LE(std::abs(found[k].iterations - expected[k].iterations), 1 + expected[k].iterations / 20);
    ASSERT_NEAR(found[k].sum, 1.0, sizeof(T) == 8 ? 1e-14 : 1e-6);
    const LongVector ranks(expected[k].ranks.begin(), expected[k].ranks.end());
    ASSERT_LE(static_cast<double>(l1_distance<T>(found[k].ranks.span(), ranks)),
              20 * options.tolerance + 300 * epsilon);
  }
}

class MultiPageRank : public CudaTest {};

template <class T>
void check_small_graphs(double tolerance) {
  std::size_t number = 0;
  for (const auto& [name, graph] : small_graphs<T>()) {
    for (const Dangling policy : policies) {
      PageRankOptions options;
      options.tolerance = tolerance;
      options.max_iterations = repetitions(1000, 6);
      options.dangling = policy;
      const std::size_t count = 1 + number++ % 11;
      expect_as_on_host(graph, count, options);
      ASSERT_FALSE(::testing::Test::HasFatalFailure()) << name << ", " << to_string(policy) << ", " << count;
    }
  }
}

TEST_F(MultiPageRank, SmallGraphsDouble) { check_small_graphs<double>(1e-10); }
TEST_F(MultiPageRank, SmallGraphsFloat) { check_small_graphs<float>(1e-4); }

/// The row of a hub spans thousands of tiles, whose carries whole blocks add for each vector.
TEST_F(MultiPageRank, HubOverManyTiles) {
  PageRankOptions options;
  options.tolerance = 0.0;
  options.max_iterations = 3;
  expect_as_on_host(star<double>(repetitions(2000000, 30000)), 6, options);
}

/// Vectors that have ended keep their ranks while others go on.
TEST_F(MultiPageRank, VectorsEndForReasonsOfTheirOwn) {
  // Two vertices that link to each other, and 40 by themselves: from one of these the first iteration changes nothing.
  std::vector<std::vector<index_t>> links{{1}, {0}};
  for (index_t i = 2; i < 42; ++i) links.push_back({i});
  const auto graph = pattern_of<double>(links);
  const TransitionMatrix<double> transition(graph.view());
  std::vector<std::vector<double>> sources(4, std::vector<double>(42));
  sources[0][0] = 1.0;
  sources[1][20] = 1.0;
  sources[2][0] = sources[2][5] = 1.0;
  sources[3][41] = 1.0;
  PageRankOptions options;
  options.tolerance = 1e-6;
  options.max_iterations = 9;
  options.keep_history = true;
  const auto found = pagerank_multi<double>(transition, spans_of(sources), on_gpu(options));
  const auto expected = pagerank_multi<double>(transition, spans_of(sources), options);
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(found[k].status, k % 2 == 0 ? Status::max_iterations : Status::converged) << k;
    EXPECT_EQ(found[k].iterations, k % 2 == 0 ? 9 : 1) << k;
    EXPECT_EQ(found[k].history.size(), static_cast<std::size_t>(found[k].iterations));
    const LongVector ranks(expected[k].ranks.begin(), expected[k].ranks.end());
    EXPECT_LE(l1_distance<double>(found[k].ranks.span(), ranks), 1e-15L) << k;
  }
}

TEST_F(MultiPageRank, RepeatsBitwise) {
  const auto graph = with_row_lengths<double>(power_law_lengths(900, 800, 5), 900, ValueStorage::pattern, 7);
  const TransitionMatrix<double> transition(graph.view());
  const auto sources = sources_of(900, 4);
  PageRankOptions options;
  options.max_iterations = 5;
  const auto first = pagerank_multi<double>(transition, spans_of(sources), on_gpu(options));
  for (int run = 0; run < repetitions(10, 2); ++run) {
    const auto again = pagerank_multi<double>(transition, spans_of(sources), on_gpu(options));
    for (std::size_t k = 0; k < 4; ++k) {
      ASSERT_EQ(std::vector<double>(again[k].ranks.begin(), again[k].ranks.end()),
                std::vector<double>(first[k].ranks.begin(), first[k].ranks.end()));
      ASSERT_EQ(again[k].change, first[k].change);
    }
  }
}

TEST_F(MultiPageRank, TheLayoutExactTakesOneVectorAfterTheOther) {
  PageRankOptions options;
  options.max_iterations = 5;
  const auto graph = chain<double>(60);
  const TransitionMatrix<double> transition(graph.view());
  const auto sources = sources_of(60, 3);
  PageRankOptions exact = on_gpu(options);
  exact.spmv.sigma = 7;
  const auto found = pagerank_multi<double>(transition, spans_of(sources), exact);
  const auto expected = pagerank_multi<double>(transition, spans_of(sources), options);
  ASSERT_EQ(found.size(), 3U);
  for (std::size_t k = 0; k < 3; ++k) {
    const LongVector ranks(expected[k].ranks.begin(), expected[k].ranks.end());
    EXPECT_LE(l1_distance<double>(found[k].ranks.span(), ranks), 1e-14L) << k;
  }
}

TEST_F(MultiPageRank, EmptyGraph) {
  const std::vector<std::span<const double>> three(3);
  const auto none = pagerank_multi<double>(TransitionMatrix<double>(Csr<double>{}.view()), three, on_gpu({}));
  ASSERT_EQ(none.size(), 3U);
  EXPECT_TRUE(none[2].converged());
}

}  // namespace
}  // namespace tessera::testing
