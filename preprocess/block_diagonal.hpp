/// \file
/// Block-diagonal matrix: where each part goes, and where rows and entries come from.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// A part, and where it begins.
template <class T>
struct DiagonalPart {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
  const T* values = nullptr;  ///< null: all 1
  offset_t first_entry = 0;
  index_t first_row = 0;
  index_t first_column = 0;
};

/// What to write, and from where.
template <class T>
struct BlockDiagonal {
  const DiagonalPart<T>* parts = nullptr;  ///< `count`, and one more that begins where the last one ends
  std::int64_t count = 0;
  offset_t* row_offsets = nullptr;
  index_t* columns = nullptr;
  T* values = nullptr;  ///< null: a pattern

  [[nodiscard]] TESSERA_HOST_DEVICE index_t rows() const { return parts[count].first_row; }
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t nnz() const { return parts[count].first_entry; }

  /// The last part that begins at or before a position, which is the one that holds it: empty ones begin where the next
  /// one does. \param position of a row or an entry that exists
  template <class Index>
  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t part_of(Index position, Index DiagonalPart<T>::*first) const {
    return partition_point(std::int64_t{1}, std::int64_t{count},
                           [&](std::int64_t k) { return parts[k].*first <= position; }) -
           1;
  }

  /// \param i a row of `part`, numbered in the whole
  TESSERA_HOST_DEVICE void place_row(const DiagonalPart<T>& part, std::int64_t i) const {
    row_offsets[i] = part.first_entry + part.row_offsets[i - part.first_row];
  }

  /// \param k an entry of `part`, numbered in the whole
  TESSERA_HOST_DEVICE void place_entry(const DiagonalPart<T>& part, offset_t k) const {
    const offset_t from = k - part.first_entry;
    columns[k] = part.first_column + part.columns[from];
    if (values != nullptr) values[k] = part.values != nullptr ? part.values[from] : T{1};
  }
};

}  // namespace tessera::detail

namespace tessera::host {
template <class T>
void fill_block_diagonal(const Device& device, const detail::BlockDiagonal<T>& matrix);
}  // namespace tessera::host

namespace tessera::cuda {
/// \param matrix its parts are read on the device \param rows,nnz of the whole \throws CudaError
template <class T>
void fill_block_diagonal(const Device& device, const detail::BlockDiagonal<T>& matrix, index_t rows, offset_t nnz);
}  // namespace tessera::cuda
