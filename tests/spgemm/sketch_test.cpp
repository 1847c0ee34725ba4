// HyperLogLog sketches and Cohen's keys: marks by hand, unions, errors over many sets.
#include "spgemm/common/sketches.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace tessera::detail {
namespace {

TEST(Sketch, HashIsABijection) {
  // Invertible steps: no two of many words collide.
  std::set<std::uint32_t> seen;
  for (std::uint32_t x = 0; x < 200000; ++x) seen.insert(sketch_hash(x * 7919U));
  EXPECT_EQ(seen.size(), 200000U);
}

TEST(Sketch, MarksByHand) {
  static_assert(sketch_mark<32>(0x80000000U) == SketchMark{0, 1});
  static_assert(sketch_mark<32>(0x40000003U) == SketchMark{3, 2});
  static_assert(sketch_mark<32>(0x0000001fU) == SketchMark{31, 28});  // 27 zeros, nothing behind them
  static_assert(sketch_mark<32>(0x0000003fU) == SketchMark{31, 27});
  static_assert(sketch_mark<64>(0x0000003fU) == SketchMark{63, 27});
  static_assert(sketch_mark<128>(0x00000000U) == SketchMark{0, 26});
  static_assert(sketch_mark<128>(0xffffffffU) == SketchMark{127, 1});
}

TEST(Sketch, Constants) {
  EXPECT_EQ(sketch_alpha(32), 0.697);
  EXPECT_EQ(sketch_alpha(64), 0.709);
  EXPECT_NEAR(sketch_alpha(128), 0.715, 5e-4);
  EXPECT_NEAR(sketch_error(64), 0.13, 1e-12);
}

template <int M>
std::array<std::uint8_t, std::size_t{M}> sketch_of(const std::vector<index_t>& columns) {
  std::array<std::uint8_t, std::size_t{M}> registers{};
  for (const index_t column : columns) sketch_insert<M>(registers.data(), column);
  return registers;
}

template <int M>
void expect_union() {
  std::mt19937_64 generator(M);
  for (int round = 0; round < 50; ++round) {
    std::vector<index_t> a(generator() % 300);
    std::vector<index_t> b(generator() % 300);
    for (index_t& x : a) x = static_cast<index_t>(generator() % 1000);
    for (index_t& x : b) x = static_cast<index_t>(generator() % 1000);
    auto merged = sketch_of<M>(a);
    sketch_merge<M>(merged.data(), sketch_of<M>(b).data());
    a.insert(a.end(), b.begin(), b.end());
    ASSERT_EQ(merged, sketch_of<M>(a));
  }
}

TEST(Sketch, MergeIsUnion) {
  expect_union<32>();
  expect_union<64>();
  expect_union<128>();
}

TEST(Sketch, EmptyAndSingle) {
  EXPECT_EQ(sketch_estimate<32>(sketch_of<32>({}).data()), 0.0);
  EXPECT_NEAR(sketch_estimate<64>(sketch_of<64>({7, 7, 7}).data()), 64 * std::log(64.0 / 63), 1e-12);
}

/// Sets like the rows of products: 4 to 4000 distinct columns, sizes uniform in the logarithm, columns scattered over
/// 10^6 or next to each other.
struct Sets {
  std::vector<std::vector<index_t>> sets;
  Sets() {
    std::mt19937_64 generator(11);
    for (int k = 0; k < 4000; ++k) {
      const auto size =
          static_cast<index_t>(4.0 * std::pow(1000.0, static_cast<double>(generator() % 10000) / 10000.0));
      std::set<index_t> columns;
      const auto start = static_cast<index_t>(generator() % 1000000);
      for (index_t j = 0; static_cast<index_t>(columns.size()) < size; ++j) {
        columns.insert(k % 2 == 0 ? start + j : static_cast<index_t>(generator() % 1000000));
      }
      sets.emplace_back(columns.begin(), columns.end());
    }
  }
};

const std::vector<std::vector<index_t>>& some_sets() {
  static const Sets sets;
  return sets.sets;
}

/// Mean of |estimate - size| / size; its own standard error over 4000 sets is below 0.002.
template <class Estimate>
double mean_error(Estimate&& estimate) {
  double sum = 0.0;
  for (const auto& set : some_sets()) {
    const auto size = static_cast<double>(set.size());
    sum += std::fabs(estimate(set) - size) / size;
  }
  return sum / static_cast<double>(some_sets().size());
}

template <int M>
double sketch_mean_error() {
  return mean_error([](const std::vector<index_t>& set) { return sketch_estimate<M>(sketch_of<M>(set).data()); });
}

TEST(Sketch, MeanErrorsOfThePaper) {
  // Ocean, §5.3: 0.13, 0.10, 0.07 for 32, 64, 128 registers.
  const double noise = 0.006;
  EXPECT_LE(sketch_mean_error<32>(), 0.13 + noise);
  EXPECT_LE(sketch_mean_error<64>(), 0.10 + noise);
  EXPECT_LE(sketch_mean_error<128>(), 0.07 + noise);
  EXPECT_GE(sketch_mean_error<32>(), 0.08) << "too good to be an estimate";
}

template <int K>
std::array<std::uint32_t, std::size_t{K}> keys_of(const std::vector<index_t>& columns) {
  std::array<std::uint32_t, std::size_t{K}> keys{};
  for (const index_t column : columns) cohen_insert<K>(keys.data(), column);
  return keys;
}

template <int K>
double cohen_mean_error() {
  return mean_error([](const std::vector<index_t>& set) { return cohen_estimate<K>(keys_of<K>(set).data()); });
}

TEST(Cohen, MergeIsUnion) {
  auto merged = keys_of<32>({1, 5, 9});
  cohen_merge<32>(merged.data(), keys_of<32>({5, 70000}).data());
  EXPECT_EQ(merged, keys_of<32>({70000, 9, 5, 1}));
}

TEST(Cohen, ErrorFallsWithTheKeys) {
  // A normal error of 1 / sqrt(K - 2) has the mean magnitude sqrt(2 / pi) of it.
  const double mean_of_normal = std::sqrt(2.0 / 3.14159265358979);
  EXPECT_NEAR(cohen_mean_error<32>(), mean_of_normal * cohen_error(32), 0.012);
  EXPECT_NEAR(cohen_mean_error<64>(), mean_of_normal * cohen_error(64), 0.01);
  EXPECT_NEAR(cohen_mean_error<128>(), mean_of_normal * cohen_error(128), 0.008);
}

}  // namespace
}  // namespace tessera::detail
