/// \file
/// A tile row of C in the shared memory of a block of the symbolic phase.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/tiles/column_window.cuh"
#include "spgemm/cuda/tiles/tile_product.hpp"

#include <cstddef>
#include <type_traits>

namespace tessera::cuda {

/// First tile and number of tiles of a row of B.
struct alignas(8) BTiles {
  int first;
  int tiles;
};

/// A tile row of C in shared memory, laid out as SymbolicLayout counts it.
struct SymbolicMemory {
  std::uint64_t* c_bitmaps;  ///< per slot
  std::uint64_t* a_bitmaps;  ///< per tile of A
  BTiles* b_tiles;           ///< per tile of A
  unsigned* hits;            ///< a_words() per slot: the tiles of A that meet a tile of B there
  unsigned* first_pairs;     ///< per slot
  index_t* columns;          ///< per slot
  ColumnWindow window;
  int a_tiles;
  int a_words;

  __device__ SymbolicMemory(const SymbolicLayout& layout, index_t first_column)
      : a_tiles(layout.a_tiles), a_words(layout.a_words()) {
    unsigned char* memory = dynamic_shared_memory();
    const auto take = [&memory](auto*& target, int count) {
      target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(memory);
      memory += static_cast<std::size_t>(count) * sizeof(*target);
    };
    take(c_bitmaps, layout.slots);
    take(a_bitmaps, a_tiles);
    take(b_tiles, a_tiles);
    take(hits, layout.slots * a_words);
    take(first_pairs, layout.slots);
    take(columns, layout.slots);
    take(window.words, layout.words);
    take(window.ranks, layout.words);
    window.origin = first_column & ~31;
  }

  /// body(number of the tile of A, tile of B) for all pairs: warps take tiles of A in turn, lanes tiles of B.
  template <class Body>
  __device__ void for_each_pair(Body body) const {
    const auto lane = static_cast<int>(threadIdx.x % warp_size);
    for (int t = static_cast<int>(threadIdx.x / warp_size); t < a_tiles; t += symbolic_threads / warp_size) {
      const BTiles b = b_tiles[t];
      for (int u = lane; u < b.tiles; u += warp_size) body(t, b.first + u);
    }
  }
};

/// Pairs of a slot. \param s < slots
[[nodiscard]] __device__ inline int pairs_of_slot(const SymbolicMemory& memory, int s) {
  int pairs = 0;
  for (int w = 0; w < memory.a_words; ++w) pairs += __popc(memory.hits[s * memory.a_words + w]);
  return pairs;
}

}  // namespace tessera::cuda
