/// PageRank by fused products of row patterns on a GPU, of one vector and of several, against the host.
#include "spmv/patterns/patterns.hpp"
#include "tests/solvers/rank_graphs.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/cuda_test.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

/// A grid whose vertices link to those around them, up to `reach` in both directions, but for one link in 1000; among
/// them `hubs` to which others link from anywhere: rows of the in-links on no list.
template <class T>
Csr<T> grid_graph(index_t nx, index_t ny, index_t reach, int hubs) {
  std::mt19937 random(5);
  const index_t n = nx * ny;
  std::vector<std::vector<bool>> links(static_cast<std::size_t>(n), std::vector<bool>(static_cast<std::size_t>(n)));
  for (index_t i = 0; i < n; ++i) {
    const index_t column = i % nx;
    for (index_t dy = -reach; dy <= reach; ++dy) {
      for (index_t dx = -reach; dx <= reach; ++dx) {
        const index_t row = i / nx + dy;
        const bool inside = column + dx >= 0 && column + dx < nx && row >= 0 && row < ny;
        const bool is_near = reach > 1 || dx == 0 || dy == 0;
        if (!inside || !is_near || (dx == 0 && dy == 0) || random() % 1000 == 0) continue;
        links[static_cast<std::size_t>(i)][static_cast<std::size_t>(row * nx + column + dx)] = true;
      }
    }
  }
  for (int hub = 0; hub < hubs; ++hub) {
    const std::size_t to = random() % static_cast<std::size_t>(n);
    for (unsigned k = 0; k < 40 + 60 * static_cast<unsigned>(hub); ++k) {
      links[random() % static_cast<std::size_t>(n)][to] = true;
    }
  }
  std::vector<std::vector<index_t>> lists(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (links[i][static_cast<std::size_t>(j)]) lists[i].push_back(j);
    }
  }
  // Some vertices link to nothing.
  for (std::size_t i = 7; i < lists.size(); i += 400) lists[i].clear();
  return pattern_of<T>(lists);
}

template <class T>
std::vector<std::pair<std::string, Csr<T>>> grid_graphs() {
  std::vector<std::pair<std::string, Csr<T>>> graphs;
  graphs.emplace_back("grid", grid_graph<T>(37, 31, 1, 0));
  graphs.emplace_back("grid with hubs", grid_graph<T>(40, 30, 1, 4));
  graphs.emplace_back("24 links per vertex", grid_graph<T>(40, 30, 2, 3));
  graphs.emplace_back("48 links per vertex", grid_graph<T>(25, 20, 3, 3));
  graphs.emplace_back("chain", chain<T>(500));
  graphs.emplace_back("self loops", self_loops<T>(300));
  graphs.emplace_back("all dangling", pattern_of<T>(std::vector<std::vector<index_t>>(70)));
  graphs.emplace_back("one vertex", pattern_of<T>({{}}));
  return graphs;
}

std::vector<std::vector<double>> sources_of(index_t n, std::size_t count) {
  std::vector<std::vector<double>> sources(count);
  for (std::size_t k = 0; k < count; ++k) {
    if (k == 1) continue;  // uniform
    sources[k].assign(static_cast<std::size_t>(n), 0.0);
    for (std::size_t i = k; i < sources[k].size(); i += 2 * k + 3) sources[k][i] = static_cast<double>(1 + i % 3);
    sources[k].back() += 1.0;
  }
  return sources;
}

PageRankOptions by_patterns(PageRankOptions options) {
  options.spmv.device = Device::cuda(0);
  options.spmv.algorithm = SpmvAlgorithm::patterns;
  return options;
}

template <class T>
void expect_as_on_host(const PageRankResult<T>& found, const PageRankResult<T>& expected, double tolerance) {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  ASSERT_EQ(found.status, expected.status) << found.reason << "\nhost: " << expected.reason;
  ASSERT_LE(std::abs(found.iterations - expected.iterations), 1 + expected.iterations / 20);
  ASSERT_NEAR(found.sum, 1.0, sizeof(T) == 8 ? 1e-14 : 1e-6);
  const LongVector ranks(expected.ranks.begin(), expected.ranks.end());
  ASSERT_LE(static_cast<double>(l1_distance<T>(found.ranks.span(), ranks)), 20 * tolerance + 300 * epsilon);
}

