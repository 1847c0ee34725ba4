// Row patterns, tiles and sliced ELL on a GPU: which of them `auto` takes where samples promise several.
#include "spmv/selection.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace tessera {

using namespace detail;
namespace {

using testing::Repeating;
using testing::RepeatingRows;
using testing::with_repeating_rows;

constexpr index_t rows = 34000;
constexpr index_t width = 64;

class LayoutChoice : public testing::CudaTest {
 protected:
  static SpmvAlgorithm chosen(const Csr<double>& matrix, bool rank_products = false) {
    SpmvOptions options;
    options.device = gpu();
    options.rank_products = rank_products;
    return select_spmv_kernel(matrix.to(gpu()).view(), options).algorithm;
  }
};

/// Rows on one list, every `step`-th column.
RepeatingRows band(index_t step) {
  return {rows, rows + step * width, {testing::list_of_width(width, 0, step)}, {}, {}};
}

Csr<double> with_float_values(const Csr<double>& matrix) {
  Array<double> values(matrix.nnz(), Init::none);
  for (offset_t k = 0; k < matrix.nnz(); ++k) values[k] = static_cast<double>(static_cast<float>(matrix.values()[k]));
  return matrix.with_values(std::move(values));
}

/// Every row has other ones of the 2 width columns from the diagonal on.
Csr<double> scattered_band() {
  std::mt19937_64 generator(3);
  std::vector<index_t> all(2 * width);
  for (index_t k = 0; k < 2 * width; ++k) all[static_cast<std::size_t>(k)] = k;
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  for (index_t i = 0; i < rows; ++i) {
    std::vector<index_t> row;
    std::sample(all.begin(), all.end(), std::back_inserter(row), width, generator);
    for (const index_t column : row) {
      columns.push_back(i + column);
      values.push_back(any(generator));
    }
    offsets.push_back(std::ssize(columns));
  }
  return Csr<double>(rows, rows + 2 * width, Array<offset_t>::copy_of(std::span<const offset_t>(offsets)),
                     Array<index_t>::copy_of(std::span<const index_t>(columns)),
                     Array<double>::copy_of(std::span<const double>(values)));
}

TEST_F(LayoutChoice, FullTilesOfAPatternComeBeforeItsRowPatterns) {
  const auto full = with_repeating_rows<double>(band(1), Repeating::nothing);
  ASSERT_TRUE(full.is_pattern());
  EXPECT_EQ(chosen(full), SpmvAlgorithm::tiles);
  EXPECT_EQ(chosen(full, true), SpmvAlgorithm::patterns) << "which have a fused iteration";
  EXPECT_EQ(chosen(with_repeating_rows<double>(band(2), Repeating::nothing)), SpmvAlgorithm::patterns);
}

TEST_F(LayoutChoice, FewLongRowsTakeRowPatternsBeforeHalfEmptyTiles) {
  EXPECT_EQ(chosen(with_repeating_rows<double>(band(1), Repeating::columns)), SpmvAlgorithm::tiles);
  EXPECT_EQ(chosen(with_repeating_rows<double>(band(2), Repeating::columns)), SpmvAlgorithm::patterns);
}

TEST_F(LayoutChoice, FewLongRowsOfFloatsTakeSlices) {
  const auto any = with_repeating_rows<double>(band(2), Repeating::columns);
  EXPECT_EQ(chosen(with_float_values(any)), SpmvAlgorithm::sell);
  const RepeatingRows short_rows{80000, 80000 + 60, {testing::list_of_width(30, 0, 2)}, {}, {}};
  EXPECT_EQ(chosen(with_float_values(with_repeating_rows<double>(short_rows, Repeating::columns))),
            SpmvAlgorithm::patterns);
}

/// Of floats slices take 6 bytes per nonzero and tiles 8.5, of a pattern 2 and .5. In full slices do not qualify.
TEST_F(LayoutChoice, TilesAndSlicesByTheirPredictedTimes) {
  const Csr<double> any = scattered_band();
  EXPECT_EQ(chosen(with_float_values(any)), SpmvAlgorithm::sell);
  EXPECT_EQ(chosen(any), SpmvAlgorithm::tiles);
  const auto positions =
      Csr<double>::pattern(any.rows(), any.cols(), any.row_offsets().to(Device{}), any.columns().to(Device{}));
  EXPECT_EQ(chosen(positions), SpmvAlgorithm::tiles);
}

}  // namespace
}  // namespace tessera
