/// Unknowns per node: found where positions have them, and nowhere else; AMG that finds them is AMG that is told.
#include "solvers/amg/node_size.hpp"

#include "tests/solvers/amg_cycle_oracle.hpp"
#include "tests/solvers/amg_systems.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

using Rows = std::vector<std::set<index_t>>;

int found(const Csr<double>& a, const Device& device = Device::host(2)) {
  return detail::node_size(device, a.view(), detail::whole_level(a.view()));
}

Csr<double> matrix_of(const Rows& rows) {
  const auto n = static_cast<int>(rows.size());
  std::vector<Eigen::Triplet<double, int>> entries;
  for (int i = 0; i < n; ++i) {
    for (const index_t j : rows[static_cast<std::size_t>(i)]) entries.emplace_back(i, j, i == j ? 100.0 : -1.0);
  }
  EigenSparse<double> result(n, n);
  result.setFromTriplets(entries.begin(), entries.end());
  return to_csr<double>(result)->to(Device{});
}

/// Every entry of a graph of nodes becomes a full block. \param graph has its diagonal
Rows expanded(const Rows& graph, int size) {
  Rows result(graph.size() * static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (const index_t node : graph[i / static_cast<std::size_t>(size)]) {
      for (int c = 0; c < size; ++c) result[i].insert(node * size + c);
    }
  }
  return result;
}

Rows random_graph(int nodes, int degree, unsigned seed) {
  std::mt19937 generator(seed);
  Rows graph(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) {
    graph[static_cast<std::size_t>(i)].insert(i);
    for (int k = 0; k < degree; ++k) {
      graph[static_cast<std::size_t>(i)].insert(static_cast<index_t>(generator() % static_cast<unsigned>(nodes)));
    }
  }
  return graph;
}

/// Row `unknown` and its column are those of the identity.
void clamp(Rows& rows, index_t unknown) {
  for (std::set<index_t>& row : rows) row.erase(unknown);
  rows[static_cast<std::size_t>(unknown)] = {unknown};
}

TEST(NodeSize, OfRandomGraphs) {
  for (int size = 1; size <= 8; ++size) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const Csr<double> a =
          matrix_of(expanded(random_graph(40 + static_cast<int>(seed), 1 + static_cast<int>(seed % 5), seed), size));
      // Nodes of eight are nodes of four or two that come in twins.
      EXPECT_EQ(found(a), size <= 6 ? size : size == 8 ? 4 : 1) << size << ' ' << seed;
    }
  }
}

TEST(NodeSize, OfFamilies) {
  EXPECT_EQ(found(elasticity3d<double>(6)), 3);
  Rows bar(50);
  for (index_t i = 0; i < 50; ++i) {
    for (index_t j = std::max(i - 1, 0); j <= std::min(i + 1, 49); ++j) bar[static_cast<std::size_t>(i)].insert(j);
  }
  EXPECT_EQ(found(matrix_of(bar)), 1);
  EXPECT_EQ(found(matrix_of(expanded(bar, 2))), 2);
  for (const char* spec : {"poisson2d:30", "poisson3d:12", "poisson2d:24,points=9", "anisotropic2d:30", "jump3d:12",
                           "stokes2d:12", "helmholtz2d:30", "circuit:300", "plgraph:300", "convdiff:12"}) {
    EXPECT_EQ(found(generated(spec)), 1) << spec;
  }
}

TEST(NodeSize, OfDenseAndDiagonalMatricesIsOne) {
  Rows dense(60);
  Rows diagonal(60);
  for (index_t i = 0; i < 60; ++i) {
    diagonal[static_cast<std::size_t>(i)].insert(i);
    for (index_t j = 0; j < 60; ++j) dense[static_cast<std::size_t>(i)].insert(j);
  }
  EXPECT_EQ(found(matrix_of(dense)), 1);
  EXPECT_EQ(found(matrix_of(diagonal)), 1);
  EXPECT_EQ(found(matrix_of({})), 1);
}

/// Wide bands have nearly full blocks, but each row its own columns.
TEST(NodeSize, OfBandsIsOne) {
  for (const index_t width : {2, 5, 20}) {
    Rows band(120);
    for (index_t i = 0; i < 120; ++i) {
      for (index_t j = std::max(i - width, 0); j <= std::min(i + width, 119); ++j) {
        band[static_cast<std::size_t>(i)].insert(j);
      }
    }
    EXPECT_EQ(found(matrix_of(band)), 1) << width;
  }
}

