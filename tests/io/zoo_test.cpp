/// The random families: do their matrices have the statistics of their recipes (docs/generators.md), and does the same
/// spec always make the same matrix?
///
/// Bounds. A count of events with probability p in n trials has the standard deviation sqrt(n p (1 - p)); five of them
/// are allowed, and the seeds are fixed, so a test that passes once passes always.

#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/statistics.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;

template <class T = double>
Csr<T> make(const std::string& text, std::optional<ValueStorage> storage = {}) {
  return generate<T>(parse_generator(text), storage);
}

template <class T>
std::vector<offset_t> lengths(const Csr<T>& a) {
  std::vector<offset_t> result;
  for (index_t i = 0; i < a.rows(); ++i) result.push_back(a.row_offsets()[i + 1] - a.row_offsets()[i]);
  return result;
}

offset_t longest(const Csr<double>& a) {
  const auto all = lengths(a);
  return *std::max_element(all.begin(), all.end());
}

double five_deviations(double trials, double p) { return 5 * std::sqrt(trials * p * (1 - p)); }

/// Positions and values. A transpose that is right for this purpose is tested in preprocess.
template <class T>
void expect_symmetric(const Csr<T>& a) {
  expect_identical(transpose(a.view()).view(), a.view());
}

/// All values in [0, 1), with the mean 1/2 of the uniform distribution (variance 1/12).
template <class T>
void expect_uniform_values(const Csr<T>& a) {
  double sum = 0.0;
  for (const T value : a.values().span()) {
    ASSERT_GE(value, T{0});
    ASSERT_LT(value, T{1});
    sum += static_cast<double>(value);
  }
  const auto n = static_cast<double>(a.nnz());
  // In a symmetric matrix only half of the values are independent: the variance of the sum is 2 n / 12.
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(2.0 / 12.0 / n));
}

/// At least and at most so many entries in total.
void expect_near(offset_t count, double expected, double tolerance) {
  EXPECT_NEAR(static_cast<double>(count), expected, tolerance);
}

/// FNV-1a over all arrays, byte by byte in little-endian order.
template <class T>
std::uint64_t checksum(const Csr<T>& a) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  const auto add = [&](auto span) {
    for (const std::byte byte : std::as_bytes(span)) {
      hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
    }
  };
  add(a.row_offsets().span());
  add(a.columns().span());
  add(a.values().span());
  return hash;
}

TEST(Zoo, Lap2dIsTheFivePointStructure) {
  const auto a = make("lap2d:10000");
  validate(a.view());
  const auto poisson = poisson2d<double>(100, 100);
  EXPECT_TRUE(testing::same_bytes(a.row_offsets().span(), poisson.row_offsets().span()));
  EXPECT_TRUE(testing::same_bytes(a.columns().span(), poisson.columns().span()));
  expect_uniform_values(a);
  expect_symmetric(a);
  EXPECT_EQ(make("lap2d:9900").rows(), 9801);  // 99.5^2 = 9900.25: the nearer side is 99
  EXPECT_EQ(make("lap2d:9901").rows(), 10000);
}

TEST(Zoo, Fem3dIsThe27PointStructure) {
  const auto a = make("fem3d:9000");  // 20.8^3
  const auto poisson = poisson3d<double>(21, 21, 21, Stencil3d::twentyseven_point);
  EXPECT_TRUE(testing::same_bytes(a.row_offsets().span(), poisson.row_offsets().span()));
  EXPECT_TRUE(testing::same_bytes(a.columns().span(), poisson.columns().span()));
  expect_uniform_values(a);
  expect_symmetric(a);
}

TEST(Zoo, RmatIsTheGraphOfItsOptions) {
  const auto a = make<float>("rmat:3000,edge_factor=8,seed=7");
  RmatOptions options;
  options.scale = 12;
  options.edge_factor = 8;
  options.seed = 7;
  const auto graph = rmat<float>(options);
  EXPECT_TRUE(testing::same_bytes(a.row_offsets().span(), graph.row_offsets().span()));
  EXPECT_TRUE(testing::same_bytes(a.columns().span(), graph.columns().span()));
  expect_uniform_values(a);
  expect_identical(make<float>("powerlaw:4096,edge_factor=8,seed=7").view(), graph.view());
  expect_identical(make<float>("rmat:scale=12,edge_factor=8,seed=7").view(), a.view());
  EXPECT_EQ(statistics(a.view()).symmetry, Symmetry::none);
}

