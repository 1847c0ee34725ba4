/// \file
/// The rows of one rank as they were before they were split: entries in own columns and in the halo, one after the
/// other as the columns ascend.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/distributed/product.hpp"
#include "tessera/csr.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Lengths of rows within own columns; halo entries follow.
struct OwnLengths {
  using Sums = NoSum;
  const offset_t* offsets;  ///< of the diagonal block
  offset_t* lengths;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    lengths[row] = offsets[row + 1] - offsets[row];
  }
};

/// Adds the entries in the halo to the lengths of boundary rows, and counts those before the own columns.
template <class T>
struct HaloLengths {
  struct Sums {
    offset_t lower = 0;
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      lower += other.lower;
      return *this;
    }
  };
  using Total = NoSum;
  CsrPointers<T> block;  ///< boundary rows x halo
  const index_t* boundary;
  const index_t* halo;  ///< columns of the matrix
  index_t first;        ///< own column
  offset_t* lengths;
  offset_t* lower;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return block.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, Sums& sums) const {
    if (halo[block.columns[k]] < first) ++sums.lower;
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, NoSum& /*total*/) const {
    lengths[boundary[row]] += block.offsets[row + 1] - block.offsets[row];
    lower[boundary[row]] = sums.lower;
  }
};

/// Where rows are put together.
template <class T>
struct JoinedRows {
  const offset_t* offsets;
  const offset_t* lower;  ///< per row: halo entries before the own columns
  index_t* columns;
  T* values;  ///< null: none
};

/// Entries of the diagonal block.
template <class T>
struct JoinOwn {
  using Sums = NoSum;
  using Total = NoSum;
  CsrPointers<T> block;
  index_t first;
  JoinedRows<T> to;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return block.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, NoSum& /*sums*/) const {
    const offset_t at = to.offsets[row] + to.lower[row] + k - block.offsets[row];
    to.columns[at] = first + block.columns[k];
    if (to.values != nullptr) to.values[at] = block.values[k];
  }
  TESSERA_HOST_DEVICE void finish(index_t /*row*/, const NoSum& /*sums*/, NoSum& /*total*/) const {}
};

/// Entries in the halo, on both sides of those of the diagonal block.
template <class T>
struct JoinHalo {
  using Sums = NoSum;
  using Total = NoSum;
  CsrPointers<T> block;
  const index_t* boundary;
  const index_t* halo;
  index_t first;
  const offset_t* own_offsets;  ///< of the diagonal block
  JoinedRows<T> to;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return block.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, NoSum& /*sums*/) const {
    const index_t own = boundary[row];
    const index_t column = halo[block.columns[k]];
    const offset_t before = column < first ? 0 : own_offsets[own + 1] - own_offsets[own];
    const offset_t at = to.offsets[own] + before + k - block.offsets[row];
    to.columns[at] = column;
    if (to.values != nullptr) to.values[at] = block.values[k];
  }
  TESSERA_HOST_DEVICE void finish(index_t /*row*/, const NoSum& /*sums*/, NoSum& /*total*/) const {}
};

/// Own rows x all columns, on the device of the rank. O(nnz of the rows); waits. \param first_row of the rank
template <class T>
[[nodiscard]] Csr<T> own_rows(const LocalMatrix<T>& local, index_t first_row, index_t cols);

extern template Csr<float> own_rows(const LocalMatrix<float>&, index_t, index_t);
extern template Csr<double> own_rows(const LocalMatrix<double>&, index_t, index_t);

}  // namespace tessera::detail
