// Shared memory of warps that own a row each.
#include "spgemm/cuda/warp_slices.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace tessera::cuda {
namespace {

TEST(WarpSlices, WordsOfAWindowAreEnoughWhereverItBegins) {
  for (const index_t width : {1, 2, 31, 32, 33, 34, 63, 64, 65, 1024, 99999}) {
    std::int64_t most = 0;
    for (index_t first = 0; first < 64; ++first)
      most = std::max<std::int64_t>(most, (first + width - 1) / 32 - first / 32 + 1);
    EXPECT_EQ(window_words(width), most) << width;
  }
  EXPECT_EQ(window_words(0), 0);
}

TEST(WarpSlices, BytesOfAWindow) {
  EXPECT_EQ(window_bytes(0, 0, 0), 256);
  EXPECT_EQ(window_bytes(1, 0, 0), 256 + 16);
  EXPECT_EQ(window_bytes(1000, 50, 0), 256 + 144) << "positions need no room for entries";
  EXPECT_EQ(window_bytes(1000, 50, 8), 512 + 33 * 8 + 50 * 12);
  EXPECT_EQ(window_bytes(1000, 50, 4), 512 + 33 * 8 + 50 * 8 + 8) << "a multiple of 16";
  constexpr index_t most = std::numeric_limits<index_t>::max();
  EXPECT_GT(window_bytes(most, most, 8), std::int64_t{12} * most) << "nothing overflows";
}

TEST(WarpSlices, BytesOfADenseRow) {
  EXPECT_EQ(dense_bytes(0, 8), 512);
  EXPECT_EQ(dense_bytes(17, 8), 512 + 144 + 32);
  EXPECT_EQ(dense_bytes(17, 0), 256 + 32);
}

TEST(WarpSlices, BlocksHaveAsManyWarpsAsKeepMostOfThemResident) {
  EXPECT_EQ(warps_of_block(256), 4);
  EXPECT_EQ(warps_of_block(largest_slice_bytes), 1);
  EXPECT_EQ(warps_of_block(largest_slice_bytes / 2), 2);
  EXPECT_EQ(warps_of_block(std::int64_t{70} * 1024), 1) << "three blocks of one warp, or one block of two";
  for (std::int64_t slice = 256; slice <= largest_slice_bytes; slice += 16) {
    const int warps = warps_of_block(slice);
    ASSERT_LE(warps * slice, largest_slice_bytes);
    for (const int other : {1, 2, 4}) {
      if (other * slice > largest_slice_bytes) continue;
      ASSERT_GE(resident_warps(warps, slice), resident_warps(other, slice)) << slice;
    }
  }
}

TEST(WarpSlices, LanesFollowTheLengthOfLists) {
  EXPECT_EQ(lanes_of_list(0), 8);
  EXPECT_EQ(lanes_of_list(8), 8);
  EXPECT_EQ(lanes_of_list(8.5), 16);
  EXPECT_EQ(lanes_of_list(16), 16);
  EXPECT_EQ(lanes_of_list(27), 32);
}

}  // namespace
}  // namespace tessera::cuda