template <class T>
void check_counts(const Csr<T>& graph, PageRankOptions options) {
  const TransitionMatrix<T> transition(graph.view());
  for (const std::size_t count : {1U, 2U, 3U, 4U, 8U, 11U}) {
    if (gpu_is_emulated && count > 4 && graph.rows() > 1000) continue;
    SCOPED_TRACE(std::to_string(count) + " vectors");
    const auto sources = sources_of(graph.rows(), count);
    const std::vector<std::span<const double>> spans(sources.begin(), sources.end());
    const auto expected = pagerank_multi<T>(transition, spans, options);
    const auto found = pagerank_multi<T>(transition, spans, by_patterns(options));
    ASSERT_EQ(found.size(), count);
    for (std::size_t k = 0; k < count; ++k) expect_as_on_host(found[k], expected[k], options.tolerance);
  }
}

class PatternPageRank : public CudaTest {};

TEST_F(PatternPageRank, SeveralVectors) {
  PageRankOptions options;
  options.max_iterations = repetitions(1000, 6);
  for (const auto& [name, graph] : grid_graphs<double>()) {
    SCOPED_TRACE(name);
    options.tolerance = 1e-10;
    check_counts(graph, options);
  }
  for (const auto& [name, graph] : grid_graphs<float>()) {
    SCOPED_TRACE(name + ", float");
    options.tolerance = 1e-4;
    check_counts(graph, options);
  }
}

TEST_F(PatternPageRank, EveryPolicyAndNorm) {
  const auto graph = grid_graph<double>(40, 30, 1, 4);
  const TransitionMatrix<double> transition(graph.view());
  for (const Dangling policy : policies) {
    for (const RankNorm norm : {RankNorm::l1, RankNorm::l2, RankNorm::linf}) {
      PageRankOptions options;
      options.dangling = policy;
      options.norm = norm;
      options.tolerance = 1e-9;
      options.max_iterations = repetitions(1000, 8);
      const auto expected = pagerank(transition, options);
      const auto found = pagerank(transition, by_patterns(options));
      expect_as_on_host(found, expected, options.tolerance);
      EXPECT_EQ(found.plan.algorithm, SpmvAlgorithm::patterns);
      EXPECT_EQ(found.plan.determinism, Determinism::run_to_run);
      EXPECT_NEAR(found.change, expected.change, 1e-6 * expected.change);
    }
  }
}

TEST_F(PatternPageRank, IsFusedAndRepeatsBitwise) {
  const auto graph = grid_graph<float>(40, 30, 1, 4);
  const TransitionMatrix<float> transition(graph.view());
  const Csr<float> links = transition.in_links()->to(gpu());
  SpmvOptions spmv;
  spmv.device = gpu();
  const auto kernel = cuda::make_patterns_kernel<float>(links.view(), spmv);
  for (const int vectors : {1, 2, 4, 8}) EXPECT_NE(kernel->make_rank_product(links.view(), vectors), nullptr);
  EXPECT_EQ(kernel->make_rank_product(links.view(), 3), nullptr);
  PageRankOptions options;
  options.tolerance = 1e-4;
  options.max_iterations = repetitions(100, 6);
  const auto first = pagerank(transition, by_patterns(options));
  for (int run = 0; run < repetitions(10, 2); ++run) {
    const auto again = pagerank(transition, by_patterns(options));
    ASSERT_EQ(std::vector<float>(again.ranks.begin(), again.ranks.end()),
              std::vector<float>(first.ranks.begin(), first.ranks.end()));
    ASSERT_EQ(again.change, first.change);
  }
}

/// Matrices with values have weights that no list names.
TEST_F(PatternPageRank, WeightedGraphsTakeTheirProduct) {
  const auto weighted = with_row_lengths<double>(lengths_of(60, 5), 60, ValueStorage::weighted, 3);
  const Csr<double> on_gpu = weighted.to(gpu());
  SpmvOptions spmv;
  spmv.device = gpu();
  const auto kernel = cuda::make_patterns_kernel<double>(on_gpu.view(), spmv);
  EXPECT_EQ(kernel->make_rank_product(on_gpu.view(), 1), nullptr);
}

}  // namespace
}  // namespace tessera::testing
