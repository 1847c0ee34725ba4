#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include "tests/support/adversarial.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace tessera {

using namespace detail;
namespace {

/// The cell of an index by its definition: the last c with n c / cells <= index.
int cell_of(std::int64_t index, std::int64_t n, int cells) {
  int cell = 0;
  for (int c = 0; c < cells; ++c) {
    if (n * c / cells <= index) cell = c;
  }
  return cell;
}

TEST(Spy, CountsEveryEntryOnce) {
  for (const auto& [name, matrix] : testing::adversarial_matrices<double>(ValueStorage::pattern, {672})) {
    if (matrix.nnz() > 100000) continue;
    for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 5}, {24, 48}, {100, 7}}) {
      SCOPED_TRACE(name + " " + std::to_string(rows) + " x " + std::to_string(cols));
      const CsrView<double> a = matrix.view();
      const SpyGrid grid = spy(a, rows, cols, Device::host(2));
      std::vector<offset_t> naive(static_cast<std::size_t>(rows * cols));
      for (index_t i = 0; i < a.rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
          const int cell =
              cell_of(i, a.rows, rows) * cols + cell_of(a.columns[static_cast<std::size_t>(k)], a.cols, cols);
          ++naive[static_cast<std::size_t>(cell)];
        }
      }
      EXPECT_EQ(grid.counts, naive);
    }
  }
}

TEST(Spy, DensityIsOneWhereEveryPositionIsStored) {
  const auto dense = testing::from_dense<double>({{1, 1, 0}, {1, 1, 0}, {0, 0, 5}}, 3);
  const SpyGrid each = spy(dense.view(), 3, 3);
  EXPECT_EQ(each.density(0, 1), 1.0);
  EXPECT_EQ(each.density(0, 2), 0.0);
  const SpyGrid one = spy(dense.view(), 1, 1);
  EXPECT_DOUBLE_EQ(one.density(0, 0), 5.0 / 9.0);
  const SpyGrid finer = spy(dense.view(), 7, 7);
  EXPECT_EQ(std::accumulate(finer.counts.begin(), finer.counts.end(), offset_t{0}), 5);
  const SpyGrid empty = spy(Csr<double>().view(), 2, 2);
  EXPECT_EQ(empty.density(1, 1), 0.0);
}

TEST(Spy, ColumnsPastSixteenBits) {
  constexpr index_t most = std::numeric_limits<index_t>::max();
  const auto a = testing::make_pattern<float>(1, most, {0, 3}, {0, most / 2 - 1, most - 1});
  const SpyGrid grid = spy(a.view(), 1, 1024);
  EXPECT_EQ(grid.count(0, 0), 1);
  EXPECT_EQ(grid.count(0, 511), 1) << "2^30 - 2 is the last column left of the middle";
  EXPECT_EQ(grid.count(0, 1023), 1);
}

TEST(Spy, SizesOutOfRangeAreRefused) {
  const auto a = testing::from_dense<double>({{1}}, 1);
  for (const auto& [rows, cols] : {std::pair{0, 1}, {1, 0}, {1025, 1}, {1, 1025}, {-1, 4}}) {
    EXPECT_THROW(static_cast<void>(spy(a.view(), rows, cols)), InvalidArgument);
  }
}

}  // namespace
}  // namespace tessera
