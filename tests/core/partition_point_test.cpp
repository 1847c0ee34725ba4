#include "core/partition_point.hpp"
#include "tessera/types.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace tessera::detail {
namespace {

TEST(PartitionPoint, IsThatOfTheStandardLibrary) {
  for (int size = 0; size < 40; ++size) {
    std::vector<int> numbers(static_cast<std::size_t>(size));
    for (int k = 0; k < size; ++k) numbers[static_cast<std::size_t>(k)] = k / 3;  // with equal ones
    for (int bound = -1; bound <= size / 3 + 1; ++bound) {
      const auto expected = std::partition_point(numbers.begin(), numbers.end(), [&](int n) { return n < bound; });
      const int found = partition_point(0, size, [&](int k) { return numbers[static_cast<std::size_t>(k)] < bound; });
      ASSERT_EQ(found, expected - numbers.begin()) << size << " " << bound;
    }
  }
}

TEST(PartitionPoint, AsksNothingOfAnEmptyRange) {
  const auto fails = [](index_t /*k*/) -> bool { throw std::logic_error("asked"); };
  EXPECT_EQ(partition_point(index_t{7}, index_t{7}, fails), 7);
  EXPECT_EQ(partition_point(index_t{8}, index_t{7}, fails), 8);
}

/// Near the largest numbers the middle does not overflow; 63 halvings are enough.
TEST(PartitionPoint, ReachesTheLargestNumbers) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  int asked = 0;
  const auto before = [&](std::int64_t k) {
    ++asked;
    return k < largest - 5;
  };
  EXPECT_EQ(partition_point(std::int64_t{1}, largest, before), largest - 5);
  EXPECT_LE(asked, 63);
  static_assert(partition_point(0U, std::numeric_limits<std::uint32_t>::max(), [](std::uint32_t) { return true; }) ==
                std::numeric_limits<std::uint32_t>::max());
}

}  // namespace
}  // namespace tessera::detail
