#include "core/random.hpp"
#include "tessera/assemble.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;

std::vector<offset_t> sorted_out_degrees(const Csr<float>& graph) {
  std::vector<offset_t> degrees;
  for (index_t i = 0; i < graph.rows(); ++i) {
    degrees.push_back(graph.row_offsets()[i + 1] - graph.row_offsets()[i]);
  }
  std::sort(degrees.rbegin(), degrees.rend());
  return degrees;
}

TEST(SplitMix64, PublishedSequence) {
  // First outputs for seed 1234567, from the reference implementation in the public domain by S. Vigna.
  detail::SplitMix64 random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317U);
  EXPECT_EQ(random.next(), 3203168211198807973U);
  EXPECT_EQ(random.next(), 9817491932198370423U);
}

TEST(Scramble, IsABijection) {
  for (int bits = 0; bits <= 14; ++bits) {
    for (const std::uint64_t seed : {0U, 1U, 42U}) {
      const detail::Scramble scramble(bits, seed);
      std::vector<int> hits(std::size_t{1} << bits);
      for (std::uint64_t x = 0; x < hits.size(); ++x) {
        ASSERT_LT(scramble(x), hits.size());
        ++hits[scramble(x)];
      }
      EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](int h) { return h == 1; })) << bits;
    }
  }
}

TEST(Permutation, IsABijection) {
  for (const std::uint64_t n : {1U, 2U, 3U, 7U, 64U, 65U, 1000U}) {
    const detail::Permutation permutation(n, 42);
    std::vector<int> hits(n);
    for (std::uint64_t x = 0; x < n; ++x) {
      ASSERT_LT(permutation(x), n);
      ++hits[permutation(x)];
    }
    EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](int h) { return h == 1; })) << n;
  }
}

TEST(SplitMix64, BoundsAndIntervals) {
  detail::SplitMix64 random(3);
  std::vector<int> hits(6);
  for (int i = 0; i < 6000; ++i) ++hits.at(random.below(6));
  // 1000 expected each, standard deviation 29: five of them allowed.
  for (const int h : hits) EXPECT_NEAR(h, 1000, 145);
  EXPECT_EQ(detail::unit_interval<float>(~std::uint64_t{0}), 1.0F - 0x1p-24F);
  EXPECT_EQ(detail::unit_interval<double>(~std::uint64_t{0}), 1.0 - 0x1p-53);
  EXPECT_EQ(detail::unit_interval<float>(0), 0.0F);
}

TEST(Rmat, EqualsAnAssemblyOfItsEdges) {
  // The quadrant descent and the numbering, written out again.
  RmatOptions options;
  options.scale = 9;
  std::vector<index_t> rows;
  std::vector<index_t> columns;
  const detail::Scramble scramble(9, 42);
  for (std::uint64_t k = 0; k < 16U << 9U; ++k) {
    detail::SplitMix64 random(42, k);
    std::uint64_t row = 0;
    std::uint64_t column = 0;
    for (int level = 0; level < 9; ++level) {
      const double r = random.uniform();
      row = 2 * row + (r >= 0.57 + 0.19 ? 1 : 0);
      column = 2 * column + ((r >= 0.57 && r < 0.57 + 0.19) || r >= 0.57 + 0.19 + 0.19 ? 1 : 0);
    }
    rows.push_back(static_cast<index_t>(scramble(row)));
    columns.push_back(static_cast<index_t>(scramble(column)));
  }
  const auto assembled = assemble<float>(512, 512, rows, columns, {}, ValueStorage::pattern).matrix;
  expect_identical(rmat<float>(options).view(), assembled.view());
}

TEST(Rmat, SameForEveryNumberOfThreads) {
  RmatOptions options;
  options.scale = 12;
  set_default_host_threads(1);
  const auto one = rmat<double>(options);
  set_default_host_threads(5);
  const auto five = rmat<double>(options);
  set_default_host_threads(0);
  validate(one.view());
  EXPECT_TRUE(one.is_pattern());
  expect_identical(five.view(), one.view());
}

