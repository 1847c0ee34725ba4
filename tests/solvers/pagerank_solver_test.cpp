// PageRank kept for many solves, on the host: pagerank_test.cpp holds the function against an oracle.
#include "tests/solvers/pagerank_solver_cases.hpp"

#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/rank_oracle.hpp"

#include <limits>

namespace tessera {
namespace {

using testing::source_weights;

template <class T>
[[nodiscard]] Csr<T> weighted(const Csr<T>& graph) {
  Array<T> values(graph.nnz(), Init::none);
  for (offset_t k = 0; k < graph.nnz(); ++k) values[k] = static_cast<T>(1 + k % 5);
  return graph.with_values(std::move(values));
}

TEST(PageRankSolver, GivesTheBitsOfTheFunction) {
  for (const auto& [name, graph] : testing::small_graphs<double>()) {
    SCOPED_TRACE(name);
    PageRankOptions options;
    options.keep_history = true;
    options.dangling = graph.rows() % 2 == 0 ? Dangling::uniform : Dangling::teleport;
    testing::expect_bits_of_function(TransitionMatrix<double>(graph.view()), options);
  }
  const auto graph = weighted(rmat<float>({.scale = 7}));
  testing::expect_bits_of_function(TransitionMatrix<float>(graph.view()), {.tolerance = 1e-5});
}

TEST(PageRankSolver, WarmStartsReachTheSameRanks) {
  const Csr<double> graph = weighted(rmat<double>({.scale = 8}));
  const TransitionMatrix<double> transition(graph.view());
  const auto n = static_cast<std::size_t>(graph.rows());
  PageRankSolver<double> solver(transition, {.tolerance = 1e-13});
  std::vector<double> ranks(n);
  const std::int64_t cold = solver.solve({}, ranks).iterations;
  // From its own result, even scaled, nothing is left to do.
  for (double& rank : ranks) rank *= 3e200;
  const PageRankReport again = solver.solve({}, ranks, RankStart::given);
  EXPECT_TRUE(again.converged()) << again.reason;
  EXPECT_LE(again.iterations, 3);
  EXPECT_GT(cold, 20);
  // From a near distribution: fewer iterations, and the ranks of the oracle.
  std::vector<double> weights(n, 1.0);
  weights[5] = 1.5;
  const PageRankReport warm = solver.solve(weights, ranks, RankStart::given);
  testing::LongVector teleport(n);
  for (std::size_t i = 0; i < n; ++i) teleport[i] = weights[i] / (static_cast<long double>(n) + 0.5L);
  const auto expected = testing::pagerank_oracle(graph.view(), teleport, 0.85L, Dangling::teleport);
  EXPECT_LE(static_cast<double>(testing::l1_distance<double>(ranks, expected)), 1e-12);
  EXPECT_LT(warm.iterations, cold);
  EXPECT_NEAR(warm.sum, 1.0, 1e-14);
}

TEST(PageRankSolver, Refusals) {
  const TransitionMatrix<double> transition(testing::chain<double>(6).view());
  const std::vector<double> weights(6, 1.0);
  EXPECT_THROW(PageRankSolver<double>(transition, {.personalization = weights}), InvalidArgument);
  EXPECT_THROW(PageRankSolver<double>(transition, {.damping = 1.0}), InvalidArgument);
  PageRankSolver<double> solver(transition);
  EXPECT_EQ(solver.options().damping, 0.85);
  std::vector<double> ranks(6, 0.0);
  std::vector<double> few(5);
  EXPECT_THROW((void)solver.solve({}, few), DimensionError);
  EXPECT_THROW((void)solver.solve(few, ranks), DimensionError);
  EXPECT_THROW((void)solver.solve(std::vector<double>(6, 0.0), ranks), InvalidArgument);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, none, 1e-320, std::numeric_limits<double>::infinity()}) {
    ranks[0] = bad;
    EXPECT_THROW((void)solver.solve({}, ranks, RankStart::given), InvalidArgument) << bad;
  }
  EXPECT_TRUE(solver.solve(weights, ranks).converged());
  EXPECT_NEAR(ranks[0] + ranks[1] + ranks[2] + ranks[3] + ranks[4] + ranks[5], 1.0, 1e-15);
}

TEST(PageRankSolver, EmptyGraphAndMoves) {
  const TransitionMatrix<double> none(Csr<double>{}.view());
  PageRankSolver<double> solver(none);
  std::vector<double> ranks;
  EXPECT_TRUE(solver.solve({}, ranks).converged());
  const TransitionMatrix<double> one(testing::chain<double>(1).view());
  solver = PageRankSolver<double>(one);
  ranks.resize(1);
  PageRankSolver<double> moved(std::move(solver));
  EXPECT_TRUE(moved.solve({}, ranks).converged());
  EXPECT_EQ(ranks[0], 1.0);
}

}  // namespace
}  // namespace tessera
