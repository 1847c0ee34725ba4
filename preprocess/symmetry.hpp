/// \file
/// Signs of a diagonal, on the host or on a GPU.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/host_device.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::detail {

/// Whether entry (i, i) is stored, and positive.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE bool has_positive_diagonal(const CsrPointers<T>& a, std::int64_t i) noexcept {
  const offset_t k = diagonal_position(a, i);
  return k >= 0 && value_at(a, k) > T{0};
}

}  // namespace tessera::detail

namespace tessera::cuda {
/// \returns the first row, -1: all diagonal entries are positive
template <class T>
[[nodiscard]] std::int64_t first_row_without_positive_diagonal(const Device& device, std::int64_t rows,
                                                               const detail::CsrPointers<T>& a);
}  // namespace tessera::cuda
