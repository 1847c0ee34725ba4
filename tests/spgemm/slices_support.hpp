/// \file
/// Slices of a product, put together again.
#pragma once

#include "tessera/spgemm_slices.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/make_csr.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::testing {

/// Takes slices in their order.
template <class T>
class SliceJoiner {
 public:
  void operator()(SpgemmSlice<T> slice) {
    EXPECT_EQ(static_cast<std::size_t>(slice.first_row) + 1, offsets_.size());
    const Csr<T> part = slice.matrix.to(Device{});
    EXPECT_EQ(slice.report.nnz, part.nnz());
    for (index_t i = 0; i < part.rows(); ++i) {
      offsets_.push_back(static_cast<offset_t>(columns_.size()) + part.row_offsets()[i + 1]);
    }
    columns_.insert(columns_.end(), part.columns().begin(), part.columns().end());
    values_.insert(values_.end(), part.values().begin(), part.values().end());
    cols_ = part.cols();
    ++slices_;
  }
  [[nodiscard]] std::size_t slices() const noexcept { return slices_; }
  [[nodiscard]] Csr<T> joined() const {
    return make_csr<T>(static_cast<std::int64_t>(offsets_.size()) - 1, cols_, offsets_, columns_, values_);
  }

 private:
  std::vector<offset_t> offsets_{0};
  std::vector<index_t> columns_;
  std::vector<T> values_;
  std::int64_t cols_ = 0;
  std::size_t slices_ = 0;
};

/// The slices are the whole product, and the report describes them.
template <class T>
void expect_whole(const SliceJoiner<T>& joiner, const SlicedReport& report, const SpgemmResult<T>& whole) {
  expect_identical(joiner.joined().view(), whole.matrix.to(Device{}).view());
  EXPECT_EQ(report.slices.size(), joiner.slices());
  EXPECT_EQ(report.product.nnz, whole.report.nnz);
  EXPECT_EQ(report.product.products, whole.report.products);
  index_t row = 0;
  offset_t nnz = 0;
  for (const SliceSize& slice : report.slices) {
    EXPECT_EQ(slice.first_row, row);
    row += slice.rows;
    nnz += slice.nnz;
  }
  EXPECT_EQ(row, whole.matrix.rows());
  EXPECT_EQ(nnz, whole.matrix.nnz());
}

}  // namespace tessera::testing
