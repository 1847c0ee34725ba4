/// \file
/// A set of tile columns in shared memory: a bitmap over a window of columns, and the number of earlier columns per
/// word, which gives every column its slot.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "tessera/types.hpp"

#include <climits>
#include <cstdint>

namespace tessera::cuda {

/// Words of 32 columns from the word of `first` to that of `last`.
[[nodiscard]] __device__ inline int window_words(index_t first, index_t last) { return (last >> 5) - (first >> 5) + 1; }

struct ColumnWindow {
  unsigned* words = nullptr;
  unsigned short* ranks = nullptr;  ///< columns in earlier words
  index_t origin = 0;               ///< column of the first bit, a multiple of 32

  /// Every thread of the block; a barrier must follow.
  __device__ void clear(int count) const {
    for (int w = static_cast<int>(threadIdx.x); w < count; w += static_cast<int>(blockDim.x)) words[w] = 0;
  }
  __device__ void insert(index_t column) const {
    unsigned* const word = words + ((column - origin) >> 5);
    const unsigned bit = 1U << (column & 31);
    // Most columns are there already, and a look costs less than an atomic.
    if ((*static_cast<volatile unsigned*>(word) & bit) == 0) atomicOr(word, bit);
  }
  /// Of a column in the set, after number().
  [[nodiscard]] __device__ int slot(index_t column) const {
    const int w = (column - origin) >> 5;
    return ranks[w] + __popc(words[w] & ((1U << (column & 31)) - 1U));
  }
  /// Numbers the columns in ascending order and calls body(slot, column) for each. One warp, all lanes.
  /// \returns how many there are
  template <class Body>
  __device__ int number(int count, Body body) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    int before = 0;
    for (int first = 0; first < count; first += warp_size) {
      const int w = first + lane;
      unsigned rest = w < count ? words[w] : 0;
      const int up_to = sum_up_to_lane(__popc(rest));
      int slot = before + up_to - __popc(rest);
      if (w < count) ranks[w] = static_cast<unsigned short>(slot);
      for (; rest != 0; rest &= rest - 1) body(slot++, origin + 32 * w + __ffs(static_cast<int>(rest)) - 1);
      before += __shfl_sync(full_warp, up_to, warp_size - 1);
    }
    return before;
  }
};

/// First and last tile column of a tile row, found by all threads of a block.
struct TileColumnRange {
  int first;
  int last;

  /// One thread; a barrier must follow.
  __device__ void clear() {
    first = INT_MAX;
    last = -1;
  }
  __device__ void include(int low, int high) {
    atomicMin(&first, low);
    atomicMax(&last, high);
  }
};

}  // namespace tessera::cuda
