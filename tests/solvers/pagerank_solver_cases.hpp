/// \file
/// Solves by a PageRankSolver beside those of pagerank(), on any device.
#pragma once

#include "tessera/pagerank_solver.hpp"
#include "tests/solvers/rank_graphs.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tessera::testing {

/// Weights of many sizes on some vertices, others for every k.
[[nodiscard]] inline std::vector<double> source_weights(index_t n, std::size_t k) {
  std::vector<double> weights(static_cast<std::size_t>(n), 0.0);
  for (std::size_t i = k % weights.size(); i < weights.size(); i += k + 2)
    weights[i] = 0.3 + static_cast<double>(i % 7);
  return weights;
}

/// Elements of a device, on the host.
template <class T>
[[nodiscard]] std::vector<T> fetched(const Array<T>& elements) {
  const Array<T> on_host = elements.to(Device{});
  return {on_host.begin(), on_host.end()};
}

inline void expect_same(const PageRankReport& a, const PageRankReport& b) {
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.spmv_count, b.spmv_count);
  EXPECT_EQ(a.change, b.change);
  EXPECT_EQ(a.sum, b.sum);
  EXPECT_EQ(a.dangling_count, b.dangling_count);
  EXPECT_EQ(a.plan.reason, b.plan.reason);
  EXPECT_EQ(a.history.size(), b.history.size());
}

/// The order of uniform and personalized solves, by number of the weights; 0: uniform.
inline constexpr std::size_t solve_order[] = {0, 1, 2, 0, 3, 1};

/// Solves by one solver and by the function. \param solves of the order above
template <class T>
void expect_bits_of_function(const TransitionMatrix<T>& transition, PageRankOptions options, std::size_t solves = 6) {
  const Device home = transition.device();
  const index_t n = transition.vertices();
  PageRankSolver<T> solver(transition, options);
  Array<T> ranks(n, Init::zero, home);
  for (std::size_t s = 0; s < solves; ++s) {
    SCOPED_TRACE("solve " + std::to_string(s));
    const std::size_t k = solve_order[s];
    const auto weights =
        k == 0 ? Array<double>(0, Init::none, home) : Array<double>::copy_of(source_weights(n, k), home);
    const PageRankReport report = solver.solve(weights.span(), ranks.span());
    options.personalization = weights.span();
    const PageRankResult<T> expected = pagerank(transition, options);
    expect_same(report, expected);
    EXPECT_EQ(expected.ranks.device(), home);
    EXPECT_EQ(fetched(ranks), fetched(expected.ranks));
  }
}

}  // namespace tessera::testing
