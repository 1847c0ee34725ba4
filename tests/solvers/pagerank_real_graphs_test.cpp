/// Real graphs against the long-double power method by out-links.
#include "tessera/matrix_market.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera::testing {
namespace {

TEST(PageRankRealGraphs, AgreeWithTheOracleAndSumToOne) {
  TESSERA_REQUIRE_REAL_MATRICES();
  int graphs = 0;
  for (const auto& file : real_matrix_files()) {
    const auto graph = read_matrix_market<double>(file);
    const CsrView<double> adjacency = graph.matrix.view();
    if (!adjacency.is_pattern() || !adjacency.is_square()) continue;
    SCOPED_TRACE(matrix_name(file));
    ++graphs;
    const auto n = static_cast<std::size_t>(adjacency.rows);
    const LongVector expected = pagerank_oracle(adjacency, uniform_distribution(n), 0.85L, Dangling::teleport);
    const auto result = pagerank(TransitionMatrix<double>(adjacency), {.tolerance = 2e-14});
    EXPECT_EQ(result.status, Status::converged) << result.reason;
    EXPECT_LE(l1_distance<double>(result.ranks.span(), expected), 1e-12L);
    EXPECT_NEAR(static_cast<double>(long_sum<double>(result.ranks.span())), 1.0, 1e-14);
  }
  EXPECT_GE(graphs, 10) << "the directory holds at least the graphs of the collection";
}

/// Published (networkx, damping 0.85): the instructor (1) and the president (34) lead, 34 first.
TEST(PageRankRealGraphs, KarateClubLeaders) {
  TESSERA_REQUIRE_REAL_MATRICES();
  const auto graph = read_matrix_market<double>(*real_matrices_dir() / "karate.mtx.gz");
  const auto result = pagerank(TransitionMatrix<double>(graph.matrix.view()), {.tolerance = 1e-14});
  const auto top = top_ranks<double>(result.ranks.span(), 2);
  EXPECT_EQ(top[0].vertex + 1, 34);
  EXPECT_NEAR(top[0].rank, 0.1009, 5e-5);
  EXPECT_EQ(top[1].vertex + 1, 1);
  EXPECT_NEAR(top[1].rank, 0.0970, 5e-5);
}

}  // namespace
}  // namespace tessera::testing
