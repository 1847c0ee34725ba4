// Shared memory of warps that own a row each.
#include "spgemm/cuda/accumulators/tuning.hpp"
#include "tests/spgemm/device_limits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace tessera::cuda {
namespace {

TEST(WarpMemory, WordsOfAWindowAreEnoughWhereverItBegins) {
  for (const index_t width : {1, 2, 31, 32, 33, 34, 63, 64, 65, 1024, 99999}) {
    std::int64_t most = 0;
    for (index_t first = 0; first < 64; ++first)
      most = std::max<std::int64_t>(most, (first + width - 1) / 32 - first / 32 + 1);
    EXPECT_EQ(bitmap_words(width), most) << width;
  }
  EXPECT_EQ(bitmap_words(0), 0);
}

TEST(WarpMemory, BytesOfAWindow) {
  EXPECT_EQ(bitmap_warp_bytes(0, 0, 0), 256);
  EXPECT_EQ(bitmap_warp_bytes(1, 0, 0), 256 + 16);
  EXPECT_EQ(bitmap_warp_bytes(1000, 50, 0), 256 + 144) << "positions need no room for entries";
  EXPECT_EQ(bitmap_warp_bytes(1000, 50, 8), 512 + 33 * 8 + 50 * 12);
  EXPECT_EQ(bitmap_warp_bytes(1000, 50, 4), 512 + 33 * 8 + 50 * 8 + 8) << "a multiple of 16";
  constexpr index_t most = std::numeric_limits<index_t>::max();
  EXPECT_GT(bitmap_warp_bytes(most, most, 8), std::int64_t{12} * most) << "nothing overflows";
}

TEST(WarpMemory, BytesOfADenseRow) {
  EXPECT_EQ(dense_warp_bytes(0, 8), 512);
  EXPECT_EQ(dense_warp_bytes(17, 8), 512 + 144 + 32);
  EXPECT_EQ(dense_warp_bytes(17, 0), 256 + 32);
}

TEST(WarpMemory, BlocksHaveAsManyWarpsAsKeepMostOfThemResident) {
  for (const DeviceLimits& limits : testing::all_limits) {
    const std::int64_t most = limits.largest_shared_per_block;
    EXPECT_EQ(warps_of_block(256, limits), 4);
    EXPECT_EQ(warps_of_block(most, limits), 1);
    EXPECT_EQ(warps_of_block(most / 2, limits), 2);
    for (std::int64_t shared_bytes = 256; shared_bytes <= most; shared_bytes += 16) {
      const int warps = warps_of_block(shared_bytes, limits);
      ASSERT_LE(warps * shared_bytes, most);
      for (const int other : {1, 2, 4}) {
        if (other * shared_bytes > most) continue;
        ASSERT_GE(resident_warps(warps, shared_bytes, limits), resident_warps(other, shared_bytes, limits))
            << shared_bytes;
      }
    }
  }
  EXPECT_EQ(warps_of_block(std::int64_t{70} * 1024, testing::limits_sm90), 1)
      << "three blocks of one warp, or one block of two";
}

/// The numbers with which the times of bench/NOTES.md were measured: 227 KB of dynamic shared memory per block, 228 KB
/// per SM, of which each block takes 1 KB, 64 warps, 32 blocks.
TEST(WarpMemory, AnH200HasTheLaunchesThatWereMeasured) {
  const auto resident = [](int warps, std::int64_t shared_bytes) {
    const std::int64_t by_memory = std::int64_t{228} * 1024 / (warps * shared_bytes + 1024);
    return warps * std::min<std::int64_t>(by_memory, std::min(64 / warps, 32));
  };
  for (std::int64_t shared_bytes = 256; shared_bytes <= std::int64_t{227} * 1024; shared_bytes += 16) {
    int best = 1;
    for (const int warps : {2, 4}) {
      const bool fits = warps * shared_bytes <= std::int64_t{227} * 1024;
      if (fits && resident(warps, shared_bytes) >= resident(best, shared_bytes)) best = warps;
    }
    ASSERT_EQ(warps_of_block(shared_bytes, testing::limits_sm90), best) << shared_bytes;
  }
  for (const std::int64_t bytes : {0, 1024, 12800, 16384, 49152, 65536}) {
    for (const int blocks : {4, 5, 6, 8}) {
      const std::int64_t percent = (100 * blocks * (bytes + 1024) + 228 * 1024 - 1) / (228 * 1024);
      EXPECT_EQ(carve_out(bytes, blocks, testing::limits_sm90), bytes == 0 ? 0 : std::min<std::int64_t>(100, percent));
    }
  }
}

TEST(WarpMemory, LanesFollowTheLengthOfLists) {
  EXPECT_EQ(lanes_per_b_row(0), 8);
  EXPECT_EQ(lanes_per_b_row(8), 8);
  EXPECT_EQ(lanes_per_b_row(8.5), 16);
  EXPECT_EQ(lanes_per_b_row(16), 16);
  EXPECT_EQ(lanes_per_b_row(27), 32);
}

}  // namespace
}  // namespace tessera::cuda