TEST(Zoo, RoadKeepsSixtyPercentOfTheGrid) {
  const std::int64_t side = 80;
  const auto a = make("road:6400");
  validate(a.view());
  expect_uniform_values(a);
  expect_symmetric(a);
  const auto edges = static_cast<double>(2 * side * (side - 1));
  expect_near(a.nnz(), 2 * 0.6 * edges, 2 * five_deviations(edges, 0.6));
  EXPECT_LE(longest(a), 4);
  for (index_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const std::int64_t step = std::abs(std::int64_t{a.columns()[k]} - i);
      const bool same_line = a.columns()[k] / side == i / side;
      ASSERT_TRUE(step == side || (step == 1 && same_line)) << i << ' ' << a.columns()[k];
    }
  }
  EXPECT_EQ(make("road:6400,keep=1").nnz(), 4 * side * (side - 1));
  EXPECT_EQ(make("road:6400,keep=0").nnz(), 0);
}

TEST(Zoo, KmerIsChainsAndAFewLinks) {
  const double n = 20000;
  const auto a = make("kmer:20000");
  validate(a.view());
  expect_uniform_values(a);
  expect_symmetric(a);
  // Chain and cross edges are independent coins; at most a handful of cross edges repeat others (expected
  // n p (1 + p) / n, well below 1 per thousand).
  const double tolerance = 2 * (five_deviations(n, 0.98) + five_deviations(n, 0.085)) + 10;
  expect_near(a.nnz(), 2 * n * (0.98 + 0.085), tolerance);
  EXPECT_LE(longest(a), 8);
  // Renumbered: next to no entry lies beside the diagonal, where an unshuffled chain has nearly all.
  offset_t beside = 0;
  for (index_t i = 0; i < a.rows(); ++i) {
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      beside += std::abs(a.columns()[k] - i) == 1 ? 1 : 0;
    }
  }
  EXPECT_LT(beside, 40);
  // A chain without gaps or crossings is one path: two ends, everything else of degree 2.
  const auto path = lengths(make("kmer:5000,chain=1,cross=0"));
  EXPECT_EQ(std::count(path.begin(), path.end(), 1), 2);
  EXPECT_EQ(std::count(path.begin(), path.end(), 2), 4998);
}

TEST(Zoo, MawiHasOneHub) {
  const double n = 30000;
  const auto a = make("mawi:30000");
  validate(a.view());
  expect_uniform_values(a);
  expect_symmetric(a);
  const auto all = lengths(a);
  const auto hub = std::max_element(all.begin(), all.end());
  EXPECT_EQ(hub - all.begin(), 10000);
  // The hub may gain some of the further edges, of which it is an end about 0.21 times on the busy side (if its rank
  // is low) and on the uniform side.
  expect_near(*hub, 0.84 * n, five_deviations(n, 0.84) + 0.01 * n);
  // 6300 further edges, of which few repeat another, meet the hub or are loops: below 10 %.
  EXPECT_LE(a.nnz(), static_cast<offset_t>(2 * (0.84 * n + five_deviations(n, 0.84) + 6300)));
  EXPECT_GE(a.nnz(), static_cast<offset_t>(2 * (0.84 * n - five_deviations(n, 0.84) + 0.9 * 6300)));
  // Their busy end is log-uniform: the busiest of n vertices has the share log(2) / log(n) = 6.7 %, a second hub.
  auto sorted = all;
  std::sort(sorted.rbegin(), sorted.rend());
  const double share = std::log(2.0) / std::log(n);
  expect_near(sorted[1], 6300 * share, five_deviations(6300, share) + 10);
}

