/// \file
/// MERBIT's lane descriptors: the path items of one lane as bit flags, and where the lane starts (MERBIT, §4.1).
///
/// A tile is cut into 32 lanes of sigma path items. Bit i of a descriptor, i < sigma, is set when item i of the lane is
/// a row end; the bits from sigma on hold y_offset, the lane's first row relative to its tile's. The paper stores
/// x_offset as well; here it follows from x_offset + y_offset = lane * sigma, so that 32 bits hold 22 items instead of
/// 14.
#pragma once

#include "core/host_device.hpp"
#include "preprocess/merge_search.hpp"
#include "tessera/array.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Lanes of a tile: the width of a warp.
inline constexpr int lanes_per_tile = 32;

/// Word types of descriptors.
template <class Word>
concept DescriptorWord = std::same_as<Word, std::uint32_t> || std::same_as<Word, std::uint64_t>;

/// Bits needed for every y_offset of a tile of 32 * sigma path items.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int y_offset_bits(int sigma) noexcept {
  int bits = 0;
  for (int items = lanes_per_tile * sigma; items > 0; items /= 2) ++bits;
  return bits;
}

/// Maximum path items per lane: 22 with 32-bit descriptors, 53 with 64-bit ones.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int max_sigma(int descriptor_bits) noexcept {
  int sigma = 0;
  while (sigma + 1 + y_offset_bits(sigma + 1) <= descriptor_bits) ++sigma;
  return sigma;
}

/// The content of a descriptor.
template <DescriptorWord Word>
struct LaneItems {
  Word down_flags = 0;         ///< bit i: item i is a row end; bits from sigma on are zero
  std::uint32_t y_offset = 0;  ///< first row of the lane minus first row of the tile
  friend constexpr bool operator==(const LaneItems&, const LaneItems&) = default;
};

/// \param sigma in [1, max_sigma(bits of Word)]
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Word pack_lane(const LaneItems<Word>& lane, int sigma) noexcept {
  return lane.down_flags | (static_cast<Word>(lane.y_offset) << sigma);
}

template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr LaneItems<Word> unpack_lane(Word descriptor, int sigma) noexcept {
  const Word flag_mask = static_cast<Word>((Word{1} << sigma) - 1);
  return {descriptor & flag_mask, static_cast<std::uint32_t>(descriptor >> sigma)};
}

/// Path items of lane `lane` (counted over all tiles): sigma; fewer at the end of the path, none past it.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int lane_item_count(offset_t length, int sigma, offset_t lane) noexcept {
  const offset_t left = length - lane * sigma;
  if (left <= 0) return 0;
  return left < sigma ? static_cast<int>(left) : sigma;
}

/// Advances `point` by `items` path items. \returns the flags of the row ends
template <DescriptorWord Word>
TESSERA_HOST_DEVICE constexpr Word walk_lane(const offset_t* row_offsets, index_t rows, int items,
                                             PathPoint& point) noexcept {
  Word flags = 0;
  for (int item = 0; item < items; ++item) {
    // The path ends with the end of its last row, so nothing is left past it.
    if (point.y < rows && point.x < row_offsets[point.y + 1]) {
      ++point.x;
    } else {
      flags |= Word{1} << item;
      ++point.y;
    }
  }
  return flags;
}

/// Start, end and flags of a lane: the work of one thread of the tile builder.
template <DescriptorWord Word>
struct LocatedLane {
  PathPoint start;
  PathPoint end;
  Word down_flags = 0;
};

/// Searches the first diagonal of lane `lane` and walks its path items.
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr LocatedLane<Word> locate_lane(const offset_t* row_offsets, index_t rows,
                                                                          offset_t nnz, int sigma,
                                                                          offset_t lane) noexcept {
  const offset_t length = path_length(rows, nnz);
  const offset_t diagonal = lane * sigma < length ? lane * sigma : length;
  LocatedLane<Word> located;
  located.start = merge_search(row_offsets, rows, nnz, diagonal);
  located.end = located.start;
  located.down_flags = walk_lane<Word>(row_offsets, rows, lane_item_count(length, sigma, lane), located.end);
  return located;
}

/// Position of the lowest set flag. \param flags not 0
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int lowest_flag(Word flags) noexcept {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Word) == 4) {
    return __ffs(static_cast<int>(flags)) - 1;
  } else {
    return __ffsll(static_cast<long long>(flags)) - 1;
  }
#else
  return std::countr_zero(flags);
#endif
}

/// Number of set flags.
template <DescriptorWord Word>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int count_flags(Word flags) noexcept {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(Word) == 4) {
    return __popc(flags);
  } else {
    return __popcll(static_cast<unsigned long long>(flags));
  }
#else
  return std::popcount(flags);
#endif
}

/// Calls on_run(n) in order for every row end of a lane, where n >= 0 nonzeros lie between it and the row end before.
/// \param items of the lane that exist \returns the nonzeros after the last row end
template <DescriptorWord Word, class OnRun>
TESSERA_HOST_DEVICE constexpr int for_each_closed_run(Word down_flags, int items, OnRun&& on_run) {
  int begin = 0;
  for (; down_flags != 0; down_flags &= down_flags - 1) {
    const int down = lowest_flag(down_flags);
    on_run(down - begin);
    begin = down + 1;
  }
  return items - begin;
}

/// The descriptors of all lanes, in words of one of two widths: one of the arrays is in use.
struct LaneWords {
  int descriptor_bits = 0;             ///< 32 or 64
  Array<std::uint32_t> lane_words_32;  ///< 32 per tile with 32-bit descriptors, else empty
  Array<std::uint64_t> lane_words_64;  ///< 32 per tile with 64-bit descriptors, else empty

  [[nodiscard]] std::uint64_t lane_bytes() const noexcept { return lane_words_32.bytes() + lane_words_64.bytes(); }

  /// The descriptors as words of their width.
  template <DescriptorWord Word>
  [[nodiscard]] const Array<Word>& lane_words() const noexcept {
    if constexpr (sizeof(Word) == 4) {
      return lane_words_32;
    } else {
      return lane_words_64;
    }
  }
};

}  // namespace tessera::detail
