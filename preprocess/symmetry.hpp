/// \file
/// The entry of a diagonal, on the host or on a GPU.
#pragma once

#include "core/host_device.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::detail {

/// Rows whose diagonal entry is positive. Pointers on one device.
template <class T>
struct DiagonalSigns {
  const offset_t* row_offsets;
  const index_t* columns;
  const T* values;  ///< null: all are 1

  /// Whether entry (i, i) is there, by bisection of row i, and positive.
  [[nodiscard]] TESSERA_HOST_DEVICE bool is_positive(std::int64_t i) const noexcept {
    offset_t begin = row_offsets[i];
    const offset_t end = row_offsets[i + 1];
    for (offset_t count = end - begin; count > 0;) {
      const offset_t half = count / 2;
      if (columns[begin + half] < i) {
        begin += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    if (begin == end || columns[begin] != i) return false;
    return values == nullptr || values[begin] > T{0};
  }
};

}  // namespace tessera::detail

namespace tessera::cuda {
/// \returns the first row, -1: all diagonal entries are positive
template <class T>
[[nodiscard]] std::int64_t first_row_without_positive_diagonal(const Device& device, std::int64_t rows,
                                                               const detail::DiagonalSigns<T>& diagonal);
}  // namespace tessera::cuda
