// Slices of uniform rows: which of them warps take, which are interior, and blocks for them.
#include "spmv/patterns/pattern_product.hpp"
#include "spmv/patterns/uniform_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {
namespace {

TEST(InteriorSlices, HaveAllTermsOfAllRows) {
  const auto expect = [](const cuda::InteriorSlices& slices, unsigned first, unsigned end) {
    EXPECT_EQ(slices.first, first);
    EXPECT_EQ(slices.end, end);
  };
  const std::vector<index_t> both{-64, 0, 64};
  expect(cuda::interior_slices(both, 640, 640, 64), 1, 9);
  expect(cuda::interior_slices(both, 641, 641, 64), 1, 9);
  expect(cuda::interior_slices(both, 703, 703, 64), 1, 9);
  expect(cuda::interior_slices(both, 640, 2000, 64), 1, 10);
  expect(cuda::interior_slices(both, 2000, 640, 64), 1, 9);
  expect(cuda::interior_slices(both, 100, 30, 64), 1, 0);
  expect(cuda::interior_slices(std::vector<index_t>{1}, 640, 641, 128), 0, 5);
  expect(cuda::interior_slices(std::vector<index_t>{-1, 0}, 640, 640, 128), 1, 5);
  const std::vector<index_t> furthest{-2147483647, 2147483647};
  expect(cuda::interior_slices(furthest, 2147483647, 2147483647, 64), 33554432, 0);
}

TEST(SliceOrder, KnowsTheSliceOfALaterBlock) {
  for (const unsigned pitch : {1U, 39U, 132U, 2500U}) {
    const cuda::SliceOrder order(pitch);
    const unsigned ahead = order.ahead(132);
    const unsigned later = pitch > 132 ? 132 : (132 + pitch - 1) / pitch * pitch;
    for (const unsigned block : {0U, 5U, 38U, 39U, 1000U}) {
      if (pitch > 132 && block % pitch + later >= pitch) continue;  // in another group of pitches
      EXPECT_EQ(order.slice(block, 3) + ahead, order.slice(block + later, 3)) << pitch << ", " << block;
    }
  }
}

TEST(SliceOrder, DividesByThePitchExactly) {
  for (const unsigned pitch : {1U, 2U, 3U, 7U, 39U, 641U, 65537U, 1048575U, 1048577U}) {
    const cuda::SliceOrder order(pitch);
    for (const unsigned group : {0U, 1U, 2U, 100U, 2046U}) {
      for (const unsigned within : {0U, 1U, pitch / 2, pitch - 1}) {
        if (within >= pitch) continue;
        const unsigned block = group * pitch + within;
        ASSERT_EQ(order.slice(block, 5), group * (pitch * cuda::SliceOrder::warps) + 5 * pitch + within)
            << pitch << ", " << block;
      }
    }
    const unsigned last = 0x7fffffffU;
    EXPECT_EQ(order.slice(last, 0), last / pitch * (pitch * cuda::SliceOrder::warps) + last % pitch) << pitch;
  }
}

TEST(SliceOrder, TakesEverySliceOnce) {
  for (const unsigned pitch : {1U, 2U, 5U, 39U}) {
    const cuda::SliceOrder order(pitch);
    for (const unsigned slices : {1U, 7U, 8U, 9U, 40U, 41U, 312U, 313U, 1000U}) {
      std::vector<int> taken(slices, 0);
      for (unsigned block = 0; block < order.blocks(slices); ++block) {
        for (unsigned warp = 0; warp < cuda::SliceOrder::warps; ++warp) {
          if (order.slice(block, warp) < slices) ++taken[order.slice(block, warp)];
        }
      }
      EXPECT_EQ(std::count(taken.begin(), taken.end(), 1), slices) << pitch;
    }
  }
}

/// Slices that warps share keep their distances.
TEST(SliceOrder, SharedKeepsDistances) {
  const cuda::SliceOrder order(39);
  const cuda::SliceOrder shared = order.shared_by(2);
  EXPECT_EQ(shared.slice(0, 3), 2 * order.slice(0, 3));
  EXPECT_EQ(shared.slice(1, 3), 2 * order.slice(0, 3) + 1);
  EXPECT_EQ(shared.slice(78, 3), 2 * order.slice(39, 3));
  EXPECT_EQ(shared.blocks(2000), order.blocks(1000) * 2);
  EXPECT_EQ(cuda::SliceOrder{}.shared_by(2).pitch, 1U);
}

TEST(SliceOrder, FollowsTheFurthestColumn) {
  const std::vector<index_t> columns{-5000, -1, 0, 1, 5000};
  EXPECT_EQ(cuda::slice_order(columns, 195313, 128).pitch, 39U);
  EXPECT_EQ(cuda::slice_order(columns, 1000, 128).pitch, 1U) << "too few slices";
  EXPECT_EQ(cuda::slice_order(std::span(columns).subspan(1, 3), 195313, 128).pitch, 1U) << "neighbours alone";
}

/// Values of single precision, then of double: there is room for the inner products of both from the beginning.
TEST(PatternBlocks, MostAreThoseOfSharedSlices) {
  const cuda::RowStencil<double> stencil;
  const index_t place = 0;
  const float narrow = 0.0F;
  const double wide = 0.0;
  const auto operand = [&](int width, bool is_wide) {
    cuda::PatternOperand<double> result;
    result.rows = 100'000;
    result.cols = 100'000;
    result.width = width;
    result.shape = cuda::choose_pattern_slices(result.rows, offset_t{width} * result.rows, width, true);
    result.half_places = &place;
    result.uniform = &stencil;
    result.values = is_wide ? &wide : nullptr;
    result.floats = is_wide ? nullptr : &narrow;
    return result;
  };
  for (const int width : {4, 5, 9, 27}) {
    const std::int64_t of_floats = cuda::pattern_blocks(operand(width, false));
    const std::int64_t of_doubles = cuda::pattern_blocks(operand(width, true));
    EXPECT_EQ(of_doubles > of_floats, width != 5) << width;
    EXPECT_EQ(cuda::most_pattern_blocks(operand(width, false)), of_doubles) << width;
    EXPECT_EQ(cuda::most_pattern_blocks(operand(width, true)), of_doubles) << width;
  }
}

}  // namespace
}  // namespace tessera