/// Clamped nodes are no evidence; clamped unknowns spoil their node and its neighbours.
TEST(NodeSize, WithBoundaryConditions) {
  const Rows whole = expanded(random_graph(200, 3, 7), 3);
  Rows nodes = whole;
  for (index_t i = 0; i < 300; ++i) clamp(nodes, i);
  EXPECT_EQ(found(matrix_of(nodes)), 3);
  Rows few = whole;
  for (index_t i = 0; i < 20; i += 4) clamp(few, i);
  EXPECT_EQ(found(matrix_of(few)), 3);
  Rows many = whole;
  for (index_t i = 0; i < 600; i += 12) clamp(many, i);
  EXPECT_EQ(found(matrix_of(many)), 1);
  // An unknown that is left out shifts all nodes behind it.
  Rows removed = whole;
  clamp(removed, 3);
  removed.erase(removed.begin() + 3);
  for (std::set<index_t>& row : removed) {
    std::set<index_t> shifted;
    for (const index_t j : row) shifted.insert(j > 3 ? j - 1 : j);
    row = std::move(shifted);
  }
  removed.resize(597);
  for (std::set<index_t>& row : removed) row.erase(row.lower_bound(597), row.end());
  EXPECT_EQ(found(matrix_of(removed)), 1);
}

void expect_same_cycle(const Csr<double>& a, const AmgOptions& automatic, const AmgOptions& told) {
  const Amg<double> one(a.view(), automatic);
  const Amg<double> other(a.view(), told);
  EXPECT_EQ(one.hierarchy().block_size, told.block_size);
  EXPECT_EQ(one.hierarchy().operator_complexity, other.hierarchy().operator_complexity);
  const std::vector<double> b = right_side(a);
  std::vector<double> x(b.size());
  std::vector<double> y(b.size());
  one.LinearOperator<double>::apply(b, x);
  other.LinearOperator<double>::apply(b, y);
  EXPECT_EQ(x, y);
}

TEST(NodeSize, AmgFindsWhatItWouldBeTold) {
  const Csr<double> elastic = elasticity3d<double>(8);
  expect_same_cycle(elastic, {.coarsest_rows = 30}, {.coarsest_rows = 30, .block_size = 3});
  AmgOptions rigid{.coarsest_rows = 30};
  rigid.coordinates = generator_coordinates(parse_generator("elasticity3d:8"));
  AmgOptions told = rigid;
  told.block_size = 3;
  expect_same_cycle(elastic, rigid, told);
  // One vector does not span the nodes' unknowns.
  AmgOptions constant{.coarsest_rows = 30};
  constant.near_nullspace.assign(static_cast<std::size_t>(elastic.rows()), 1.0);
  told = constant;
  told.block_size = 1;
  expect_same_cycle(elastic, constant, told);
  expect_same_cycle(poisson2d<double>(30, 30), {.coarsest_rows = 30}, {.coarsest_rows = 30, .block_size = 1});
}

TEST(NodeSize, StaysInARefresh) {
  const Csr<double> a = elasticity3d<double>(7);
  for (const bool keeps : {false, true}) {
    Amg<double> amg(a.view(), {.coarsest_rows = 30, .prepare_refresh = keeps});
    const double complexity = amg.hierarchy().operator_complexity;
    amg.refresh(a.view());
    EXPECT_EQ(amg.hierarchy().block_size, 3);
    EXPECT_EQ(amg.hierarchy().operator_complexity, complexity);
  }
}

/// Where the smoother is enough, nodes change nothing.
TEST(NodeSize, OfDominantMatricesDoesNotCoarsen) {
  Rows graph = random_graph(300, 2, 3);
  for (index_t i = 0; i < 300; ++i) {
    for (const index_t j : graph[static_cast<std::size_t>(i)]) graph[static_cast<std::size_t>(j)].insert(i);
  }
  const Amg<double> amg(matrix_of(expanded(graph, 2)).view());
  EXPECT_EQ(amg.hierarchy().block_size, 2);
  EXPECT_FALSE(amg.hierarchy().coarsens);
}

}  // namespace
}  // namespace tessera::testing
