// Matchings of large matrices: long augmenting paths, trees, hubs, and matrices of the SuiteSparse collection.
#include "tessera/error.hpp"
#include "tessera/matching.hpp"
#include "tessera/matrix_market.hpp"

#include "core/interruption.hpp"
#include "preprocess/karp_sipser.hpp"
#include "tests/preprocess/matching_checks.hpp"
#include "tests/support/make_csr.hpp"
#include "tests/support/matrices_dir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {
namespace {

/// A long alternating path, for searches that must not recurse: only its end is free.
TEST(Matching, LongAugmentingPaths) {
  const index_t n = 300000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    // Row i < n - 1 prefers column i + 1... the greedy start takes column i; the last row has column 0 alone.
    if (i + 1 < n) {
      columns.insert(columns.end(), {i, i + 1});
      values.insert(values.end(), {2.0, 1.0});
    } else {
      columns.push_back(0);
      values.push_back(1.0);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto a = make_csr<double>(n, n, offsets, columns, values);
  EXPECT_TRUE(maximum_matching(a.view()).is_perfect());
  const ProductMatching found = maximum_product_matching(a.view());
  ASSERT_TRUE(found.matching.is_perfect());
  for (index_t i = 0; i < n; ++i) ASSERT_EQ(found.matching.column_of_row[static_cast<std::size_t>(i)], (i + 1) % n);
}

/// The adjacency of a tree: its rows and columns form two copies of it.
Csr<double> random_tree(index_t vertices, index_t reach, std::mt19937& random) {
  std::vector<index_t> number(static_cast<std::size_t>(vertices));
  std::iota(number.begin(), number.end(), 0);
  std::shuffle(number.begin(), number.end(), random);
  std::vector<std::vector<index_t>> neighbours(number.size());
  for (index_t v = 1; v < vertices; ++v) {
    const index_t parent = v - 1 - static_cast<index_t>(random() % static_cast<unsigned>(std::min(v, reach)));
    const index_t from = number[static_cast<std::size_t>(v)];
    const index_t to = number[static_cast<std::size_t>(parent)];
    neighbours[static_cast<std::size_t>(from)].push_back(to);
    neighbours[static_cast<std::size_t>(to)].push_back(from);
  }
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (auto& row : neighbours) {
    std::sort(row.begin(), row.end());
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_pattern<double>(vertices, vertices, offsets, columns);
}

/// The start of Karp and Sipser alone is maximal on forests; augmenting paths from nothing say what that is.
TEST(MaximumMatching, TreesByTheirStartAlone) {
  std::mt19937 random(5);
  const auto is_edge = [](index_t /*row*/, offset_t /*k*/) { return true; };
  for (int trial = 0; trial < 200; ++trial) {
    const auto tree = random_tree(1 + trial, trial % 3 == 0 ? 1 : 1 + trial % 17, random);
    const CsrView<double> view = tree.view();
    const detail::EntryMatching start = detail::KarpSipser(view.row_offsets, view.columns, is_edge, view.cols).run();
    detail::EntryMatching reference(view.rows, view.cols);
    detail::HopcroftKarp(view.row_offsets, view.columns, is_edge, reference).run();
    EXPECT_EQ(start.cardinality, reference.cardinality) << trial;
    expect_matching(view, start.with_columns(view.columns));
  }
}

/// Chains numbered at random: a greedy start leaves paths as long as the chain.
TEST(MaximumMatching, LongChains) {
  std::mt19937 random(6);
  for (const index_t n : {300000, 300001}) {
    EXPECT_EQ(maximum_matching(random_tree(n, 1, random).view()).cardinality, n - n % 2);
  }
}

/// A full first row and column: no cost of n² entries.
TEST(Matching, Hubs) {
  const index_t n = 100000;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    if (i == 0) {
      for (index_t j = 0; j < n; ++j) {
        columns.push_back(j);
        values.push_back(1.0 + j % 7);
      }
    } else {
      columns.insert(columns.end(), {0, i});
      values.insert(values.end(), {100.0 + i % 11, 1.0 + i % 5});
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto arrow = make_csr<double>(n, n, offsets, columns, values);
  EXPECT_TRUE(maximum_matching(arrow.view()).is_perfect());
  expect_optimal(arrow.view(), maximum_product_matching(arrow.view()));
}

/// A scope is asked every 10 ms, which one matching may not take.
TEST(Matching, EndsWhereItIsNotWanted) {
  std::mt19937 random(7);
  const auto tree = random_tree(100000, 20, random);
  const auto repeat = [](const auto& match) {
    const detail::InterruptionScope scope(std::numeric_limits<double>::infinity(), [] { return false; });
    for (int run = 0; run < 1000; ++run) match();
  };
  EXPECT_THROW(repeat([&] { static_cast<void>(maximum_matching(tree.view())); }), BudgetExceeded);
  EXPECT_THROW(repeat([&] { static_cast<void>(maximum_product_matching(tree.view())); }), BudgetExceeded);
}

/// Structural ranks, known from another program.
using Deficits = std::vector<std::pair<const char*, index_t>>;

void expect_deficits(const Deficits& deficits) {
  for (const auto& [name, deficit] : deficits) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<float>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    const Matching matching = maximum_matching(file.matrix.view());
    expect_matching(file.matrix.view(), matching);
    EXPECT_EQ(file.matrix.rows() - matching.cardinality, deficit);
    if (file.matrix.nnz() > 1000000) continue;  // to be quick
    EXPECT_EQ(maximum_product_matching(file.matrix.view()).matching.cardinality, matching.cardinality);
  }
}

TEST(Matching, StructuralRanksOfRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  expect_deficits({{"karate", 7},
                   {"ca-GrQc", 415},
                   {"wiki-Vote", 5918},
                   {"email-Enron", 11573},
                   {"Sydney_net", 1540},
                   {"wb-cs-stanford", 4132},
                   {"ChicagoRegional_net", 218},
                   {"p2p-Gnutella31", 46227},
                   {"west0067", 0},
                   {"bcspwr10", 0}});
}

TEST(Matching, StructuralRanksOfLargeRealMatrices) {
  TESSERA_REQUIRE_REAL_MATRICES();
  if (std::getenv("TESSERA_SPARING_TESTS") != nullptr) GTEST_SKIP() << "long under sanitizers";
  expect_deficits({{"musae_git", 7468},
                   {"cit-HepPh", 8030},
                   {"luxembourg_osm", 1036},
                   {"cnr-2000", 133262},
                   {"ego-Twitter", 7194}});
}

TEST(ProductMatching, RealMatricesAreOptimalByTheirDuals) {
  TESSERA_REQUIRE_REAL_MATRICES();
  for (const char* name :
       {"west0067", "qh1484", "lns_3937", "tols4000", "freeFlyingRobot_7", "bips98_606", "Goodwin_010"}) {
    SCOPED_TRACE(name);
    const auto file = read_matrix_market<double>(*real_matrices_dir() / (std::string(name) + ".mtx.gz"));
    expect_optimal(file.matrix.view(), maximum_product_matching(file.matrix.view()), 1e-10);
  }
}

}  // namespace
}  // namespace tessera::testing
