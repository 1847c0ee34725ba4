#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using Reach = std::vector<std::vector<char>>;

/// Warshall's closure of a graph given by its dense rows; every vertex reaches itself.
Reach closure(Reach reach) {
  const std::size_t n = reach.size();
  for (std::size_t i = 0; i < n; ++i) reach[i][i] = 1;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n && reach[i][k] != 0; ++j) reach[i][j] |= reach[k][j];
    }
  }
  return reach;
}

/// Components of an equivalence relation.
ComponentCounts naive_counts(const Reach& same) {
  ComponentCounts counts;
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (std::find(same[i].begin(), same[i].end(), 1) < same[i].begin() + static_cast<std::ptrdiff_t>(i)) continue;
    const auto size = static_cast<index_t>(std::count(same[i].begin(), same[i].end(), 1));
    ++counts.count;
    counts.largest = std::max(counts.largest, size);
    if (size == 1) ++counts.singletons;
  }
  return counts;
}

void expect_equal(const ComponentCounts& found, const ComponentCounts& expected) {
  EXPECT_EQ(found.count, expected.count);
  EXPECT_EQ(found.largest, expected.largest);
  EXPECT_EQ(found.singletons, expected.singletons);
}

TEST(Components, RandomGraphsAgainstTheTransitiveClosure) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + random() % 24;
    const std::size_t edges = random() % (2 * n + 1);
    Reach out(n, std::vector<char>(n));
    for (std::size_t e = 0; e < edges; ++e) out[random() % n][random() % n] = 1;
    Reach either = out;
    std::vector<std::vector<double>> dense(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        either[i][j] |= out[j][i];
        dense[i][j] = out[i][j];
      }
    }
    const Reach reach = closure(out);
    Reach mutual = reach;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) mutual[i][j] = static_cast<char>(reach[i][j] & reach[j][i]);
    }
    const auto matrix = testing::from_dense<double>(dense, static_cast<std::int64_t>(n));
    SCOPED_TRACE(trial);
    expect_equal(connected_components(matrix.view()), naive_counts(closure(either)));
    expect_equal(strong_components(matrix.view()), naive_counts(mutual));
  }
}

TEST(Components, ClosedForms) {
  expect_equal(connected_components(Csr<double>().view()), {0, 0, 0});
  expect_equal(strong_components(Csr<double>().view()), {0, 0, 0});
  const auto alone = testing::make_pattern<double>(3, 3, {0, 0, 1, 1}, {1});
  expect_equal(connected_components(alone.view()), {3, 1, 3});
  expect_equal(strong_components(alone.view()), {3, 1, 3});
}

/// Paths and cycles long enough for several threads and for a recursion to overflow the stack.
TEST(Components, LongPathsAndCycles) {
  constexpr index_t n = 1000000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < n; ++i) {
    if (i + 1 < n) columns.push_back(i + 1);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto path = testing::make_pattern<float>(n, n, offsets, columns);
  expect_equal(connected_components(path.view(), Device::host(2)), {1, n, 0});
  expect_equal(strong_components(path.view()), {n, 1, n});
  columns.push_back(0);
  offsets.back() = n;
  const auto cycle = testing::make_pattern<float>(n, n, offsets, columns);
  expect_equal(strong_components(cycle.view()), {1, n, 0});
}

TEST(Components, TheThreadsDoNotChangeTheCounts) {
  RmatOptions options;
  options.scale = 14;
  options.edge_factor = 1.0;
  const auto graph = rmat<double>(options);
  const ComponentCounts one = connected_components(graph.view(), Device::host(1));
  EXPECT_GT(one.count, 100);
  for (int repeat = 0; repeat < 5; ++repeat) {
    expect_equal(connected_components(graph.view(), Device::host(4)), one);
  }
}

TEST(Components, RectanglesAreNoGraphs) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(connected_components(wide.view())), DimensionError);
  EXPECT_THROW(static_cast<void>(strong_components(wide.view())), DimensionError);
}

/// An undirected graph is strongly connected where it is connected.
TEST(Components, RealGraphs) {
  TESSERA_REQUIRE_REAL_MATRICES();
  // Published by SNAP: ca-GrQc has 4158 of 5242 nodes in its largest component, email-Enron 33696 of 36692.
  for (const auto& [name, largest] :
       {std::pair<const char*, index_t>{"karate", 34}, {"ca-GrQc", 4158}, {"email-Enron", 33696}}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<float>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const ComponentCounts weak = connected_components(file.matrix.view(), Device::host(2));
    EXPECT_EQ(weak.largest, largest);
    expect_equal(strong_components(file.matrix.view()), weak);
  }
}

/// Published by SNAP: the largest strong component of wiki-Vote has 1300 nodes, that of p2p-Gnutella31 14149, that of
/// cit-HepPh 12711.
TEST(Components, StrongComponentsOfRealDirectedGraphs) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const auto& [name, largest] :
       {std::pair<const char*, index_t>{"wiki-Vote", 1300}, {"p2p-Gnutella31", 14149}, {"cit-HepPh", 12711}}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<float>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    EXPECT_EQ(strong_components(file.matrix.view()).largest, largest);
  }
}

}  // namespace
}  // namespace tessera
