// PageRank of a graph in the memory of a GPU, by the function and by a PageRankSolver.
#include "tests/solvers/pagerank_solver_cases.hpp"

#include "tessera/context.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/solvers/rank_oracle.hpp"
#include "tests/support/cuda_test.hpp"

#include <cmath>

#ifdef TESSERA_EMULATED_GPU
#include "tests/emulator/copies.hpp"
#endif

namespace tessera {
namespace {

using testing::fetched;
using testing::source_weights;

template <class T>
[[nodiscard]] Csr<T> weighted(const Csr<T>& graph) {
  Array<T> values(graph.nnz(), Init::none);
  for (offset_t k = 0; k < graph.nnz(); ++k) values[k] = static_cast<T>(1 + k % 5);
  return graph.with_values(std::move(values));
}

/// Copied from the GPU so far; 0 on a true one, which does not tell.
[[nodiscard]] std::uint64_t bytes_to_host() {
#ifdef TESSERA_EMULATED_GPU
  return emulator::bytes_to_host();
#else
  return 0;
#endif
}

class RanksOnDevice : public testing::CudaTest {
 protected:
  /// Kernels with a fused product, and one without.
  static constexpr SpmvAlgorithm kernels[] = {SpmvAlgorithm::merbit, SpmvAlgorithm::patterns, SpmvAlgorithm::blocked,
                                              SpmvAlgorithm::csr_vector};
};

TEST_F(RanksOnDevice, AgreeWithAGraphOnTheHost) {
  const Csr<double> graph = rmat<double>({.scale = testing::repetitions(10, 6)});
  const index_t n = graph.rows();
  const auto weights = source_weights(n, 1);
  for (const bool is_weighted : {false, true}) {
    const Csr<double> adjacency = is_weighted ? weighted(graph) : graph.structure();
    const TransitionMatrix<double> on_host(adjacency.view());
    const TransitionMatrix<double> on_gpu(adjacency.to(gpu()).view(), gpu());
    const auto weights_there = Array<double>::copy_of(weights, gpu());
    PageRankOptions options;
    options.tolerance = 1e-12;
    const PageRankResult<double> found = pagerank(on_gpu, options);
    EXPECT_EQ(found.ranks.device(), gpu());
    EXPECT_EQ(found.timings.download_ms, 0.0);
    options.spmv.device = gpu();
    const PageRankResult<double> expected = pagerank(on_host, options);
    testing::expect_same(found, expected);
    EXPECT_EQ(fetched(found.ranks), fetched(expected.ranks));
    // The weights are added in another order than on the host.
    options.personalization = weights_there.span();
    const auto there = fetched(pagerank(on_gpu, options).ranks);
    options.personalization = weights;
    const auto here = fetched(pagerank(on_host, options).ranks);
    double distance = 0.0;
    for (std::size_t i = 0; i < here.size(); ++i) distance += std::abs(here[i] - there[i]);
    EXPECT_LE(distance, 1e-11);
  }
}

TEST_F(RanksOnDevice, SeveralVectors) {
  const Csr<double> graph = rmat<double>({.scale = testing::repetitions(9, 5)}).structure();
  const TransitionMatrix<double> transition(graph.to(gpu()).view(), gpu());
  const auto first = Array<double>::copy_of(source_weights(graph.rows(), 1), gpu());
  const auto third = Array<double>::copy_of(source_weights(graph.rows(), 3), gpu());
  const std::vector<std::span<const double>> all{first.span(), {}, third.span()};
  const auto found = pagerank_multi<double>(transition, all, {.tolerance = 1e-12});
  for (std::size_t k = 0; k < all.size(); ++k) {
    const auto alone = fetched(pagerank(transition, {.tolerance = 1e-12, .personalization = all[k]}).ranks);
    EXPECT_EQ(found[k].ranks.device(), gpu());
    const auto beside = fetched(found[k].ranks);
    double distance = 0.0;
    for (std::size_t i = 0; i < alone.size(); ++i) distance += std::abs(alone[i] - beside[i]);
    EXPECT_LE(distance, 1e-11);
  }
}

TEST_F(RanksOnDevice, SolverGivesTheBitsOfTheFunction) {
  const std::size_t solves = testing::repetitions(1, 0) == 0 ? 4 : 6;
  for (const SpmvAlgorithm kernel : kernels) {
    SCOPED_TRACE(to_string(kernel));
    PageRankOptions options;
    options.max_iterations = testing::repetitions(1000, 12);
    options.spmv.algorithm = kernel;
    const Csr<double> graph = testing::star<double>(40);
    testing::expect_bits_of_function(TransitionMatrix<double>(graph.to(gpu()).view(), gpu()), options, solves);
    if (kernel == SpmvAlgorithm::patterns) continue;
    // A graph on the host, iterated on the GPU.
    options.spmv.device = gpu();
    testing::expect_bits_of_function(TransitionMatrix<double>(graph.view()), options, solves);
  }
  const auto graph = weighted(rmat<float>({.scale = 5}));
  testing::expect_bits_of_function(TransitionMatrix<float>(graph.to(gpu()).view(), gpu()), {.tolerance = 1e-5}, solves);
}

TEST_F(RanksOnDevice, WarmStart) {
  const Csr<double> graph = rmat<double>({.scale = testing::repetitions(10, 6)}).structure();
  for (const SpmvAlgorithm kernel : {SpmvAlgorithm::merbit, SpmvAlgorithm::csr_vector}) {
    const TransitionMatrix<double> transition(graph.to(gpu()).view(), gpu());
    PageRankOptions options;
    options.tolerance = 1e-12;
    options.spmv.algorithm = kernel;
    PageRankSolver<double> solver(transition, options);
    Array<double> ranks(graph.rows(), Init::zero, gpu());
    EXPECT_THROW((void)solver.solve({}, ranks.span(), RankStart::given), InvalidArgument);
    EXPECT_GT(solver.solve({}, ranks.span()).iterations, 10);
    EXPECT_LE(solver.solve({}, ranks.span(), RankStart::given).iterations, 3);
    std::vector<double> weights(static_cast<std::size_t>(graph.rows()), 1.0);
    weights[3] = 1.25;
    const auto there = Array<double>::copy_of(weights, gpu());
    ASSERT_TRUE(solver.solve(there.span(), ranks.span(), RankStart::given).converged());
    testing::LongVector teleport(weights.begin(), weights.end());
    for (long double& v : teleport) v /= static_cast<long double>(graph.rows()) + 0.25L;
    const auto expected = testing::pagerank_oracle(graph.view(), teleport, 0.85L, Dangling::teleport);
    EXPECT_LE(static_cast<double>(testing::l1_distance<double>(fetched(ranks), expected)), 1e-11);
  }
}

TEST_F(RanksOnDevice, LaterSolvesNeitherAllocateNorRecord) {
  const Context context(gpu());
  const Csr<double> pattern = rmat<double>({.scale = 7}).structure();
  for (const bool is_weighted : {false, true}) {
    const TransitionMatrix<double> transition(
        (is_weighted ? weighted(pattern) : pattern.structure()).to(context).view(), context);
    PageRankOptions options;
    options.spmv.algorithm = SpmvAlgorithm::merbit;
    PageRankSolver<double> solver(transition, options);
    Array<double> ranks(pattern.rows(), Init::zero, context);
    const auto first = Array<double>::copy_of(source_weights(pattern.rows(), 1), context);
    const auto second = Array<double>::copy_of(source_weights(pattern.rows(), 2), context);
    ASSERT_TRUE(solver.solve({}, ranks.span()).converged());
    ASSERT_TRUE(solver.solve(first.span(), ranks.span()).converged());
    const ContextCounts before = context.counts();
    ASSERT_TRUE(solver.solve(second.span(), ranks.span()).converged());
    ASSERT_TRUE(solver.solve({}, ranks.span()).converged());
    ASSERT_TRUE(solver.solve(second.span(), ranks.span(), RankStart::given).converged());
    EXPECT_EQ(context.counts().allocations, before.allocations);
    EXPECT_EQ(context.counts().recordings, before.recordings);
  }
}

TEST_F(RanksOnDevice, NoVectorComesToTheHost) {
  const Csr<double> graph = rmat<double>({.scale = 12, .edge_factor = 1});
  const Csr<double> there = graph.to(gpu());
  const std::uint64_t before = bytes_to_host();
  const TransitionMatrix<double> transition(there.view(), gpu());
  EXPECT_LE(bytes_to_host() - before, 1000U);
  PageRankOptions options;
  options.max_iterations = 8;
  options.spmv.algorithm = SpmvAlgorithm::merbit;
  const PageRankResult<double> result = pagerank(transition, options);
  // Some states, and what a plan measures: far from a byte per vertex.
  EXPECT_LE(bytes_to_host() - before, 3500U);
  EXPECT_EQ(result.iterations, 8);
  EXPECT_NEAR(result.sum, 1.0, 1e-14);
}

TEST_F(RanksOnDevice, AnotherContextIsRefused) {
  const Context mine(gpu());
  const Csr<double> graph = testing::chain<double>(4);
  const TransitionMatrix<double> transition(graph.to(mine).view(), mine);
  PageRankOptions options;
  options.spmv.device = gpu();
  EXPECT_THROW((void)pagerank(transition, options), InvalidArgument);
  EXPECT_THROW(PageRankSolver<double>(transition, options), InvalidArgument);
  options.spmv.device = mine;
  EXPECT_TRUE(pagerank(transition, options).converged());
}

TEST_F(RanksOnDevice, SmallGraphsAndBadWeights) {
  const TransitionMatrix<double> none(Csr<double>{}.to(gpu()).view(), gpu());
  EXPECT_TRUE(pagerank(none).converged());
  const TransitionMatrix<double> one(testing::chain<double>(1).to(gpu()).view(), gpu());
  EXPECT_EQ(fetched(pagerank(one).ranks), std::vector<double>{1.0});
  const TransitionMatrix<double> three(testing::chain<double>(3).to(gpu()).view(), gpu());
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL}) {
    const auto weights = Array<double>::copy_of(std::vector<double>{1.0, bad, bad}, gpu());
    try {
      (void)pagerank(three, {.personalization = weights.span()});
      FAIL() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("vertex 2 has"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tessera
