/// \file
/// A bit for every column of a row of C in shared memory, and the places of entries from the population counts.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/slice_launch.cuh"

#include <cstdint>

namespace tessera::cuda {

/// 32 columns.
struct BitWord {
  unsigned bits;
};
/// The same, and how many bits are set in earlier words. One load brings both.
struct alignas(8) RankedWord {
  unsigned bits;
  unsigned rank;
};

/// The columns of a row, from a multiple of 32 on. All lanes of the warp that owns it call what is not about one
/// column, and meet in between. \tparam Word BitWord or RankedWord
template <class Word>
struct Bitmap {
  Word* words;
  int count;       ///< of words
  index_t origin;  ///< column of the first bit

  /// \param memory for window_words(width) words
  __device__ Bitmap(unsigned char* memory, index_t first_column, index_t width)
      : words(reinterpret_cast<Word*>(memory)),
        count(width == 0 ? 0 : (first_column % 32 + width - 1) / 32 + 1),
        origin(first_column / 32 * 32) {}

  __device__ void clear() const {
    for (int w = lane_of_warp(); w < count; w += warp_size) words[w] = Word{};
  }

  /// Sets the bit of a column. Neighbouring lanes share words, and most bits have been set before.
  __device__ void mark(index_t column) const {
    const auto at = static_cast<unsigned>(column - origin);
    const unsigned bit = 1U << (at % 32);
    unsigned* const bits = &words[at / 32].bits;
    if ((*static_cast<const volatile unsigned*>(bits) & bit) == 0) atomicOr(bits, bit);
  }

  /// How many bits are set.
  [[nodiscard]] __device__ int population() const {
    unsigned sum = 0;
    for (int w = lane_of_warp(); w < count; w += warp_size) sum += static_cast<unsigned>(__popc(words[w].bits));
    return static_cast<int>(__reduce_add_sync(full_warp, sum));
  }
};

/// Gives every word its rank. \returns how many bits are set in all
[[nodiscard]] __device__ inline int rank_words(const Bitmap<RankedWord>& bitmap) {
  // Neighbouring words a lane: an odd number, for the sake of the banks.
  const int each = (bitmap.count + warp_size - 1) / warp_size | 1;
  const int begin = lane_of_warp() * each;
  const int end = begin + each < bitmap.count ? begin + each : bitmap.count;
  unsigned own = 0;
  for (int w = begin; w < end; ++w) own += static_cast<unsigned>(__popc(bitmap.words[w].bits));
  unsigned rank = sum_up_to_lane(own) - own;
  const unsigned total = __shfl_sync(full_warp, rank + own, warp_size - 1);
  for (int w = begin; w < end; ++w) {
    bitmap.words[w].rank = rank;
    rank += static_cast<unsigned>(__popc(bitmap.words[w].bits));
  }
  return static_cast<int>(total);
}

/// Writes the columns whose bits are set, ascending.
__device__ inline void write_columns(const Bitmap<BitWord>& bitmap, index_t* columns) {
  const int lane = lane_of_warp();
  const unsigned earlier = (1U << lane) - 1;
  for (int first = 0; first < bitmap.count; first += warp_size) {
    const unsigned own = first + lane < bitmap.count ? bitmap.words[first + lane].bits : 0;
    for (unsigned rest = __ballot_sync(full_warp, own != 0); rest != 0; rest &= rest - 1) {
      const int w = first + __ffs(static_cast<int>(rest)) - 1;
      const unsigned bits = bitmap.words[w].bits;
      if ((bits >> lane & 1U) != 0) columns[__popc(bits & earlier)] = bitmap.origin + 32 * w + lane;
      columns += __popc(bits);
    }
  }
}

}  // namespace tessera::cuda
