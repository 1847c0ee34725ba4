/// \file
/// A CSR matrix as kernels see it.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "tessera/csr.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Pointers of a CSR matrix, for kernels.
template <class T>
struct CsrPointers {
  const offset_t* offsets;
  const index_t* columns;
  const T* values;  ///< null: a pattern
};

template <class T>
[[nodiscard]] CsrPointers<T> pointers_of(const CsrView<T>& a) noexcept {
  return {a.row_offsets.data(), a.columns.data(), a.is_pattern() ? nullptr : a.values.data()};
}

/// Position of entry (row, column); -1 when it is not stored.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE offset_t position_of(const CsrPointers<T>& a, std::int64_t row, std::int64_t column) {
  const offset_t end = a.offsets[row + 1];
  const offset_t k = partition_point(a.offsets[row], end, [&](offset_t i) { return a.columns[i] < column; });
  return k < end && a.columns[k] == column ? k : -1;
}

/// Position of the diagonal nonzero of a row; -1 when it is not stored.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE offset_t diagonal_position(const CsrPointers<T>& a, std::int64_t row) {
  return position_of(a, row, row);
}

template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T value_at(const CsrPointers<T>& a, offset_t k) {
  return a.values == nullptr ? T{1} : a.values[k];
}

}  // namespace tessera::detail
