/// \file
/// What one tile of CSR5 computes before its commit: the sums of its segments. All lanes go through their entries
/// together, as a warp would, so that the matrix is read in order. No branch depends on where rows begin: each lane
/// keeps the place of the sum that it is at.
#pragma once

#include "preprocess/csr5_tiles.hpp"
#include "spmv/common/terms.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

namespace tessera::host {

/// Sums of the segments of a tile, the last of which goes on after it.
template <class T>
struct TileSums {
  /// One cell a lane, for its entries before its first start; then one a segment.
  std::array<T, std::size_t{lanes_per_tile} * (1 + csr5_max_sigma(64))> cells;
  std::size_t count = 0;

  [[nodiscard]] const T* segments() const noexcept { return cells.data() + lanes_per_tile; }
  [[nodiscard]] T& segment(std::size_t n) noexcept { return cells[lanes_per_tile + n]; }
};

/// The cells in which the lanes of a tile sum.
struct LaneCells {
  std::array<std::uint32_t, lanes_per_tile> current;  ///< of the latest start; the lane's own before the first
  std::array<std::uint32_t, lanes_per_tile> next;     ///< of the next start

  template <DescriptorWord Word>
  LaneCells(const Word* words, int sigma) noexcept {
    for (std::uint32_t lane = 0; lane < lanes_per_tile; ++lane) {
      current[lane] = lane;
      next[lane] = lanes_per_tile + unpack_csr5_lane<Word>(words[lane], sigma).y_offset;
    }
  }

  /// To entry j: the flags are the low bits of the words.
  template <DescriptorWord Word>
  void move_to(const Word* words, int j) noexcept {
    for (std::size_t lane = 0; lane < lanes_per_tile; ++lane) {
      const auto start = static_cast<std::uint32_t>(words[lane] >> j & 1);
      current[lane] = start != 0 ? next[lane] : current[lane];
      next[lane] += start;
    }
  }
};

/// One tile whose first nonzero is number `first` of the permuted matrix.
template <class T, DescriptorWord Word, class Terms>
[[gnu::noinline]] void sum_tile(const Word* words, int sigma, const Terms& terms, offset_t first,
                                TileSums<T>& sums) noexcept {
  const Csr5Lane<Word> last = unpack_csr5_lane<Word>(words[lanes_per_tile - 1], sigma);
  sums.count = last.y_offset + static_cast<std::size_t>(std::popcount(last.row_starts));
  if (sums.count == 1) {
    sums.segment(0) = sum_terms<T>(terms, first, first + offset_t{lanes_per_tile} * sigma);
    return;
  }
  std::fill_n(sums.cells.begin(), lanes_per_tile + sums.count, T{0});
  LaneCells cells(words, sigma);
  for (int j = 0; j < sigma; ++j, first += lanes_per_tile) {
    cells.move_to(words, j);
    for (std::size_t lane = 0; lane < lanes_per_tile; ++lane) {
      sums.cells[cells.current[lane]] += terms[first + static_cast<offset_t>(lane)];
    }
  }
  // What a lane has before its first start belongs to the segment that is open when it begins.
  for (std::size_t lane = 1; lane < lanes_per_tile; ++lane) {
    sums.segment(unpack_csr5_lane<Word>(words[lane], sigma).y_offset - 1) += sums.cells[lane];
  }
}

}  // namespace tessera::host
