/// Networks (circuit, plgraph): counts and distributions of their recipes, sums of rows, and factors by Eigen.
///
/// Bounds. As in zoo_test.cpp: five standard deviations of a count, with fixed seeds.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::to_eigen;

Csr<double> make(const std::string& text) {
  Csr<double> a = generate<double>(parse_generator(text));
  validate(a.view());
  return a;
}

/// visit(row, column, value) for all entries.
template <class Visit>
void for_entries(const Csr<double>& a, Visit&& visit) {
  for (index_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + std::int64_t{1}]; ++k) {
      visit(i, a.columns()[k], a.values()[k]);
    }
  }
}

double five_deviations(double trials, double p) { return 5 * std::sqrt(trials * p * (1 - p)); }

constexpr index_t nodes = 19800;  ///< of circuit:20000; the others are voltage sources

TEST(Circuit, VoltageSourcesHaveZeroDiagonals) {
  const auto a = make("circuit:20000");
  ASSERT_EQ(a.rows(), 20000);
  std::set<index_t> sourced;
  std::set<index_t> mirrored;
  offset_t diagonals = 0;
  for_entries(a, [&](index_t i, index_t j, double value) {
    diagonals += i == j ? 1 : 0;
    if (i < nodes && j < nodes) return;
    EXPECT_EQ(value, 1.0);
    EXPECT_TRUE((i >= nodes) != (j >= nodes));
    (i >= nodes ? sourced : mirrored).insert(std::min(i, j));
  });
  EXPECT_EQ(diagonals, nodes) << "no entry on the diagonal of a voltage source";
  EXPECT_EQ(sourced.size(), 200U) << "each at another node";
  EXPECT_EQ(sourced, mirrored);
}

TEST(Circuit, DiagonalsAreSumsOfConductances) {
  const auto a = make("circuit:20000");
  std::vector<double> diagonal(nodes, 0.0);
  std::vector<double> conductance(nodes, 0.0);
  for_entries(a, [&](index_t i, index_t j, double value) {
    if (i >= nodes || j >= nodes) return;
    if (i == j) diagonal[static_cast<std::size_t>(i)] = value;
    // The column above the diagonal may have a controlled source added, the row below it has wires alone.
    if (j < i) {
      EXPECT_LT(value, 0.0);
      EXPECT_GE(value, -4e3);
      EXPECT_LE(value, -1e-6);
      conductance[static_cast<std::size_t>(i)] -= value;
      conductance[static_cast<std::size_t>(j)] -= value;
    }
  });
  for (std::size_t i = 0; i + 1 < diagonal.size(); ++i) {
    ASSERT_NEAR(diagonal[i] / (conductance[i] + 1e-12), 1.0, 1e-13) << i;
  }
  EXPECT_GE(diagonal.back(), conductance.back()) << "controlled sources at the end have their diagonal";
}

TEST(Circuit, CountsOfItsElements) {
  const auto a = make("circuit:20000");
  const auto lower = [](index_t i, index_t j) { return i < nodes && j < i; };
  double wires = 0;
  double chain = 0;
  double local = 0;
  double distances = 0;
  double far = 0;
  double logarithms = 0;
  for_entries(a, [&](index_t i, index_t j, double value) {
    if (!lower(i, j)) return;
    const double distance = i - j;
    wires += 1;
    chain += distance == 1 ? 1 : 0;
    if (distance > 1 && distance <= 400) {
      local += 1;
      distances += distance;
    }
    if (distance > 2000) {
      far += 1;
      logarithms += std::log10(-value);
    }
  });
  EXPECT_EQ(chain, nodes - 1) << "connected";
  // Local wires of distance 1 (2 %) repeat the chain, few others repeat a wire.
  EXPECT_NEAR(wires, nodes * (1 + 0.8 * 0.98 + 0.002 + 0.25), 0.01 * nodes);
  // A distance is 1 + a number of failures: 51 on average from 2 on; some wires to rails are as short, by chance.
  EXPECT_NEAR(local, 0.8 * 0.98 * nodes + 0.25 * nodes * 800 / nodes, 0.01 * nodes);
  EXPECT_NEAR(distances / local, 52, 3);
  // Far wires lead to rails, log-uniform between 1e-5 and 10: variance 36 / 12; long wires are few.
  EXPECT_NEAR(logarithms / far, -2.0, 5 * std::sqrt(3.0 / far) + 0.01);
  // A source lies above the diagonal within 29; it changes a wire there, or has an entry of its own.
  double sources = 0;
  const auto transposed = transpose(a.view());
  const Eigen::SparseMatrix<double, Eigen::RowMajor, int> skew = to_eigen(a.view()) - to_eigen(transposed.view());
  for (int i = 0; i < skew.outerSize(); ++i) {
    for (Eigen::SparseMatrix<double, Eigen::RowMajor, int>::InnerIterator it(skew, i); it; ++it) {
      if (it.value() == 0.0 || it.col() < i) continue;
      EXPECT_LE(it.col() - i, 29);
      EXPECT_GT(it.value(), 0.99e-5);
      sources += 1;
    }
  }
  EXPECT_NEAR(sources, 0.1 * nodes, 0.01 * nodes) << "few repeat another";
}