TEST(Zoo, WebHasPowerLawRowsAndPopularColumns) {
  const std::int64_t n = 45000;  // longest row drawn: n / 150 = 300
  const auto a = make("web:45000");
  validate(a.view());
  expect_uniform_values(a);
  const auto all = lengths(a);
  EXPECT_LE(longest(a), 300);
  EXPECT_GT(longest(a), 150);
  EXPECT_GE(*std::min_element(all.begin(), all.end()), 1);
  // P(length >= x) = (2.2 / x)^1.1 before duplicates are removed, and those only shorten rows, by a few per cent: a
  // draw of length l meets one of the others in a window of at least 600 with l^2 / 1200 expected repetitions.
  const auto longer = [&](double x) {
    return static_cast<double>(
        std::count_if(all.begin(), all.end(), [&](offset_t l) { return static_cast<double>(l) >= x; }));
  };
  for (const double x : {3.0, 5.0, 10.0}) {
    const double p = std::pow(2.2 / x, 1.1);
    const auto rows = static_cast<double>(n);
    EXPECT_LE(longer(x), rows * p + five_deviations(rows, p)) << x;
    EXPECT_GE(longer(x), 0.95 * rows * p - five_deviations(rows, p)) << x;
  }
  // Short rows keep 80 % of their links within 300 of the diagonal; of the others, a few fall there by chance.
  double near = 0;
  double total = 0;
  for (index_t i = 0; i < a.rows(); ++i) {
    if (all[static_cast<std::size_t>(i)] > 20) continue;
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      near += std::abs(a.columns()[k] - i) <= 300 ? 1 : 0;
      total += 1;
    }
  }
  EXPECT_NEAR(near / total, 0.8 + 0.2 * 600 / static_cast<double>(n), 0.01);
  // The most popular page: rank 1 has the share (2^0.2 - 1) / ((n + 1)^0.2 - 1) of the far draws, 1.98 %, but a row
  // that draws it twice links to it once.
  const auto columns = lengths(transpose(a.view()));
  const double far = 0.2 * static_cast<double>(a.nnz());
  const double top = (std::pow(2.0, 0.2) - 1) / (std::pow(static_cast<double>(n) + 1, 0.2) - 1);
  const auto most = static_cast<double>(*std::max_element(columns.begin(), columns.end()));
  EXPECT_LE(most, 1.1 * top * far);
  EXPECT_GE(most, 0.6 * top * far);
}

TEST(Zoo, BandIsFull) {
  const auto a = make("band:1000");
  validate(a.view());
  expect_uniform_values(a);
  for (index_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(a.row_offsets()[i], 200 * i);
    const index_t first = a.columns()[std::int64_t{200} * i];
    ASSERT_EQ(first, std::clamp(i - 100, 0, 800));
    ASSERT_EQ(a.columns()[std::int64_t{200} * i + 199], first + 199);
  }
  EXPECT_EQ(make("band:50").nnz(), 2500);
  EXPECT_EQ(make("band:50,width=3").nnz(), 150);
}

TEST(Zoo, RowskewHasFourKindsOfRows) {
  const double n = 10000;
  const auto a = make("rowskew:10000");
  validate(a.view());
  expect_uniform_values(a);
  const auto all = lengths(a);
  const auto count = [&](offset_t least, offset_t most) {
    return std::count_if(all.begin(), all.end(), [&](offset_t l) { return l >= least && l <= most; });
  };
  EXPECT_EQ(count(1000, 1000), 200);
  const double light = n - 200;
  for (const offset_t length : {0, 1, 2}) expect_near(count(length, length), 0.3 * light, five_deviations(light, 0.3));
  expect_near(count(4, 60), 0.1 * light, five_deviations(light, 0.1));
  EXPECT_EQ(count(0, 2) + count(4, 60) + 200, 10000);
  // One heavy row in each two-hundredth of the matrix.
  for (std::size_t part = 0; part < 200; ++part) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(50 * part);
    ASSERT_EQ(std::count(begin, begin + 50, 1000), 1) << part;
  }
  EXPECT_EQ(
      make("rowskew:10000,heavy=0").nnz(), a.nnz() - 200 * 1000 + [&] {
        // Rows that were heavy have their light length instead.
        const auto without = lengths(make("rowskew:10000,heavy=0"));
        offset_t sum = 0;
        for (std::size_t i = 0; i < all.size(); ++i) sum += all[i] == 1000 ? without[i] : 0;
        return sum;
      }());
}

