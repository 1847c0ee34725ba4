// Orderings against closed forms of bandwidth and against fill counted by eliminating vertices one by one.
#include "tessera/ordering.hpp"
#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include "tests/support/error_message.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using Edges = std::vector<std::pair<index_t, index_t>>;

/// The symmetric pattern of a graph, optionally the upper triangle alone; duplicates are joined.
Csr<double> graph(index_t n, const Edges& edges, bool both = true) {
  std::vector<std::set<index_t>> rows(static_cast<std::size_t>(n));
  for (const auto& [a, b] : edges) {
    rows[static_cast<std::size_t>(a)].insert(b);
    if (both) rows[static_cast<std::size_t>(b)].insert(a);
  }
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const auto& row : rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return testing::make_pattern<double>(n, n, offsets, columns);
}

Edges shuffled(index_t n, Edges edges, unsigned seed) {
  std::vector<index_t> names(static_cast<std::size_t>(n));
  std::iota(names.begin(), names.end(), 0);
  std::shuffle(names.begin(), names.end(), std::mt19937(seed));
  for (auto& [a, b] : edges) {
    a = names[static_cast<std::size_t>(a)];
    b = names[static_cast<std::size_t>(b)];
  }
  return edges;
}

Edges path_edges(index_t n) {
  Edges edges;
  for (index_t v = 0; v + 1 < n; ++v) edges.emplace_back(v, v + 1);
  return edges;
}

Edges grid_edges(index_t width, index_t height) {
  Edges edges;
  for (index_t y = 0; y < height; ++y) {
    for (index_t x = 0; x < width; ++x) {
      if (x + 1 < width) edges.emplace_back(y * width + x, y * width + x + 1);
      if (y + 1 < height) edges.emplace_back(y * width + x, (y + 1) * width + x);
    }
  }
  return edges;
}

/// New number of each old vertex.
std::vector<index_t> numbers_of(const std::vector<index_t>& order) {
  std::vector<index_t> numbers(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    numbers[static_cast<std::size_t>(order[k])] = static_cast<index_t>(k);
  }
  return numbers;
}

void expect_permutation(const std::vector<index_t>& order, index_t n) {
  ASSERT_EQ(static_cast<index_t>(order.size()), n);
  std::vector<index_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (index_t v = 0; v < n; ++v) ASSERT_EQ(sorted[static_cast<std::size_t>(v)], v);
}

index_t bandwidth(const CsrView<double>& a, const std::vector<index_t>& order) {
  const auto numbers = numbers_of(order);
  index_t widest = 0;
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
      widest = std::max(widest, std::abs(numbers[row] - numbers[j]));
    }
  }
  return widest;
}

/// Entries below the diagonal of the Cholesky factor: every eliminated vertex joins its later neighbours.
offset_t factor_entries(const CsrView<double>& a, const std::vector<index_t>& order) {
  const auto numbers = numbers_of(order);
  std::vector<std::set<index_t>> later(order.size());
  for (index_t i = 0; i < a.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
      const index_t first = numbers[row];
      const index_t second = numbers[static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)])];
      if (first != second) later[static_cast<std::size_t>(std::min(first, second))].insert(std::max(first, second));
    }
  }
  offset_t entries = 0;
  for (auto& neighbours : later) {
    entries += static_cast<offset_t>(neighbours.size());
    if (neighbours.size() < 2) continue;
    const auto parent = static_cast<std::size_t>(*neighbours.begin());
    later[parent].insert(std::next(neighbours.begin()), neighbours.end());
  }
  return entries;
}

TEST(Ordering, Names) {
  EXPECT_EQ(to_string(Ordering::natural), "natural");
  EXPECT_EQ(to_string(Ordering::rcm), "rcm");
  EXPECT_EQ(to_string(Ordering::amd), "amd");
  EXPECT_EQ(to_string(Ordering::degree), "degree");
}

