/// \file
/// What one tile of CSR5 computes before its commit: the sums of its segments. All lanes go through their entries
/// together, as a warp would, so that the loop over lanes is one of vectors.
#pragma once

#include "preprocess/csr5_tiles.hpp"
#include "spmv/terms.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::host {

/// The most segments of a tile, and one.
inline constexpr std::size_t csr5_max_starts = std::size_t{lanes_per_tile} * csr5_max_sigma(64) + 1;

/// Sums of the segments of a tile. Segment n ends where start n + 1 begins; the last one goes on after the tile.
template <class T>
struct TileSums {
  std::array<T, csr5_max_starts> ended;  ///< ended[n + 1]: sum of segment n; ended[0] is always 0
  T open{0};                             ///< sum of the last segment
  std::int64_t segments = 0;
};

/// Which lanes have a start at each entry: the transpose of the flags.
template <DescriptorWord Word>
struct StartsByEntry {
  std::array<std::uint32_t, csr5_max_sigma(64)> lanes;  ///< bit l of lanes[j]: entry j of lane l begins a row
  std::array<int, lanes_per_tile> next;                 ///< number of the next start of each lane
  std::int64_t count = 0;                               ///< starts of the tile

  StartsByEntry(const Word* words, int sigma) noexcept {
    std::fill_n(lanes.begin(), sigma, 0U);
    for (int lane = 0; lane < lanes_per_tile; ++lane) {
      const Csr5Lane<Word> content = unpack_csr5_lane<Word>(words[lane], sigma);
      next[static_cast<std::size_t>(lane)] = static_cast<int>(content.y_offset);
      for (Word flags = content.row_starts; flags != 0; flags &= flags - 1) {
        lanes[static_cast<std::size_t>(lowest_flag(flags))] |= std::uint32_t{1} << lane;
        ++count;
      }
    }
  }
};

/// Sum of lanes in a fixed order.
template <class T>
[[nodiscard]] inline T sum_lanes(const T* lanes, int count) noexcept {
  T sum{0};
  for (int lane = 0; lane < count; ++lane) sum += lanes[lane];
  return sum;
}

/// One tile whose first nonzero is number `first` of the permuted matrix.
template <class T, DescriptorWord Word, class Terms>
[[gnu::noinline]] void sum_tile(const Word* words, int sigma, const Terms& terms, offset_t first,
                                TileSums<T>& sums) noexcept {
  StartsByEntry<Word> starts(words, sigma);
  std::array<T, lanes_per_tile> open{};  // of each lane, since its last start
  for (int j = 0; j < sigma; ++j) {
    for (std::uint32_t lanes = starts.lanes[static_cast<std::size_t>(j)]; lanes != 0; lanes &= lanes - 1) {
      const auto lane = static_cast<std::size_t>(lowest_flag(lanes));
      sums.ended[static_cast<std::size_t>(starts.next[lane]++)] = open[lane];
      open[lane] = T{0};
    }
    const offset_t entries = first + offset_t{lanes_per_tile} * j;
    for (int lane = 0; lane < lanes_per_tile; ++lane) open[static_cast<std::size_t>(lane)] += terms[entries + lane];
  }
  // The first start of a lane ends a segment that began in an earlier lane, and went through seg_offset others.
  sums.open = T{0};
  for (int lane = 0; lane < lanes_per_tile;) {
    const Csr5Lane<Word> content = unpack_csr5_lane<Word>(words[lane], sigma);
    const int through = 1 + static_cast<int>(content.seg_offset);
    sums.ended[content.y_offset] += sums.open;
    sums.open = sum_lanes(open.data() + lane, through);
    lane += through;
  }
  sums.segments = starts.count;
}

}  // namespace tessera::host
