/// \file
/// What a warp does with one tile of CSR5.
#pragma once

#include "core/cuda/launch.cuh"
#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/csr5_tiles.hpp"
#include "spmv/cuda/terms.cuh"

namespace tessera::cuda {

/// The arrays of Csr5Tiles on a GPU.
template <class Word>
struct Csr5Arrays {
  std::int64_t tiles;
  int sigma;
  const offset_t* row_offsets;
  const std::uint32_t* tile_ptr;
  const Word* words;
  const offset_t* empty_ptr;
  const std::uint32_t* empty_offset;

  [[nodiscard]] __device__ offset_t first_nonzero(std::int64_t tile) const {
    return tile * lanes_per_tile * offset_t{sigma};
  }
};

/// The rows of one tile's segments, and where their sums go. The tile in which a row begins stores it, whatever other
/// tiles hold of it goes to the calibrator: that can only be the tile's first segment.
template <class T>
class TileRows {
 public:
  template <class Word>
  __device__ TileRows(const Csr5Arrays<Word>& arrays, std::int64_t tile, const Update<T>& update, T* calibrator)
      : update_(update), calibrator_(calibrator + tile) {
    const std::uint32_t pointer = arrays.tile_ptr[tile];
    first_row_ = static_cast<index_t>(pointer & ~empty_row_mark);
    if ((pointer & empty_row_mark) != 0) offset_ = arrays.empty_offset + arrays.empty_ptr[tile];
    begins_row_ = arrays.row_offsets[first_row_] == arrays.first_nonzero(tile);
  }

  /// What this tile has of its segment number n.
  __device__ void store(int n, T sum) const {
    if (n > 0) {
      update_.store(offset_ == nullptr ? first_row_ + n : static_cast<index_t>(first_row_ + std::int64_t{offset_[n]}),
                    sum);
      return;
    }
    if (begins_row_) update_.store(first_row_, sum);
    *calibrator_ = begins_row_ ? T{0} : sum;
  }

 private:
  Update<T> update_;
  T* calibrator_;
  index_t first_row_;
  const std::uint32_t* offset_ = nullptr;
  bool begins_row_;
};

/// The terms of one lane, cut where rows begin.
template <class Word, class T>
struct LaneSums {
  Word row_starts;
  int segment;           ///< the one that is open
  T head{0};             ///< the terms before the lane's first start
  T sum{0};              ///< the terms since the latest start, or since the lane began
  bool started = false;  ///< there was a start

  __device__ void add(int j, T term, const TileRows<T>& rows) {
    if ((row_starts >> j & 1) != 0) {
      if (started) {
        rows.store(segment, sum);
      } else {
        head = sum;
        started = true;
      }
      ++segment;
      sum = T{0};
    }
    sum += term;
  }
};

/// Sum of the heads of this lane and the following ones up to `last`. Every lane must call.
template <class T>
__device__ T sum_heads(T head, int lane, int last) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const T other = __shfl_down_sync(full_warp, head, static_cast<unsigned>(distance));
    if (lane + distance <= last) head += other;
  }
  return head;
}

/// Multiplies a tile. Every lane of the warp must call.
template <class Word, class Terms, class T>
__device__ void multiply_tile(const Csr5Arrays<Word>& arrays, std::int64_t tile, int lane, const Terms& terms,
                              const TileRows<T>& rows) {
  constexpr int batch = 4;  // loads under way at a time
  const Csr5Lane<Word> content = unpack_csr5_lane<Word>(arrays.words[tile * lanes_per_tile + lane], arrays.sigma);
  const offset_t first = arrays.first_nonzero(tile) + lane;
  LaneSums<Word, T> sums{content.row_starts, static_cast<int>(content.y_offset) - 1};
  for (int j = 0; j < arrays.sigma; j += batch) {
    T term[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (j + i < arrays.sigma) term[i] = terms[first + (j + i) * lanes_per_tile];
    }
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      if (j + i < arrays.sigma) sums.add(j + i, term[i], rows);
    }
  }
  // A segment goes on through the lanes without a start, up to the head of the next that has one.
  const T head = sums.started ? sums.head : sums.sum;
  const int next_start = lane + static_cast<int>(content.seg_offset) + 1;
  const int end = next_start < warp_size ? next_start : warp_size - 1;
  const T heads = sum_heads(head, lane, sums.started ? lane : end);
  const T following = __shfl_down_sync(full_warp, heads, 1);
  if (!sums.started) return;
  rows.store(sums.segment, lane < warp_size - 1 ? sums.sum + following : sums.sum);
}

}  // namespace tessera::cuda
