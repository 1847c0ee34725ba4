/// \file
/// Uniform rows: rows of a warp that are all on the most frequent list, or on sub-lists of it, as at the boundary of a
/// grid. Its columns, and values or their places, travel as parameters of the kernel, so that such a warp reads x, of a
/// symmetric half values, and codes only where no bit says that its slice is uniform: all rows on the list itself.
#pragma once

#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/row_patterns.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cuda {

/// Which terms of the most frequent list a list has, from bit 0 on; with the bit is_sub_list, or 0 where it has others.
using TermMask = std::uint64_t;
inline constexpr TermMask is_sub_list = TermMask{1} << 63;
static_assert(most_uniform_terms < 63);

/// Which slice a warp multiplies. The warps of a block are a pitch apart, one line of a grid, so that they gather
/// neighbours of each other: lines of x that they share come from the first-level cache. Blocks take the slices of
/// `warps` pitches in turn, then the next ones.
struct SliceOrder {
  static constexpr unsigned warps = pattern_threads / 32;
  unsigned pitch = 1;  ///< slices; 1: in their order

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned slice(unsigned block, unsigned warp) const noexcept {
    return block / pitch * (pitch * warps) + warp * pitch + block % pitch;
  }
  /// That have slices, and maybe some warps that have none.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned blocks(unsigned slices) const noexcept {
    return (slices + pitch * warps - 1) / (pitch * warps) * pitch;
  }
  /// From the slice of a warp to that of the same warp about so many blocks later: in whole pitches, or within one.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned ahead(unsigned later) const noexcept {
    return later < pitch ? later : (later + pitch - 1) / pitch * pitch * warps;
  }
};

/// By the relative column that is the furthest away, for short lists alone: rows of long ones share lines of x within a
/// block. \param slice_rows rows of a slice
[[nodiscard]] SliceOrder slice_order(std::span<const index_t> columns, std::int64_t slices, int slice_rows) noexcept;

/// The most frequent list, by value.
template <class T>
struct FrequentList {
  int length = 0;
  index_t columns[most_uniform_terms] = {};  ///< relative; the last is repeated
  T values[most_uniform_terms] = {};         ///< of templates
  index_t places[most_uniform_terms] = {};   ///< of a symmetric half: what is added to a row for its value
  SliceOrder order;
  const TermMask* masks = nullptr;  ///< lists + 1, on the device; the last is of rows on no list: no terms
  const std::uint32_t* uniform_slices = nullptr;  ///< a bit per slice, on the device: all its rows are on this list
};

/// The most frequent list, which is the first, and what the others have of it.
template <class T>
class UniformRows {
 public:
  UniformRows() = default;

  /// Empty where list 0 is too long, or where it and its sub-lists name all rows of too few slices, or too few slices
  /// of a half are uniform. O(rows); waits. \param found with its codes in the order of slices \param half_places
  /// SymmetricHalf::places; empty where values do not lie in a half \throws OutOfMemory
  UniformRows(const Device& device, const detail::RowPatterns<T>& found, const SliceShape& shape,
              const Array<index_t>& half_places);

  /// Null where empty.
  [[nodiscard]] const FrequentList<T>* list() const noexcept { return masks_.empty() ? nullptr : &list_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return masks_.bytes() + uniform_slices_.bytes(); }

 private:
  FrequentList<T> list_;
  Array<TermMask> masks_;
  Array<std::uint32_t> uniform_slices_;
};

/// Masks of lists + 1 lists. \param table as RowPatterns::table \param values as RowPatterns::values, or empty
template <class T>
[[nodiscard]] std::vector<TermMask> masks_of_lists(std::span<const index_t> table, std::span<const T> values,
                                                   int width);

}  // namespace tessera::cuda
