// Levels of ESC: threads that sort a row, and their keys. Host-device logic, tested on the host.
#include "spgemm/cuda/accumulators/esc_levels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tessera::cuda {
namespace {

TEST(EscLevels, ThePaperSplitsAt32And736And6144) {
  const auto level = [](std::uint32_t products) { return level_of(esc_class(products, true)); };
  EXPECT_EQ(level(0), EscLevel::none);
  EXPECT_EQ(level(1), EscLevel::thread);
  EXPECT_EQ(level(32), EscLevel::thread);
  EXPECT_EQ(level(33), EscLevel::warp);
  EXPECT_EQ(level(736), EscLevel::warp);
  EXPECT_EQ(level(737), EscLevel::block);
  EXPECT_EQ(level(6144), EscLevel::block);
  EXPECT_EQ(level(6145), EscLevel::device);
  EXPECT_EQ(level(std::numeric_limits<std::uint32_t>::max()), EscLevel::device);
}

TEST(EscLevels, EveryRowFitsItsClassAndNoSmallerOne) {
  for (std::uint64_t products = 1; products < 20000; ++products) {
    const EscClass size = esc_class(static_cast<std::uint32_t>(products), true);
    ASSERT_LT(static_cast<int>(size), esc_classes);
    ASSERT_LE(products, most_products_of(size));
    ASSERT_GT(products, most_products_of(static_cast<EscClass>(static_cast<int>(size) - 1)));
  }
}

TEST(EscLevels, ClassesAndLevelsAscend) {
  for (int k = 1; k < esc_classes; ++k) {
    EXPECT_LT(most_products_of(static_cast<EscClass>(k - 1)), most_products_of(static_cast<EscClass>(k)));
    EXPECT_LE(level_of(static_cast<EscClass>(k - 1)), level_of(static_cast<EscClass>(k)));
  }
  EXPECT_EQ(static_cast<int>(EscClass::device) + 1, esc_classes);
}

TEST(EscLevels, FactorsBeyond32BitsAreForAllBlocks) {
  EXPECT_EQ(esc_class(0, false), EscClass::none);
  for (const std::uint32_t products : {1U, 32U, 736U, 6144U, 100000U}) {
    EXPECT_EQ(esc_class(products, false), EscClass::device);
  }
}

TEST(EscLevels, KeysOf32BitsWhereColumnAndPlaceFit) {
  EXPECT_TRUE(short_keys(1 << 19, 4096));
  EXPECT_FALSE(short_keys(1 << 20, 4096)) << "the largest number stands for no product";
  EXPECT_TRUE(short_keys((1 << 20) - 2, 4096));
  EXPECT_FALSE(short_keys(std::numeric_limits<index_t>::max(), 32));
  EXPECT_TRUE(short_keys(std::numeric_limits<index_t>::max() - 1, 1));
}

TEST(EscLevels, KeysOfAllBlocksGiveBackWhatWentIn) {
  for (const index_t widest : {1, 2, 3, 1000, std::numeric_limits<index_t>::max()}) {
    for (const offset_t largest : {offset_t{1}, offset_t{2}, offset_t{7000}, offset_t{1} << 33}) {
      const DeviceKeys keys = device_keys(widest, largest);
      ASSERT_TRUE(keys.fit());
      const std::uint64_t key = keys.key(widest - 1, largest - 1);
      EXPECT_EQ(keys.column(key), widest - 1);
      EXPECT_EQ(keys.offset(key), largest - 1);
      if (widest > 1) {
        EXPECT_LT(keys.key(widest - 2, largest - 1), keys.key(widest - 1, 0));
      }
    }
  }
}

TEST(EscLevels, RowsOfMoreProductsThanKeysNumber) {
  EXPECT_EQ(bits_below(0), 0);
  EXPECT_EQ(bits_below(1), 0);
  EXPECT_EQ(bits_below(2), 1);
  EXPECT_EQ(bits_below(257), 9);
  const index_t widest = std::numeric_limits<index_t>::max();
  EXPECT_TRUE(device_keys(widest, offset_t{1} << 33).fit());
  EXPECT_FALSE(device_keys(widest, (offset_t{1} << 33) + 1).fit());
}

}  // namespace
}  // namespace tessera::cuda
