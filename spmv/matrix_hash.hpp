/// \file
/// Hash of a whole matrix, by which a choice that was measured is found again.
#pragma once

#include "core/host_device.hpp"
#include "core/random.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <cstring>

namespace tessera::detail {

/// Sum modulo 2^64: the same in any order, so for any number of threads and on any device.
struct HashSum {
  std::uint64_t sum = 0;

  TESSERA_HOST_DEVICE HashSum& operator+=(const HashSum& other) noexcept {
    sum += other.sum;
    return *this;
  }
};

/// Terms of the hash, each a scramble (SplitMix64) of a position and of what stands there.
template <class T>
struct HashTerms {
  const offset_t* row_offsets;
  const index_t* columns;
  const T* values;  ///< null for a pattern

  [[nodiscard]] TESSERA_HOST_DEVICE static std::uint64_t scramble(std::uint64_t word) noexcept {
    return SplitMix64(word).next();
  }

  /// Of row offset i.
  [[nodiscard]] TESSERA_HOST_DEVICE HashSum of_offset(std::int64_t i) const noexcept {
    return {scramble(scramble(2 * static_cast<std::uint64_t>(i)) ^ static_cast<std::uint64_t>(row_offsets[i]))};
  }

  /// Of nonzero k: its column and the bits of its value.
  [[nodiscard]] TESSERA_HOST_DEVICE HashSum of_nonzero(std::int64_t k) const noexcept {
    const std::uint64_t position = scramble(2 * static_cast<std::uint64_t>(k) + 1);
    const std::uint64_t placed = scramble(position ^ static_cast<std::uint64_t>(columns[k]));
    if (values == nullptr) return {placed};
    std::uint64_t bits = 0;
    std::memcpy(&bits, values + k, sizeof(T));
    return {scramble(placed ^ bits)};
  }
};

/// 64 bits of offsets, columns and values: 0.0 and -0.0 differ, and so do NaNs of different bits. Against accidents,
/// not against forgery. Reads the matrix once; waits for a GPU. O(rows + nnz) \param device on which it lies
template <class T>
[[nodiscard]] std::uint64_t matrix_hash(const Device& device, const CsrView<T>& matrix);

}  // namespace tessera::detail

namespace tessera::cuda {
template <class T>
[[nodiscard]] detail::HashSum sum_hash_terms(const Device& device, const detail::HashTerms<T>& terms, std::int64_t rows,
                                             std::int64_t nnz);
}  // namespace tessera::cuda