TEST(Circuit, RailsHaveTheLongestRows) {
  const auto a = make("circuit:20000");
  std::vector<double> lengths(20000, 0.0);
  for_entries(a, [&](index_t i, index_t, double) { lengths[static_cast<std::size_t>(i)] += 1; });
  std::sort(lengths.rbegin(), lengths.rend());
  double rails = 0;
  for (std::size_t k = 0; k < 24; ++k) rails += lengths[k];
  // Besides its wires a rail has the entries of a node, about 4.7.
  EXPECT_NEAR(rails, 0.25 * nodes + 24 * 4.7, 60);
  EXPECT_GT(lengths[23], 100);
  EXPECT_LT(lengths[24], 30);
}

TEST(Circuit, IsRegular) {
  const auto a = make("circuit:1000,seed=3");
  const Eigen::SparseMatrix<double> columns = to_eigen(a.view());
  Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(columns);
  ASSERT_EQ(lu.info(), Eigen::Success);
  const Eigen::VectorXd expected = Eigen::VectorXd::LinSpaced(1000, 1, 2);
  const Eigen::VectorXd rhs = columns * expected;
  EXPECT_LE((columns * lu.solve(rhs) - rhs).norm(), 1e-10 * rhs.norm());
}

TEST(Plgraph, IsAGroundedLaplacian) {
  const double n = 2000;
  for (const int links : {1, 4, 7}) {
    const auto a = make("plgraph:2000,links=" + std::to_string(links));
    std::vector<double> sums(2000, 0.0);
    double degrees = 0.0;
    int low = 0;
    for_entries(a, [&](index_t i, index_t j, double value) {
      EXPECT_EQ(value, std::round(value));
      sums[static_cast<std::size_t>(i)] += value;
      if (i == j) {
        EXPECT_GE(value, 1.0);
        low += value < links ? 1 : 0;
        degrees += value;
      } else {
        EXPECT_LT(value, 0.0);
      }
    });
    EXPECT_LE(low, links) << "the first vertices alone have made no links";
    // Next to the ground, which has `links` links, a row sums to their number, elsewhere to zero.
    double grounded = 0.0;
    for (const double sum : sums) {
      EXPECT_GE(sum, 0.0);
      grounded += sum;
    }
    EXPECT_EQ(grounded, links);
    // Each vertex from number `links` on has made as many links, of two ends; the ends at the ground are missing.
    EXPECT_EQ(degrees, 2 * links * (n + 1 - links) - links);
    expect_identical(transpose(a.view()).view(), a.view());
    const Eigen::SparseMatrix<double> columns = to_eigen(a.view());
    const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(columns);
    ASSERT_EQ(factors.info(), Eigen::Success);
    EXPECT_GT(factors.vectorD().minCoeff(), 0.0);
  }
}

/// P(degree >= k) = m (m + 1) / (k (k + 1)) for m links in the limit (B. Bollobas, O. Riordan, J. Spencer, G. Tusnady,
/// Random Struct. Algor. 18, 2001), and the largest degree grows as m sqrt(n).
TEST(Plgraph, DegreesFollowThePowerLaw) {
  const double n = 50000;
  const auto a = make("plgraph:50000");
  std::vector<double> degrees;
  double beside = 0;
  for_entries(a, [&](index_t i, index_t j, double value) {
    if (i == j) degrees.push_back(value);
    if (std::abs(i - j) == 1) beside += 1;
  });
  for (const double k : {5.0, 8.0, 16.0, 40.0}) {
    const double p = 4 * 5 / (k * (k + 1));
    const auto count = std::count_if(degrees.begin(), degrees.end(), [&](double degree) { return degree >= k; });
    EXPECT_NEAR(static_cast<double>(count), n * p, five_deviations(n, p)) << k;
  }
  EXPECT_GT(*std::max_element(degrees.begin(), degrees.end()), std::sqrt(n));
  EXPECT_LT(*std::max_element(degrees.begin(), degrees.end()), 20 * std::sqrt(n));
  EXPECT_LT(beside, 40) << "renumbered at random: 16 expected";
}

TEST(Plgraph, SpecialGraphs) {
  // One link each: a tree, whose leaf is the ground.
  EXPECT_EQ(make("plgraph:777,links=1").nnz(), 3 * 777 - 2);
  // No more vertices than links: a star around the ground.
  for (const char* text : {"plgraph:1", "plgraph:4", "plgraph:3,links=1000"}) {
    const auto a = make(text);
    EXPECT_EQ(a.nnz(), a.rows()) << text;
    for (const double value : a.values().span()) EXPECT_EQ(value, 1.0) << text;
  }
}

TEST(NetworkFamilies, SeedsMatterAndMemoryIsForeseen) {
  for (const std::string family : {"circuit", "plgraph"}) {
    const auto one = make(family + ":2000,seed=1");
    const auto two = make(family + ":2000,seed=2");
    EXPECT_FALSE(testing::same_bytes(one.columns().span(), two.columns().span())) << family;
    // The matrix, and as many entries before they are added up, with values of double precision.
    const GeneratorSpec spec = parse_generator(family + ":20000");
    const auto needed = 2 * static_cast<double>(generate<double>(spec).bytes());
    EXPECT_NEAR(static_cast<double>(generated_bytes<double>(spec)), 1.005 * needed, 0.006 * needed) << family;
    EXPECT_THROW((void)parse_generator(family + ":2147483648"), InvalidArgument);
    EXPECT_GT(generated_bytes<double>(parse_generator(family + ":2147483647")), std::uint64_t{100'000'000'000});
  }
  EXPECT_THROW((void)parse_generator("plgraph:9,links=0"), InvalidArgument);
  EXPECT_THROW((void)parse_generator("plgraph:9,links=1.5"), InvalidArgument);
}

}  // namespace
}  // namespace tessera
