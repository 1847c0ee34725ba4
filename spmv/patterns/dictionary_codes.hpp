/// \file
/// Codes of the values of row patterns in a dictionary, by slices: a byte per nonzero.
#pragma once

#include "spmv/common/value_dictionary.hpp"
#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/patterns_tuning.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Logarithm of the copies of a dictionary in shared memory. Half a warp reads 8-byte values at once, a warp 4-byte
/// ones: with a copy for each of these lanes look-ups have no conflicts.
[[nodiscard]] constexpr int dictionary_shift(int values, int value_bytes) noexcept {
  int shift = value_bytes == 8 ? 4 : 5;
  while (shift > 0 && (values << shift) > most_replicated_values) --shift;
  return shift;
}

}  // namespace tessera::detail

namespace tessera::cuda {

/// Codes by slices; of padded ones, those of the rows of a lane follow each other. O(nnz); waits.
/// \param from in the order of CSR \param to as many as value_places() \returns whether the dictionary holds all values
/// of rows on lists
template <class T>
[[nodiscard]] bool fill_value_codes(const Device& device, const SlicedRows& rows,
                                    const detail::ValueDictionary<T>& dictionary, std::span<const T> from,
                                    std::span<std::uint8_t> to);

}  // namespace tessera::cuda