TEST(Ordering, RandomPatternsGivePermutationsAndOfSumWithTranspose) {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<index_t>(random() % 30);
    Edges edges;
    for (auto e = n == 0 ? 0U : random() % 60; e > 0; --e) {
      const auto from = static_cast<index_t>(random() % static_cast<std::uint64_t>(n));
      edges.emplace_back(from, static_cast<index_t>(random() % static_cast<std::uint64_t>(n)));
    }
    const auto one_way = graph(n, edges, false);
    const auto both_ways = graph(n, edges);
    SCOPED_TRACE(trial);
    for (const Ordering kind : {Ordering::natural, Ordering::rcm, Ordering::amd}) {
      const auto order = ordering(one_way.view(), kind);
      expect_permutation(order, n);
      EXPECT_EQ(order, ordering(both_ways.view(), kind));
    }
  }
}

TEST(Ordering, EmptyAndTiny) {
  for (const Ordering kind : {Ordering::natural, Ordering::rcm, Ordering::amd}) {
    EXPECT_TRUE(ordering(Csr<double>().view(), kind).empty());
    for (index_t n = 1; n <= 4; ++n) {
      expect_permutation(ordering(graph(n, {}).view(), kind), n);
      expect_permutation(ordering(graph(n, path_edges(n)).view(), kind), n);
      Edges diagonal;
      for (index_t v = 0; v < n; ++v) diagonal.emplace_back(v, v);
      expect_permutation(ordering(graph(n, diagonal).view(), kind), n);
    }
  }
  EXPECT_EQ(ordering(graph(3, path_edges(3)).view(), Ordering::natural), (std::vector<index_t>{0, 1, 2}));
}

TEST(Ordering, ValuesAndTheirTypeDoNotMatter) {
  const auto pattern = graph(30, shuffled(30, grid_edges(6, 5), 1));
  const auto weighted = pattern.with_values(Array<double>(pattern.nnz()));  // explicit zeros
  const auto single = pattern.with_values(Array<float>(pattern.nnz()));
  for (const Ordering kind : {Ordering::rcm, Ordering::amd}) {
    EXPECT_EQ(ordering(pattern.view(), kind), ordering(weighted.view(), kind));
    EXPECT_EQ(ordering(pattern.view(), kind), ordering(single.view(), kind));
  }
}

TEST(Ordering, TheDiagonalDoesNotMatter) {
  Edges edges = shuffled(30, grid_edges(6, 5), 1);
  const auto without = graph(30, edges);
  for (index_t v = 0; v < 30; v += 2) edges.emplace_back(v, v);
  const auto with = graph(30, edges);
  for (const Ordering kind : {Ordering::rcm, Ordering::amd}) {
    EXPECT_EQ(ordering(with.view(), kind), ordering(without.view(), kind));
  }
}

TEST(Ordering, RectanglesAreRefused) {
  const auto wide = testing::make_pattern<double>(1, 2, {0, 1}, {1});
  EXPECT_THROW(static_cast<void>(ordering(wide.view(), Ordering::rcm)), DimensionError);
  EXPECT_THROW(static_cast<void>(ordering(wide.view(), Ordering::natural)), DimensionError);
}

TEST(Ordering, RcmFindsTheBandwidthOfShuffledPathsAndGrids) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const index_t n = 200;
    const auto path = graph(n, shuffled(n, path_edges(n), seed));
    EXPECT_EQ(bandwidth(path.view(), ordering(path.view(), Ordering::rcm)), 1);
    Edges edges = path_edges(n);
    edges.emplace_back(0, n - 1);
    const auto cycle = graph(n, shuffled(n, edges, seed));
    EXPECT_EQ(bandwidth(cycle.view(), ordering(cycle.view(), Ordering::rcm)), 2);
    // The best possible is the shorter side (10); levels from a corner are diagonals.
    const auto grid = graph(400, shuffled(400, grid_edges(10, 40), seed));
    EXPECT_LE(bandwidth(grid.view(), ordering(grid.view(), Ordering::rcm)), 11);
  }
}

TEST(Ordering, RcmOfALongPathNeedsNoDeepStack) {
  const index_t n = 1000000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t v = 0; v < n; ++v) {
    if (v + 1 < n) columns.push_back(v + 1);
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto path = testing::make_pattern<float>(n, n, offsets, columns);
  const auto order = ordering(path.view(), Ordering::rcm);
  for (index_t v = 0; v < n; ++v) ASSERT_EQ(order[static_cast<std::size_t>(v)], order[0] == 0 ? v : n - 1 - v);
}

