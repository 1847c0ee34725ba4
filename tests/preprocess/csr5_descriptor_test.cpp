#include "preprocess/csr5_descriptor.hpp"

#include "tests/preprocess/naive_path.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

TEST(Csr5Descriptor, WidthLimits) {
  static_assert(csr5_max_sigma(32) == 17);
  static_assert(csr5_max_sigma(64) == 48);
  for (int sigma = 1; sigma <= 60; ++sigma) {
    // The most starts before the last lane, and no bit more than they need.
    const int bits = csr5_y_offset_bits(sigma);
    EXPECT_LT(31 * sigma, 1 << bits);
    EXPECT_GT(32 * sigma, 1 << (bits - 1));
    EXPECT_EQ(sigma <= 17, sigma + bits + 5 <= 32) << sigma;
    EXPECT_EQ(sigma <= 48, sigma + bits + 5 <= 64) << sigma;
  }
}

template <class Word>
class Csr5Word : public ::testing::Test {};
using Words = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Csr5Word, Words);

TYPED_TEST(Csr5Word, EverySmallDescriptorComesBack) {
  for (int sigma = 1; sigma <= 4; ++sigma) {
    for (TypeParam starts = 0; starts < TypeParam{1} << sigma; ++starts) {
      for (std::uint32_t y = 0; y <= 31U * static_cast<unsigned>(sigma); ++y) {
        for (std::uint32_t seg = 0; seg < 32; ++seg) {
          const Csr5Lane<TypeParam> lane{starts, y, seg};
          ASSERT_EQ(unpack_csr5_lane(pack_csr5_lane(lane, sigma), sigma), lane);
        }
      }
    }
  }
}

TYPED_TEST(Csr5Word, ExtremesAndRandomContentOfEverySigmaComeBack) {
  std::mt19937_64 generator(5);
  const int largest = csr5_max_sigma(static_cast<int>(8 * sizeof(TypeParam)));
  for (int sigma = 1; sigma <= largest; ++sigma) {
    const auto all_starts = static_cast<TypeParam>((TypeParam{1} << sigma) - 1);
    const auto most_before = static_cast<std::uint32_t>(31 * sigma);
    for (int i = 0; i < 200; ++i) {
      const Csr5Lane<TypeParam> lane{i == 0 ? all_starts : static_cast<TypeParam>(generator() & all_starts),
                                     i < 2 ? most_before : static_cast<std::uint32_t>(generator() % (most_before + 1)),
                                     i < 3 ? 31U : static_cast<std::uint32_t>(generator() % 32)};
      ASSERT_EQ(unpack_csr5_lane(pack_csr5_lane(lane, sigma), sigma), lane) << sigma;
    }
  }
}

TYPED_TEST(Csr5Word, RowStartsOfEverySmallMatrix) {
  for (const auto& offsets : testing::all_small_offsets(4, 3)) {
    const auto rows = static_cast<index_t>(offsets.size() - 1);
    std::set<offset_t> starts;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      if (offsets[i] < offsets[i + 1]) starts.insert(offsets[i]);
    }
    for (int sigma = 1; sigma <= 5; ++sigma) {
      for (offset_t begin = 0; begin + sigma <= offsets.back(); ++begin) {
        index_t row = first_row_from(offsets.data(), rows, begin);
        const auto flags = csr5_row_starts<TypeParam>(offsets.data(), rows, begin, sigma, row);
        for (int j = 0; j < sigma; ++j) ASSERT_EQ(flags >> j & 1, starts.contains(begin + j) ? 1U : 0U);
        ASSERT_EQ(flags >> sigma, 0U);
        ASSERT_EQ(row, first_row_from(offsets.data(), rows, begin + sigma));
      }
    }
  }
}

TYPED_TEST(Csr5Word, LanesBeyond32Bits) {
  constexpr offset_t length = (offset_t{1} << 31) + 5;
  const std::vector<offset_t> offsets{0, length, length, 2 * length, 3 * length};
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, length - 1), 0);
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, length), 2);
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, 3 * length - 1), 3);
  const offset_t begin = 2 * length - 3;
  index_t row = first_row_from(offsets.data(), 4, begin);
  EXPECT_EQ(row, 3);
  EXPECT_EQ(csr5_row_starts<TypeParam>(offsets.data(), 4, begin, 8, row), TypeParam{1} << 3);
  EXPECT_EQ(row, 4);
}

TEST(Csr5Descriptor, RowsByDefinition) {
  for (const auto& offsets : testing::all_small_offsets(5, 2)) {
    const auto rows = static_cast<index_t>(offsets.size() - 1);
    for (offset_t k = 0; k <= offsets.back(); ++k) {
      index_t first = 0;
      while (first < rows && offsets[static_cast<std::size_t>(first)] < k) ++first;
      ASSERT_EQ(first_row_from(offsets.data(), rows, k), first);
      if (k == offsets.back()) continue;
      const auto row = static_cast<std::size_t>(row_of_nonzero(offsets.data(), rows, k));
      ASSERT_LE(offsets[row], k);
      ASSERT_GT(offsets[row + 1], k);
    }
  }
}

TEST(Csr5Descriptor, SegOffsetCountsLanesWithoutAStart) {
  std::mt19937_64 generator(7);
  for (int i = 0; i < 2000; ++i) {
    auto starting = static_cast<std::uint32_t>(generator());
    for (int sparse = i % 6; sparse > 0; --sparse) starting &= static_cast<std::uint32_t>(generator());
    if (i == 0) starting = 0;
    for (int lane = 0; lane < 32; ++lane) {
      std::uint32_t expected = 0;
      for (int later = lane + 1; later < 32 && (starting >> later & 1) == 0; ++later) ++expected;
      ASSERT_EQ(csr5_seg_offset(starting, lane), expected) << starting << ", lane " << lane;
    }
  }
}

TEST(Csr5Descriptor, PositionsTransposeATile) {
  for (const int sigma : {1, 2, 5, 17, 32, 48}) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int j = 0; j < sigma; ++j) ASSERT_EQ(csr5_position(lane * sigma + j, sigma), j * 32 + lane);
    }
  }
}

}  // namespace
}  // namespace tessera