TEST(Rmat, SeedAndScrambleMatter) {
  RmatOptions options;
  options.scale = 10;
  const auto first = rmat<float>(options);
  options.seed = 43;
  EXPECT_FALSE(testing::same_bytes(rmat<float>(options).columns().span(), first.columns().span()));
  options.seed = 42;
  options.scramble_ids = false;
  const auto plain = rmat<float>(options);
  EXPECT_FALSE(testing::same_bytes(plain.columns().span(), first.columns().span()));
  // Renumbering changes no degrees.
  EXPECT_EQ(sorted_out_degrees(plain), sorted_out_degrees(first));
  EXPECT_EQ(plain.nnz(), first.nnz());
}

TEST(Rmat, QuadrantsHaveTheirProbabilities) {
  // Without duplicates to speak of: 2^16 edges among 2^40 places; counts are binomial, 5 standard deviations allowed.
  RmatOptions options;
  options.scale = 20;
  options.edge_factor = 1.0 / 16.0;
  options.scramble_ids = false;
  const auto graph = rmat<float>(options);
  const double drawn = 65536;
  ASSERT_GT(static_cast<double>(graph.nnz()), 0.99 * drawn);
  double counts[4] = {};
  const index_t half = graph.rows() / 2;
  for (index_t i = 0; i < graph.rows(); ++i) {
    for (offset_t k = graph.row_offsets()[i]; k < graph.row_offsets()[i + 1]; ++k) {
      counts[(i < half ? 0 : 2) + (graph.columns()[k] < half ? 0 : 1)] += 1;
    }
  }
  const double probabilities[4] = {0.57, 0.19, 0.19, 0.05};
  for (int q = 0; q < 4; ++q) {
    const double p = probabilities[q];
    EXPECT_NEAR(counts[q] / static_cast<double>(graph.nnz()), p, 5 * std::sqrt(p * (1 - p) / drawn)) << q;
  }
}

TEST(Rmat, DegreesAreSkewed) {
  RmatOptions options;
  options.scale = 14;
  const auto graph = rmat<float>(options);
  const auto degrees = sorted_out_degrees(graph);
  const double mean = static_cast<double>(graph.nnz()) / static_cast<double>(graph.rows());
  EXPECT_GT(mean, 10.0);
  EXPECT_LE(graph.nnz(), 16 * graph.rows());
  EXPECT_GT(static_cast<double>(degrees.front()), 30 * mean);
  EXPECT_EQ(degrees.back(), 0);
  // With equal quadrants there are no hubs: the same statistic is near the one of a Poisson distribution.
  options.a = options.b = options.c = 0.25;
  const auto uniform = sorted_out_degrees(rmat<float>(options));
  EXPECT_LT(static_cast<double>(uniform.front()), 4 * mean);
}

TEST(Rmat, SmallestAndDegenerate) {
  RmatOptions options;
  options.scale = 0;
  const auto loop = rmat<double>(options);
  EXPECT_EQ(loop.rows(), 1);
  EXPECT_EQ(loop.nnz(), 1);
  options.edge_factor = 0;
  EXPECT_EQ(rmat<double>(options).nnz(), 0);
  options = {};
  options.scale = 8;
  options.a = 1;
  options.b = options.c = 0;
  EXPECT_EQ(rmat<double>(options).nnz(), 1);
}

TEST(Rmat, OptionsAreChecked) {
  const auto refused = [](auto&& change) {
    RmatOptions options;
    options.scale = 4;
    change(options);
    EXPECT_THROW(static_cast<void>(rmat<double>(options)), InvalidArgument);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([](RmatOptions& o) { o.scale = -1; });
  refused([](RmatOptions& o) { o.scale = 31; });
  refused([](RmatOptions& o) { o.edge_factor = -1; });
  refused([](RmatOptions& o) { o.edge_factor = 1e300; });
  refused([&](RmatOptions& o) { o.edge_factor = nan; });
  refused([](RmatOptions& o) { o.a = -0.1; });
  refused([](RmatOptions& o) { o.b = 0.5; });
  refused([&](RmatOptions& o) { o.c = nan; });
}

}  // namespace
}  // namespace tessera