/// By definition: behind the first vertex, all come in the order of their first neighbour, then degree, then number.
TEST(Ordering, RcmBackwardsIsCuthillMckee) {
  std::mt19937_64 random(8);
  for (int trial = 0; trial < 50; ++trial) {
    const index_t n = 60;
    Edges edges = path_edges(n);
    for (int e = 0; e < 30; ++e)
      edges.emplace_back(static_cast<index_t>(random() % 60), static_cast<index_t>(random() % 60));
    const auto a = graph(n, shuffled(n, edges, static_cast<unsigned>(random())));
    auto order = ordering(a.view(), Ordering::rcm);
    std::reverse(order.begin(), order.end());
    const auto numbers = numbers_of(order);
    std::vector<std::array<index_t, 3>> keys;
    for (const index_t v : order) {
      const auto row = static_cast<std::size_t>(v);
      std::array<index_t, 3> key{n, 0, v};
      for (offset_t k = a.row_offsets()[v]; k < a.row_offsets()[v + 1]; ++k) {
        if (a.columns()[k] == v) continue;
        key[0] = std::min(key[0], numbers[static_cast<std::size_t>(a.columns()[k])]);
        ++key[1];
      }
      if (numbers[row] > 0) keys.push_back(key);
    }
    EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end())) << trial;
  }
}

/// Reversed, all children of a tree come before their parent, which then has no other neighbour left.
TEST(Ordering, RcmEliminatesTreesWithoutFill) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 30; ++trial) {
    const index_t n = 150;
    Edges edges;
    for (index_t v = 1; v < n; ++v) {
      edges.emplace_back(v, static_cast<index_t>(random() % static_cast<std::uint64_t>(v)));
    }
    const auto tree = graph(n, shuffled(n, edges, static_cast<unsigned>(random())));
    EXPECT_EQ(factor_entries(tree.view(), ordering(tree.view(), Ordering::rcm)), n - 1);
  }
}

TEST(Ordering, RcmNumbersComponentsOneAfterTheOther) {
  Edges edges;
  for (index_t part = 0; part < 10; ++part) {
    for (index_t k = 0; k + 1 < 20; ++k) edges.emplace_back(part * 20 + k, part * 20 + k + 1);
  }
  const auto paths = graph(210, shuffled(210, edges, 4));  // and ten vertices alone
  const auto order = ordering(paths.view(), Ordering::rcm);
  expect_permutation(order, 210);
  EXPECT_EQ(bandwidth(paths.view(), order), 1);
}

TEST(Ordering, AmdHasLessFillThanNaturalOnGrids) {
  const auto small = graph(400, grid_edges(20, 20));
  const offset_t natural = factor_entries(small.view(), ordering(small.view(), Ordering::natural));
  const offset_t amd = factor_entries(small.view(), ordering(small.view(), Ordering::amd));
  // The envelope of a 20 x 20 grid by rows: all but the first rows reach 20 back.
  EXPECT_EQ(natural, 20 * 380 + 19 * 1);
  EXPECT_LT(2 * amd, natural);
  const auto large = graph(3600, shuffled(3600, grid_edges(60, 60), 2));
  EXPECT_LT(3 * factor_entries(large.view(), ordering(large.view(), Ordering::amd)), 60 * 3540);
}

TEST(Ordering, AmdEliminatesTreesWithoutFill) {
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 30; ++trial) {
    const index_t n = 150;
    Edges edges;
    for (index_t v = 1; v < n; ++v) {
      edges.emplace_back(v, static_cast<index_t>(random() % static_cast<std::uint64_t>(v)));
    }
    const auto tree = graph(n, shuffled(n, edges, static_cast<unsigned>(random())));
    EXPECT_LT(factor_entries(tree.view(), ordering(tree.view(), Ordering::amd)), n);
    EXPECT_GT(factor_entries(tree.view(), ordering(tree.view(), Ordering::natural)), 2 * n);
  }
}

