// Symmetric half of row patterns: which lists have one, and where their entries stand.
#include "spmv/patterns/symmetric_half.hpp"

#include "spmv/patterns/patterns_tuning.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace tessera {

using namespace detail;
namespace {

constexpr double anything = 1e18;

TEST(HalfOffsets, EntriesStandOneOffsetFromTheirRows) {
  // {-10, 0, 10}, {0, 3}, no entries, a list that no row is on.
  const std::vector<index_t> table{3, -10, 0, 10, 2, 0, 3, 3, 0, 0, 0, 0, -1, 99, 99, 99};
  const auto half = half_offsets(table, 3, 100, anything);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->diagonals, (std::vector<index_t>{0, 3, 10}));
  EXPECT_EQ(half->leading, 128);
  EXPECT_EQ(half->size(), 384);
  // a(i, i - 10) at place i - 10 of the third diagonal; the last column is repeated.
  EXPECT_EQ(half->places, (std::vector<index_t>{0, 246, 0, 256, 0, 0, 128, 128, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(half->upper, (std::vector<std::int16_t>{1, -1, 2, 0, 1, -1, -1, -1, -1, -1, -1, -1}));
}

TEST(HalfOffsets, WithoutTheMainDiagonalPlacesMayBeginBeforeTheRow) {
  const auto half = half_offsets(std::vector<index_t>{2, -5, 5, 0, 0, 0}, 2, 64, anything);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->places, (std::vector<index_t>{0, -5, 0, 0, 0, 0}));
}

TEST(HasListOfAll, OnlyWhereTheLongestListHasEveryColumn) {
  const std::vector<index_t> sub_lists{2, -7, 7, 7, 3, -7, 0, 7, 1, 0, 0, 0, -1, 5, 5, 5, 0, 0, 0, 0};
  EXPECT_TRUE(has_list_of_all(sub_lists, 3));
  const std::vector<index_t> others{2, -7, 7, 7, 3, -7, 0, 7, 1, 1, 1, 1, 0, 0, 0, 0};
  EXPECT_FALSE(has_list_of_all(others, 3));
  // Rows fill less than least_fill_of_half.
  EXPECT_TRUE(is_filled_for_half(1000, 1500, 3, sizeof(double), sub_lists));
  EXPECT_FALSE(is_filled_for_half(1000, 1500, 3, sizeof(double), others));
  EXPECT_TRUE(is_filled_for_half(1000, 2100, 3, sizeof(double), others));
  EXPECT_TRUE(is_filled_for_half(1000, 1500, 3, sizeof(float), others));
  const std::vector<index_t> wide = [] {
    std::vector<index_t> table{37};
    for (index_t k = 0; k < 37; ++k) table.push_back(k);
    return table;
  }();
  EXPECT_TRUE(has_list_of_all(wide, 37));
  EXPECT_FALSE(is_filled_for_half(1000, 15000, 37, sizeof(double), wide)) << "longer than uniform rows are";
}

TEST(HalfOffsets, NoneForTooManyDiagonals) {
  for (const int width : {most_half_diagonals, most_half_diagonals + 1}) {
    std::vector<index_t> table{width};
    for (index_t k = 0; k < width; ++k) table.push_back(7 * k);
    EXPECT_EQ(half_offsets(table, width, 1000, anything).has_value(), width == most_half_diagonals);
  }
}

TEST(HalfOffsets, NoneWhereItDoesNotPayOrPlacesDoNotFitAnIndex) {
  const std::vector<index_t> table{3, -1, 0, 1};
  EXPECT_TRUE(half_offsets(table, 3, 1024, 2048.0));
  EXPECT_FALSE(half_offsets(table, 3, 1024, 2047.0));
  EXPECT_TRUE(half_offsets(table, 3, (1 << 30) - 32, anything));
  EXPECT_FALSE(half_offsets(table, 3, 1 << 30, anything)) << "2^31 places";
  EXPECT_FALSE(half_offsets(table, 3, std::numeric_limits<index_t>::max(), anything));
  const std::vector<index_t> large(most_half_table_places + 4, 0);
  EXPECT_FALSE(half_offsets(large, 3, 10, anything));
  EXPECT_FALSE(half_offsets(std::vector<index_t>{0}, 0, 10, anything)) << "no entries at all";
}

}  // namespace
}  // namespace tessera
