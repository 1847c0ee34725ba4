/// Approximate minimum degree against the fill of Eigen's, and limits against the fill that is predicted.
#include "core/interruption.hpp"
#include "preprocess/fill_prediction.hpp"
#include "preprocess/symmetric_pattern.hpp"
#include "support/odd_structures.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>
#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::testing {
namespace {

using namespace detail;

/// Some vertices with random neighbours, of any degree, in any order.
Csr<double> random_graph(std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(1 + seed * 17 % 900);
  return support::odd_matrix(seed % 3 == 0 ? "random" : seed % 3 == 1 ? "kkt" : "triangular", n, seed);
}

/// Entries of L + U in an order.
double factor_nnz(const SymmetricPattern& graph, const std::vector<index_t>& order) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> neighbours;
  for (index_t v = 0; v < graph.vertices(); ++v) {
    const auto list = graph.neighbours(v);
    neighbours.insert(neighbours.end(), list.begin(), list.end());
    offsets.push_back(static_cast<offset_t>(neighbours.size()));
  }
  const PatternLists lists{offsets, neighbours};
  return static_cast<double>(2 * predict_symmetric_fill(lists, lists, order).factor_nnz() - graph.vertices());
}

std::vector<index_t> eigen_amd(const SymmetricPattern& graph) {
  std::vector<Eigen::Triplet<double>> entries;
  for (index_t v = 0; v < graph.vertices(); ++v) {
    entries.emplace_back(v, v, 1.0);
    for (const index_t neighbour : graph.neighbours(v)) entries.emplace_back(v, neighbour, 1.0);
  }
  Eigen::SparseMatrix<double> matrix(graph.vertices(), graph.vertices());
  matrix.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(matrix.selfadjointView<Eigen::Upper>(), permutation);
  return {permutation.indices().data(), permutation.indices().data() + graph.vertices()};
}

void expect_permutation(std::vector<index_t> order, index_t n) {
  std::sort(order.begin(), order.end());
  std::vector<index_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), index_t{0});
  EXPECT_EQ(order, all);
}

TEST(Amd, FillsAsLittleAsAnother) {
  std::vector<Csr<double>> matrices;
  for (std::uint64_t seed = 0; seed < 60; ++seed) matrices.push_back(random_graph(seed));
  for (const char* spec : {"poisson2d:37", "poisson3d:11", "stokes2d:21", "elasticity3d:5", "plgraph:900"}) {
    matrices.push_back(generate<double>(parse_generator(spec)));
  }
  for (const Csr<double>& a : matrices) {
    const SymmetricPattern graph(a.view());
    const std::vector<index_t> order = amd_ordering(graph);
    expect_permutation(order, a.rows());
    EXPECT_LE(factor_nnz(graph, order), 1.03 * factor_nnz(graph, eigen_amd(graph)) + 10) << a.rows();
  }
}

TEST(Amd, NothingAndOneVertex) {
  EXPECT_TRUE(amd_ordering(SymmetricPattern(make_pattern<double>(0, 0, {0}, {}).view())).empty());
  EXPECT_EQ(amd_ordering(SymmetricPattern(make_pattern<double>(1, 1, {0, 0}, {}).view())), std::vector<index_t>{0});
  // No edges at all.
  expect_permutation(amd_ordering(SymmetricPattern(make_pattern<double>(3, 3, {0, 1, 1, 1}, {0}).view())), 3);
}

TEST(Amd, LimitsCountTheFill) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Csr<double> a = random_graph(seed);
    const SymmetricPattern graph(a.view());
    const std::vector<index_t> order = amd_ordering(graph);
    const double entries = factor_nnz(graph, order);
    // Vertices of an element are one clique to the limits, though those that come before its pivot have less fill.
    EXPECT_EQ(amd_ordering(graph, {.entries = 1.05 * entries + 8.0}), order);
    EXPECT_THROW(static_cast<void>(amd_ordering(graph, {.entries = entries - 1.0})), BudgetExceeded);
    EXPECT_THROW(static_cast<void>(amd_ordering(graph, {.flops = 0.4 * entries - 1.0})), BudgetExceeded);
  }
}

/// Five rows of n/10 entries, and one that is full.
TEST(Amd, DenseVerticesComeLast) {
  const SymmetricPattern hubs(support::odd_matrix("hubs", 20'000, 3).view());
  const std::vector<index_t> order = amd_ordering(hubs);
  expect_permutation(order, 20'000);
  for (std::size_t k = 0; k < order.size(); ++k) {
    EXPECT_EQ(hubs.degree(order[k]) > 1000, k >= order.size() - 5) << k;
  }
  const SymmetricPattern star(support::odd_matrix("star", 1000, 3).view());
  EXPECT_EQ(star.degree(amd_ordering(star).back()), 999);
}

/// The bound that predictions have, up to affordable factors.
TEST(Amd, StepsAreProportionalToEntries) {
  const FillLimits limits{.entries = 5e7, .flops = 6e10, .steps_per_entry = 80.0};
  for (const support::OddStructure& structure : support::odd_structures()) {
    if (structure.name == "rectangular") continue;
    for (const std::int64_t rows : {2000, 8000, 32'000}) {
      const SymmetricPattern graph(support::odd_matrix(structure.name, rows, 1).view());
      try {
        static_cast<void>(amd_ordering(graph, limits));
      } catch (const BudgetExceeded& error) {
        EXPECT_EQ(std::string(error.what()).find("steps"), std::string::npos) << structure.name << ": " << error.what();
      }
    }
  }
  const SymmetricPattern graph(support::odd_matrix("random", 2000, 1).view());
  EXPECT_THROW(static_cast<void>(amd_ordering(graph, {.steps_per_entry = 8.0})), BudgetExceeded);
}

TEST(Amd, IsInterrupted) {
  const SymmetricPattern graph(support::odd_matrix("random", 20'000, 1).view());
  int asked = 0;
  {
    const InterruptionScope scope(std::numeric_limits<double>::infinity(), [&] { return ++asked <= 2; });
    EXPECT_THROW(static_cast<void>(amd_ordering(graph)), BudgetExceeded);
  }
  EXPECT_EQ(asked, 3);
  expect_permutation(amd_ordering(graph), graph.vertices());
}

}  // namespace
}  // namespace tessera::testing