/// A hub that is joined with all: no cost of degree², and AMD eliminates it at the end.
TEST(Ordering, Hubs) {
  const index_t n = 100000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (index_t v = 0; v < n; ++v) {
    if (v == 5) {
      for (index_t j = 0; j < n; ++j) columns.push_back(j);
    } else {
      columns.push_back(v);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto arrow = testing::make_pattern<double>(n, n, offsets, columns);
  expect_permutation(ordering(arrow.view(), Ordering::rcm), n);
  const auto order = ordering(arrow.view(), Ordering::amd);
  expect_permutation(order, n);
  EXPECT_GE(numbers_of(order)[5], n - 2);
}

TEST(Ordering, RealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name : {"bcsstk08", "west0067", "1138_bus", "orsirr_1"}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*testing::real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const auto a = file.matrix.view();
    const auto rcm = ordering(a, Ordering::rcm);
    const auto amd = ordering(a, Ordering::amd);
    expect_permutation(rcm, a.rows);
    expect_permutation(amd, a.rows);
    const offset_t natural_entries = factor_entries(a, ordering(a, Ordering::natural));
    EXPECT_LE(factor_entries(a, amd), natural_entries);
    if (a.rows == 1138) {
      EXPECT_LT(4 * bandwidth(a, rcm), statistics(a).bandwidth);
    }
  }
}

/// 0 where there is none.
double entry(const CsrView<double>& a, std::size_t row, std::size_t column) {
  for (auto k = static_cast<std::size_t>(a.row_offsets[row]); k < static_cast<std::size_t>(a.row_offsets[row + 1]);
       ++k) {
    if (static_cast<std::size_t>(a.columns[k]) == column) return a.value(static_cast<offset_t>(k));
  }
  return 0.0;
}

/// Entry by entry, of a matrix that is not symmetric and of a pattern; columns ascend (validate()).
TEST(Permuted, MovesEntriesWithTheirRowsAndColumns) {
  const Csr<double> a = testing::make_csr<double>(4, 4, {0, 2, 3, 3, 7}, {0, 3, 2, 0, 1, 2, 3}, {1, 2, 3, 4, 5, 6, 7});
  const std::vector<index_t> order{2, 0, 3, 1};
  for (const bool is_pattern : {false, true}) {
    const Csr<double> from = is_pattern ? a.structure() : Csr<double>::copy_of(a.view());
    const Csr<double> b = permuted(from.view(), order);
    validate(b.view());
    ASSERT_EQ(b.nnz(), a.nnz());
    EXPECT_EQ(b.is_pattern(), is_pattern);
    for (std::size_t k = 0; k < 4; ++k) {
      for (std::size_t l = 0; l < 4; ++l) {
        EXPECT_EQ(entry(b.view(), k, l),
                  entry(from.view(), static_cast<std::size_t>(order[k]), static_cast<std::size_t>(order[l])))
            << k << ", " << l;
      }
    }
  }
}

TEST(Permuted, OfEmptyAndOneByOne) {
  EXPECT_EQ(permuted(Csr<double>().view(), {}).rows(), 0);
  const Csr<double> one = testing::make_csr<double>(1, 1, {0, 1}, {0}, {3});
  const std::vector<index_t> order{0};
  EXPECT_EQ(permuted(one.view(), order).view().values[0], 3.0);
}

TEST(Permuted, RefusesWhatIsNoPermutation) {
  const Csr<double> a = testing::make_csr<double>(3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3});
  const auto refusal = [&a](const std::vector<index_t>& order) {
    return testing::message_of<InvalidArgument>([&] { static_cast<void>(permuted(a.view(), order)); });
  };
  EXPECT_EQ(refusal({0, 1, 1}), "not a permutation of 0 to 2: 1 at position 2 occurs twice");
  EXPECT_EQ(refusal({0, 3, 1}), "not a permutation of 0 to 2: 3 at position 1 is out of range");
  EXPECT_EQ(refusal({-1, 2, 1}), "not a permutation of 0 to 2: -1 at position 0 is out of range");
  const std::vector<index_t> two{0, 1};
  EXPECT_THROW(static_cast<void>(permuted(a.view(), two)), DimensionError);
  const Csr<double> wide = testing::make_csr<double>(1, 2, {0, 1}, {1}, {1});
  const std::vector<index_t> one{0};
  EXPECT_THROW(static_cast<void>(permuted(wide.view(), one)), DimensionError);
}

}  // namespace
}  // namespace tessera
