// The walk of a GPU thread through its tile, and the rules of csr-vector, on the host.
#include "spmv/merge/merge_tile.hpp"
#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/csr_vector/csr_vector_tuning.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

/// The items that finish rows which end at these nonzeros, with the open row behind them.
std::vector<int> with_open_row(std::vector<int> row_ends) {
  for (std::size_t row = 0; row < row_ends.size(); ++row) row_ends[row] += static_cast<int>(row);
  row_ends.push_back(std::numeric_limits<int>::max());
  return row_ends;
}

TEST(TilePath, CrossesDiagonalsAsTheWholePathDoes) {
  const std::vector<offset_t> row_offsets{0, 3, 3, 3, 10, 11, 11, 11, 30};
  const std::vector<int> row_ends = with_open_row({3, 3, 3, 10, 11, 11, 11, 30});
  const TilePath path{row_ends.data(), 8, 30};
  for (int diagonal = 0; diagonal <= path.length(); ++diagonal) {
    EXPECT_EQ(path.finished_rows(diagonal), merge_search(row_offsets.data(), 8, 30, diagonal).y) << diagonal;
  }
}

/// Sums of the rows that end in the tile and of the open one, from walks of `items` items.
std::vector<long> sums_of_walks(const std::vector<int>& row_ends, int nonzeros, int items) {
  const TilePath path{row_ends.data(), static_cast<int>(row_ends.size()) - 1, nonzeros};
  constexpr long guard = -1;
  std::vector<long> slots(static_cast<std::size_t>(path.length()) + 1);
  slots.back() = guard;
  for (int k = 0; k < nonzeros; ++k) slots[static_cast<std::size_t>(k)] = 1 + k * k;
  long open = 0;
  for (int begin = 0; begin < path.length(); begin += items) {
    TileWalker walker(path, begin, slots.data());
    for (int item = begin; item < std::min(begin + items, path.length()); ++item) walker.take(item);
    const auto walk = walker.result();
    if (walk.closed > 0) {
      slots[static_cast<std::size_t>(nonzeros + walk.first_row)] += open;
      open = 0;
    }
    open += walk.carry;
  }
  EXPECT_EQ(slots.back(), guard) << "written behind the last row";
  slots.back() = open;
  return {slots.begin() + nonzeros, slots.end()};
}

TEST(TilePath, WalksOfAnyLengthGiveTheSumsOfTheRows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 generator(seed);
    std::vector<int> row_ends;
    std::vector<long> expected;
    int end = 0;
    for (int row = 0; row < 40; ++row) {
      const int begin = end;
      end += static_cast<int>(generator() % (seed % 2 == 0 ? 4 : 30));
      row_ends.push_back(end);
      expected.push_back(0);
      for (int k = begin; k < end; ++k) expected.back() += 1 + k * k;
    }
    const int nonzeros = end + static_cast<int>(generator() % 9);
    expected.push_back(0);
    for (int k = end; k < nonzeros; ++k) expected.back() += 1 + k * k;
    for (const int items : {1, 2, 7, 11, 1000}) {
      EXPECT_EQ(sums_of_walks(with_open_row(row_ends), nonzeros, items), expected) << seed << ", " << items;
    }
  }
}

TEST(TilePath, TilesInsideOneRowOnlyCarry) {
  const std::vector<int> none = with_open_row({});
  EXPECT_EQ(sums_of_walks(none, 5, 2), (std::vector<long>{1 + 2 + 5 + 10 + 17}));
  EXPECT_EQ(sums_of_walks(with_open_row({0, 0, 0}), 0, 2), (std::vector<long>{0, 0, 0, 0}));
}

TEST(CsrVectorPolicy, TakesTheFewestLanesThatLoadARowOfMeanLengthAtOnce) {
  const auto lanes = [](offset_t mean) { return cuda::csr_vector_lanes(1000, 1000 * mean); };
  EXPECT_EQ(cuda::csr_vector_lanes(1, 0), 1);
  EXPECT_EQ(lanes(3), 1);
  EXPECT_EQ(lanes(4), 2);
  EXPECT_EQ(lanes(7), 2);
  EXPECT_EQ(lanes(8), 4);
  EXPECT_EQ(lanes(28), 8);
  EXPECT_EQ(lanes(29), 16);
  EXPECT_EQ(lanes(56), 16);
  EXPECT_EQ(lanes(57), 32);
  EXPECT_EQ(lanes(100000), 32);
  EXPECT_EQ(cuda::csr_vector_lanes(std::numeric_limits<index_t>::max(), offset_t{1} << 40), 32);
}

TEST(CsrVectorPolicy, CutsLongRowsOnly) {
  EXPECT_EQ(cuda::csr_vector_long_row(1), 64);
  EXPECT_EQ(cuda::csr_vector_long_row(32), cuda::csr_vector_typical_row);
  EXPECT_EQ(cuda::csr_vector_parts(64, 64), 0);
  EXPECT_EQ(cuda::csr_vector_parts(65, 64), 1);
  EXPECT_EQ(cuda::csr_vector_parts(1024, 64), 1);
  EXPECT_EQ(cuda::csr_vector_parts(1025, 64), 2);
  EXPECT_EQ(cuda::csr_vector_parts((offset_t{1} << 33) + 1, 512), (offset_t{1} << 23) + 1);
}

TEST(BeyondTwoToThe31, OffsetsAreSearchedAndCut) {
  // Four rows, three of them of 2^32 nonzeros or so.
  constexpr offset_t big = offset_t{1} << 32;
  const std::vector<offset_t> offsets{0, big, big, 2 * big + 7, 3 * big};
  EXPECT_EQ(merge_search(offsets.data(), 4, 3 * big, big + 1), (PathPoint{big, 1}));
  EXPECT_EQ(merge_search(offsets.data(), 4, 3 * big, 2 * big + 5), (PathPoint{2 * big + 3, 2}));
  EXPECT_EQ(merge_search(offsets.data(), 4, 3 * big, 3 * big + 4), (PathPoint{3 * big, 4}));
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, big - 1), 0);
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, big), 2);
  EXPECT_EQ(row_of_nonzero(offsets.data(), 4, 3 * big - 1), 3);
  index_t row = 3;
  EXPECT_EQ(csr5_row_starts<std::uint32_t>(offsets.data(), 4, 2 * big, 16, row), std::uint32_t{1} << 7);
  EXPECT_EQ(row, 4);
}

}  // namespace
}  // namespace tessera
