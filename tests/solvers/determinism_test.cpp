/// The table of docs/determinism.md for whole solves: same bits for every number of threads, run after run.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/pagerank.hpp"
#include "tests/solvers/systems.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::testing {
namespace {

SpmvOptions reproducible(SpmvAlgorithm algorithm, int threads) {
  SpmvOptions options;
  options.algorithm = algorithm;
  options.device = Device::host(threads);
  options.determinism = Determinism::gpu_to_gpu;
  return options;
}

/// All parts of an outcome that depend on the order of additions.
template <class T>
struct Bits {
  std::vector<T> x;
  std::int64_t iterations = 0;
  double residual = 0.0;
  friend bool operator==(const Bits&, const Bits&) = default;
};

/// run(options) gives the same for 1, 2, 3 and 5 threads and twice in a row, for every kernel and for `auto`.
template <class T, class Run>
void expect_same_bits(Run&& run) {
  std::vector<SpmvAlgorithm> algorithms(spmv_algorithms().begin(), spmv_algorithms().end());
  algorithms.push_back(SpmvAlgorithm::automatic);
  for (const SpmvAlgorithm algorithm : algorithms) {
    Bits<T> first;
    try {
      first = run(reproducible(algorithm, 1));
    } catch (const NotSupported& error) {
      EXPECT_EQ(algorithm, SpmvAlgorithm::patterns) << error.what();  // rows of a graph do not repeat
      continue;
    }
    EXPECT_GT(first.iterations, 5);
    for (const int threads : {1, 2, 3, 5, 5}) {
      EXPECT_TRUE(run(reproducible(algorithm, threads)) == first) << to_string(algorithm) << ", threads " << threads;
    }
  }
}

template <class T>
class SolveDeterminism : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolveDeterminism, ElementTypes);

TYPED_TEST(SolveDeterminism, Cg) {
  const auto a = std::make_shared<const Csr<TypeParam>>(poisson2d<TypeParam>(130, 120));
  const std::vector<TypeParam> b = random_values<TypeParam>(static_cast<std::size_t>(a->rows()), 3);
  expect_same_bits<TypeParam>([&](const SpmvOptions& options) {
    const SpmvPlan<TypeParam> plan(a, options);
    std::vector<TypeParam> x(b.size());
    const JacobiPreconditioner<TypeParam> jacobi(a->view(), options.device);
    const SolveReport report = cg<TypeParam>(plan, jacobi, b, x, {.relative_tolerance = 1e-4});
    return Bits<TypeParam>{x, report.iterations, report.true_residual};
  });
}

TYPED_TEST(SolveDeterminism, Bicgstab) {
  const auto a = std::make_shared<const Csr<TypeParam>>(
      convection_diffusion<TypeParam>(30, 25, 20, {.x = 1.0, .y = 0.5, .z = 0.25}));
  const std::vector<TypeParam> b = random_values<TypeParam>(static_cast<std::size_t>(a->rows()), 4);
  expect_same_bits<TypeParam>([&](const SpmvOptions& options) {
    const SpmvPlan<TypeParam> plan(a, options);
    std::vector<TypeParam> x(b.size());
    const SolveReport report = bicgstab<TypeParam>(plan, b, x, {.relative_tolerance = 1e-4});
    return Bits<TypeParam>{x, report.iterations, report.true_residual};
  });
}

TYPED_TEST(SolveDeterminism, Gmres) {
  const auto a = std::make_shared<const Csr<TypeParam>>(
      convection_diffusion<TypeParam>(30, 25, 20, {.x = 1.0, .y = 0.5, .z = 0.25}));
  const std::vector<TypeParam> b = random_values<TypeParam>(static_cast<std::size_t>(a->rows()), 4);
  expect_same_bits<TypeParam>([&](const SpmvOptions& options) {
    const SpmvPlan<TypeParam> plan(a, options);
    std::vector<TypeParam> x(b.size());
    const SolveReport report = gmres<TypeParam>(plan, b, x, {.relative_tolerance = 1e-4, .restart = 9});
    return Bits<TypeParam>{x, report.iterations, report.true_residual};
  });
}

TYPED_TEST(SolveDeterminism, PageRank) {
  RmatOptions graph;
  graph.scale = 13;
  const TransitionMatrix<TypeParam> transition(rmat<TypeParam>(graph).view());
  expect_same_bits<TypeParam>([&](const SpmvOptions& options) {
    PageRankOptions rank;
    rank.tolerance = 1e-5;
    rank.spmv = options;
    const auto result = pagerank(transition, rank);
    return Bits<TypeParam>{{result.ranks.begin(), result.ranks.end()}, result.iterations, result.change};
  });
}

}  // namespace
}  // namespace tessera::testing
