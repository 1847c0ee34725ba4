/// \file
/// Passes over the offsets and columns of a matrix, on the host or on a GPU, whose memory the spans lie in. They wait
/// for a GPU.
#pragma once

#include "core/host_device.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// Counts over a structure that is sound exactly where there are no faults and columns descend at the begins of rows
/// alone.
struct StructureCounts {
  std::int64_t faults = 0;    ///< offsets that do not ascend within the nonzeros, columns out of range
  std::int64_t descents = 0;  ///< columns that do not ascend, less those at the begins of rows

  TESSERA_HOST_DEVICE StructureCounts& operator+=(const StructureCounts& other) noexcept {
    faults += other.faults;
    descents += other.descents;
    return *this;
  }
  [[nodiscard]] bool are_of_sound_rows() const noexcept { return faults == 0 && descents == 0; }
};

/// Arrays of a structure, where they lie.
struct StructureArrays {
  const offset_t* row_offsets;
  const index_t* columns;
  index_t rows;
  index_t cols;
  offset_t nnz;

  [[nodiscard]] TESSERA_HOST_DEVICE bool descends_at(offset_t k) const noexcept {
    return k > 0 && k < nnz && columns[k] <= columns[k - 1];
  }

  /// Of row i.
  TESSERA_HOST_DEVICE void count_row(std::int64_t i, StructureCounts& counts) const noexcept {
    const offset_t begin = row_offsets[i];
    const offset_t end = row_offsets[i + 1];
    const bool ascends = 0 <= begin && begin <= end && end <= nnz;
    const bool is_outermost = (i > 0 || begin == 0) && (i + 1 < rows || end == nnz);
    if (!ascends || !is_outermost) ++counts.faults;
    if (begin < end && descends_at(begin)) --counts.descents;
  }

  /// Of nonzero k.
  TESSERA_HOST_DEVICE void count_entry(offset_t k, StructureCounts& counts) const noexcept {
    if (columns[k] < 0 || columns[k] >= cols) ++counts.faults;
    if (descends_at(k)) ++counts.descents;
  }
};

/// Whether every invariant of a CsrView holds, whose sizes fit each other. On a GPU, O(rows + nnz).
template <class T>
[[nodiscard]] bool structure_is_sound(const Device& device, const CsrView<T>& matrix);

/// to[k] = from[k]. \param to as long as `from`, not overlapping
/// \returns the first k whose column lies outside of [0, cols); -1: none
[[nodiscard]] std::int64_t narrow_columns(const Device& device, std::span<const std::int64_t> from, std::int64_t cols,
                                          std::span<index_t> to);

/// Smallest index at which a and b, of equal length, differ by !=; -1 when they are the same.
template <class U>
[[nodiscard]] std::int64_t first_difference(const Device& device, std::span<const U> a, std::span<const U> b);

/// Element i of an array.
template <class U>
[[nodiscard]] U element(const Device& device, std::span<const U> array, std::int64_t i);

/// Nonzeros of the longest row. \param row_offsets on the host
[[nodiscard]] offset_t longest_row(std::span<const offset_t> row_offsets) noexcept;

/// The row that holds a nonzero; copies the offsets to the host.
[[nodiscard]] std::int64_t row_of_entry(const Device& device, std::span<const offset_t> row_offsets, offset_t entry);

}  // namespace tessera::detail

namespace tessera::cuda {
[[nodiscard]] bool structure_is_sound(const Device& device, const detail::StructureArrays& arrays);
[[nodiscard]] std::int64_t narrow_columns(const Device& device, std::span<const std::int64_t> from, std::int64_t cols,
                                          std::span<index_t> to);
template <class U>
[[nodiscard]] std::int64_t first_difference(const Device& device, std::span<const U> a, std::span<const U> b);
}  // namespace tessera::cuda
