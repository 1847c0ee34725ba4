// Which layout `auto` takes on a GPU where a sample promises several: row patterns, tiles, sliced ELL.
#include "spmv/selection.hpp"
#include "tests/spmv/repeating_matrices.hpp"
#include "tests/support/cuda_test.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
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

/// Every row has other ones of the 2 width columns from the diagonal on.
Csr<double> scattered_band(bool float_values) {
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
      const double value = any(generator);
      columns.push_back(i + column);
      values.push_back(float_values ? static_cast<double>(static_cast<float>(value)) : value);
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

/// Half as many bytes in slices decide, where tiles save their columns alone.
TEST_F(LayoutChoice, TilesAndSlicesByTheirPredictedTimes) {
  EXPECT_EQ(chosen(scattered_band(true)), SpmvAlgorithm::sell);
  EXPECT_EQ(chosen(scattered_band(false)), SpmvAlgorithm::tiles);
}

}  // namespace
}  // namespace tessera
