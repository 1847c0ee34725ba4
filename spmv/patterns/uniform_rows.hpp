/// \file
/// Uniform rows: rows of a warp that are all on one list, the most frequent or the longest one, or on sub-lists of it,
/// as at the boundary of a grid. Its columns, and values or their places, travel as parameters of the kernel. A warp
/// whose rows could be on that list, since all its terms lie in x, loads them before it knows which of them its rows
/// have.
#pragma once

#include "spmv/patterns/pattern_values.hpp"
#include "spmv/patterns/row_patterns.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::cuda {

/// Which terms of that list another has, from bit 0 on; with the bit is_sub_list, or 0 where it has others.
using TermMask = std::uint64_t;
inline constexpr TermMask is_sub_list = TermMask{1} << 63;
static_assert(most_uniform_terms < 63);

/// Which slice a warp multiplies. The warps of a block are a pitch apart, one line of a grid, so that they gather
/// neighbours of each other: lines of x that they share come from the first-level cache. Blocks take the slices of
/// `warps` pitches in turn, then the next ones.
struct SliceOrder {
  static constexpr unsigned warps = pattern_threads / 32;
  unsigned pitch = 1;                              ///< slices; 1: in their order
  std::uint64_t inverse = std::uint64_t{1} << 63;  ///< 2^63 / pitch, rounded up

  constexpr SliceOrder() noexcept = default;
  constexpr explicit SliceOrder(unsigned slices) noexcept
      : pitch(slices), inverse(((std::uint64_t{1} << 63) + slices - 1) / slices) {}

  /// \param block below 2^31
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned slice(unsigned block, unsigned warp) const noexcept {
    return block + pitches_before(block) * (pitch * (warps - 1)) + warp * pitch;
  }
  /// That have slices, and maybe some warps that have none.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned blocks(unsigned slices) const noexcept {
    return (slices + pitch * warps - 1) / (pitch * warps) * pitch;
  }
  /// From the slice of a warp to that of the same warp about so many blocks later: in whole pitches, or within one.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned ahead(unsigned later) const noexcept {
    return later < pitch ? later : (later + pitch - 1) / pitch * pitch * warps;
  }
  /// The same distances in rows where warps share slices, as if each had a slice.
  [[nodiscard]] constexpr SliceOrder shared_by(unsigned warps_per_slice) const noexcept {
    return pitch == 1 ? *this : SliceOrder(pitch * warps_per_slice);
  }

 private:
  /// block / pitch by multiplication with the inverse (Granlund and Montgomery): every warp waits for it before its
  /// first load.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr unsigned pitches_before(unsigned block) const noexcept {
    const std::uint64_t twice = std::uint64_t{block} * 2;
    return static_cast<unsigned>((twice * (inverse >> 32) + (twice * (inverse & 0xffffffffU) >> 32)) >> 32);
  }
};

/// By the relative column that is the furthest away, for short lists alone: rows of long ones share lines of x within a
/// block. \param slice_rows rows of a slice
[[nodiscard]] SliceOrder slice_order(std::span<const index_t> columns, std::int64_t slices, int slice_rows) noexcept;

/// Interior slices of a list: whole ones, all of whose rows have all its terms in x; first ... end - 1.
struct InteriorSlices {
  unsigned first = 0;
  unsigned end = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool has(std::int64_t slice) const noexcept {
    return slice >= first && slice < end;
  }
};
/// \param columns of the list; not empty \param slice_rows rows of a slice
[[nodiscard]] InteriorSlices interior_slices(std::span<const index_t> columns, index_t rows, index_t cols,
                                             int slice_rows) noexcept;

/// The list of uniform rows, by value: a stencil, of which rows on sub-lists have a part.
template <class T>
struct RowStencil {
  int length = 0;
  index_t columns[most_uniform_terms] = {};  ///< relative; the last is repeated
  T values[most_uniform_terms] = {};         ///< of templates
  index_t places[most_uniform_terms] = {};   ///< of a symmetric half: what is added to a row for its value
  SliceOrder order;
  InteriorSlices interior;
  const TermMask* masks = nullptr;  ///< lists + 1, on the device; the last is of rows on no list: no terms
  /// A bit per slice, on the device: all its rows are on this list itself, so that codes are not read. Null where few
  /// slices are such.
  const std::uint32_t* uniform_slices = nullptr;
};

/// The most frequent list, which is the first, or the longest, whichever covers more slices, and what the others have
/// of it. A slice is covered where it is interior and its rows are on the list and on sub-lists only.
template <class T>
class UniformRows {
 public:
  UniformRows() = default;

  /// Empty where both lists are too long or cover too few slices. O(rows); waits. \param found with its codes in the
  /// order of slices \param half_places SymmetricHalf::places; empty where values do not lie in a half
  /// \throws OutOfMemory
  UniformRows(const Device& device, const detail::RowPatterns<T>& found, const SliceShape& shape, index_t rows,
              index_t cols, const Array<index_t>& half_places);

  /// For products: null where it is empty, or does not cover enough slices for them.
  [[nodiscard]] const RowStencil<T>* list() const noexcept { return serves_products_ ? &list_ : nullptr; }
  /// For two-kernel CG: null where it is empty.
  [[nodiscard]] const RowStencil<T>* list_for_cg() const noexcept { return masks_.empty() ? nullptr : &list_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return masks_.bytes() + uniform_slices_.bytes(); }

 private:
  RowStencil<T> list_;
  bool serves_products_ = false;
  Array<TermMask> masks_;
  Array<std::uint32_t> uniform_slices_;
};

/// Masks of lists + 1 lists. \param table as RowPatterns::table \param values as RowPatterns::values, or empty
/// \param reference the list whose terms are asked for
template <class T>
[[nodiscard]] std::vector<TermMask> masks_of_lists(std::span<const index_t> table, std::span<const T> values, int width,
                                                   int reference);

}  // namespace tessera::cuda