TEST(Zoo, SmallestSizes) {
  for (const GeneratorFamily& family : generator_families()) {
    for (const std::int64_t size : {1, 2, 3, 11}) {
      if (size < family.min_size) continue;
      const auto a = make<float>(std::string(family.name) + ':' + std::to_string(size));
      validate(a.view());
      EXPECT_GE(a.rows(), 1) << family.name;
      EXPECT_TRUE(a.view().is_square()) << family.name;
      EXPECT_EQ(a.is_pattern(), family.storage == ValueStorage::pattern) << family.name;
      if (family.symmetric) expect_symmetric(a);
    }
  }
}

TEST(Zoo, PatternIsTheMatrixWithoutValues) {
  for (const GeneratorFamily& family : generator_families()) {
    const std::string text = std::string(family.name) + (family.max_size < 2000 ? ":9" : ":700");
    const auto weighted = make(text, ValueStorage::weighted);
    const auto pattern = make(text, ValueStorage::pattern);
    EXPECT_FALSE(weighted.is_pattern()) << text;
    EXPECT_TRUE(pattern.is_pattern()) << text;
    EXPECT_TRUE(testing::same_bytes(weighted.row_offsets().span(), pattern.row_offsets().span())) << text;
    EXPECT_TRUE(testing::same_bytes(weighted.columns().span(), pattern.columns().span())) << text;
  }
}

TEST(Zoo, SeedsMatter) {
  for (const std::string family : {"rmat", "road", "kmer", "mawi", "web", "rowskew", "band", "lap2d"}) {
    EXPECT_NE(checksum(make(family + ":1000,seed=1")), checksum(make(family + ":1000,seed=2"))) << family;
    EXPECT_EQ(checksum(make(family + ":1000,seed=1")), checksum(make(family + ":1000,seed=1"))) << family;
  }
}

TEST(Zoo, FloatsAreTheDoublesCutShort) {
  const auto a = make<float>("kmer:3000");
  const auto b = make<double>("kmer:3000");
  for (offset_t k = 0; k < a.nnz(); ++k) {
    ASSERT_EQ(static_cast<double>(a.values()[k]), std::floor(b.values()[k] * 0x1p24) * 0x1p-24);
  }
}

struct Golden {
  const char* text;
  std::uint64_t checksum;
};

/// Written down once from this code: the matrices of a spec are never to change.
constexpr Golden golden[] = {
    {"lap2d:10000", 51332470237542371U},
    {"fem3d:9261", 16242240214219146818U},
    {"rmat:8192", 14377183793750679609U},
    {"road:10000", 12463981137427954744U},
    {"kmer:9000", 6456764099282232237U},
    {"mawi:9000", 2529495512102976672U},
    {"web:9000", 2090531702013604658U},
    {"band:9000", 1296111778097313364U},
    {"rowskew:9000", 6625678627984576124U},
    {"jump3d:20", 12093216420594195563U},
    {"elasticity3d:9", 14903271320431135231U},
    {"poisson3d:12,shuffle=1", 16672997416610322641U},
    {"poisson2d:31,neumann=1", 16990951762442127298U},
    {"anisotropic3d:12", 1167917785035435488U},
    {"rotaniso2d:60", 4683207422845835462U},
    {"helmholtz2d:60", 2827534641443005468U},
    {"stokes2d:40", 8385997654317329128U},
    {"recirc3d:20", 8511877018341482865U},
    {"circuit:30000", 6175573798364735827U},
    {"plgraph:30000", 13896214728172929600U},
};

TEST(Zoo, GoldenChecksumsForEveryNumberOfThreads) {
  for (const Golden& g : golden) {
    for (const int count : {1, 2, 5}) {
      set_default_host_threads(count);
      EXPECT_EQ(checksum(make(g.text)), g.checksum) << g.text << " with " << count << " threads";
    }
  }
  set_default_host_threads(0);
}

}  // namespace
}  // namespace tessera
