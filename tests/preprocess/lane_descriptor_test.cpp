#include "preprocess/lane_descriptor.hpp"

#include "tests/preprocess/naive_path.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

TEST(LaneDescriptor, WidthLimits) {
  static_assert(max_sigma(32) == 22);
  static_assert(max_sigma(64) == 53);
  for (int sigma = 1; sigma <= 60; ++sigma) {
    // The largest offset a lane can have is that of lane 31 after row ends only.
    EXPECT_LT(31 * sigma, 1 << y_offset_bits(sigma));
    EXPECT_EQ(sigma <= 22, sigma + y_offset_bits(sigma) <= 32) << sigma;
    EXPECT_EQ(sigma <= 53, sigma + y_offset_bits(sigma) <= 64) << sigma;
  }
}

template <class Word>
class LaneWord : public ::testing::Test {};
using Words = ::testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(LaneWord, Words);

TYPED_TEST(LaneWord, EverySmallDescriptorComesBack) {
  for (int sigma = 1; sigma <= 7; ++sigma) {
    for (TypeParam flags = 0; flags < TypeParam{1} << sigma; ++flags) {
      for (std::uint32_t y = 0; y <= 32U * static_cast<unsigned>(sigma); ++y) {
        const LaneItems<TypeParam> lane{flags, y};
        ASSERT_EQ(unpack_lane(pack_lane(lane, sigma), sigma), lane);
      }
    }
  }
}

TYPED_TEST(LaneWord, ExtremesAndRandomContentOfEverySigmaComeBack) {
  std::mt19937_64 generator(5);
  const int largest = max_sigma(static_cast<int>(8 * sizeof(TypeParam)));
  for (int sigma = 1; sigma <= largest; ++sigma) {
    const auto all_flags = static_cast<TypeParam>((TypeParam{1} << sigma) - 1);
    const auto largest_offset = static_cast<std::uint32_t>(lanes_per_tile * sigma);
    for (int i = 0; i < 200; ++i) {
      const LaneItems<TypeParam> lane{
          i == 0 ? all_flags : static_cast<TypeParam>(generator() & all_flags),
          i < 2 ? largest_offset : static_cast<std::uint32_t>(generator() % (largest_offset + 1))};
      ASSERT_EQ(unpack_lane(pack_lane(lane, sigma), sigma), lane) << sigma;
    }
  }
}

TYPED_TEST(LaneWord, ClosedRunsOfEveryLane) {
  for (int items = 0; items <= 8; ++items) {
    for (TypeParam flags = 0; flags < TypeParam{1} << items; ++flags) {
      std::vector<int> expected{0};
      for (int item = 0; item < items; ++item) {
        if ((flags >> item & 1) != 0) {
          expected.push_back(0);
        } else {
          ++expected.back();
        }
      }
      std::vector<int> runs;
      const int open = for_each_closed_run(flags, items, [&](int length) { runs.push_back(length); });
      runs.push_back(open);
      ASSERT_EQ(runs, expected) << "flags " << flags << ", items " << items;
    }
  }
}

TYPED_TEST(LaneWord, LocatedLanesAreThePath) {
  for (const auto& offsets : testing::all_small_offsets(4, 3)) {
    const auto path = testing::naive_path(offsets);
    const auto rows = static_cast<index_t>(offsets.size() - 1);
    const auto length = static_cast<offset_t>(path.size()) - 1;
    for (int sigma = 1; sigma <= 6; ++sigma) {
      for (offset_t lane = 0; (lane - 1) * sigma <= length; ++lane) {
        const auto located = locate_lane<TypeParam>(offsets.data(), rows, offsets.back(), sigma, lane);
        const auto begin = static_cast<std::size_t>(std::min(lane * sigma, length));
        const auto end = static_cast<std::size_t>(std::min((lane + 1) * sigma, length));
        ASSERT_EQ(lane_item_count(length, sigma, lane), static_cast<int>(end - begin));
        ASSERT_EQ(located.start, path[begin]);
        ASSERT_EQ(located.end, path[end]);
        for (std::size_t i = begin; i < end; ++i) {
          ASSERT_EQ(located.down_flags >> (i - begin) & 1, path[i + 1].y > path[i].y ? 1U : 0U);
        }
        ASSERT_EQ(located.down_flags >> (end - begin), 0U);
      }
    }
  }
}

TYPED_TEST(LaneWord, LanesOfAPathBeyond32Bits) {
  constexpr offset_t length = (offset_t{1} << 31) + 5;
  const std::vector<offset_t> offsets{0, length, 2 * length, 3 * length};
  // The lane in which row 1 is closed, by the item from diagonal 2 * length + 1.
  const int sigma = 8;
  const offset_t lane = (2 * length + 1) / sigma;
  const auto item = static_cast<int>((2 * length + 1) % sigma);
  const auto located = locate_lane<TypeParam>(offsets.data(), 3, 3 * length, sigma, lane);
  EXPECT_EQ(located.start, (PathPoint{lane * sigma - 1, 1}));
  EXPECT_EQ(located.down_flags, TypeParam{1} << item);
  EXPECT_EQ(located.end, (PathPoint{lane * sigma + sigma - 2, 2}));
}

}  // namespace
}  // namespace tessera
