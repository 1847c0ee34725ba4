/// \file
/// The pairs of tiles that are not empty, as the numeric phase takes them: a list per tile of C, or per quad.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/tiles/symbolic_memory.cuh"

namespace tessera::cuda {

/// Each pair at its place: after those of earlier tiles of A.
__device__ inline void write_pairs(const PositionArrays& b, const SymbolicMemory& memory, int first_a,
                                   TilePair* pairs) {
  memory.for_each_pair([&](int t, int b_tile) {
    const int s = memory.window.slot(b.columns[b_tile]);
    const unsigned* const hits = memory.hits + s * memory.a_words;
    const unsigned bit = 1U << (t & 31);
    if ((hits[t >> 5] & bit) == 0) return;
    unsigned place = memory.first_pairs[s] + static_cast<unsigned>(__popc(hits[t >> 5] & (bit - 1U)));
    for (int w = 0; w < t >> 5; ++w) place += static_cast<unsigned>(__popc(hits[w]));
    pairs[place] = {first_a + t, b_tile};
  });
}

/// Quads of so many slots.
[[nodiscard]] __device__ constexpr int quads_of(int slots) { return (slots + quad_tiles - 1) / quad_tiles; }

/// Places for the quads of a tile row. One thread. \returns the first
[[nodiscard]] __device__ inline unsigned reserve_quads(int slots, TileTotals* totals) {
  return atomicAdd(&totals->c_quads, static_cast<unsigned>(quads_of(slots)));
}

/// Word w of the tiles of A that meet a tile of B in a quad.
[[nodiscard]] __device__ inline unsigned hits_of_quad(const SymbolicMemory& memory, int quad, int slots, int w) {
  unsigned hits = 0;
  const int end = min(slots, quad_tiles * (quad + 1));
  for (int s = quad_tiles * quad; s < end; ++s) hits |= memory.hits[s * memory.a_words + w];
  return hits;
}

/// The tiles of a tile row of C.
struct QuadRow {
  int first_tile;
  index_t tile_row;
  bool leaves_out_empty;  ///< whether slots without entries have no record
};

/// The quads of a tile row; leaves the place of the first term of each in memory.first_pairs. One warp.
__device__ inline void write_quads(const SymbolicMemory& memory, int slots, const QuadRow& row, unsigned first_quad,
                                   unsigned first_term, const CTileArrays& c) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const int quads = quads_of(slots);
  int tile = row.first_tile;
  for (int q0 = 0; q0 < quads; q0 += warp_size) {
    const int q = q0 + lane;
    int terms = 0;
    unsigned entries = 0;
    if (q < quads) {
      for (int w = 0; w < memory.a_words; ++w) terms += __popc(hits_of_quad(memory, q, slots, w));
      for (int s = 0; s < min(quad_tiles, slots - quad_tiles * q); ++s) {
        if (memory.c_bitmaps[quad_tiles * q + s] != 0) entries |= 1U << s;
      }
    }
    const int records = row.leaves_out_empty ? __popc(entries) : quad_tiles;
    const int terms_up_to = sum_up_to_lane(terms);
    const int records_up_to = sum_up_to_lane(records);
    if (q < quads) {
      const unsigned begin = first_term + static_cast<unsigned>(terms_up_to - terms);
      memory.first_pairs[q] = begin;
      c.quads[first_quad + static_cast<unsigned>(q)] = {begin, static_cast<std::uint16_t>(terms),
                                                        static_cast<std::uint16_t>(entries),
                                                        tile + records_up_to - records, row.tile_row};
    }
    first_term += static_cast<unsigned>(__shfl_sync(full_warp, terms_up_to, warp_size - 1));
    tile += __shfl_sync(full_warp, records_up_to, warp_size - 1);
  }
}

/// Each term at its place, after those of earlier tiles of A, by the thread of its first tile of B.
__device__ inline void write_terms(const PositionArrays& b, const SymbolicMemory& memory, int slots, QuadTerm* terms) {
  memory.for_each_pair([&](int t, int b_tile) {
    const auto slot_of = [&](int tile) { return memory.window.slot(b.columns[tile]); };
    const BTiles row = memory.b_tiles[t];
    const int slot = slot_of(b_tile);
    const int quad = slot / quad_tiles;
    if (b_tile > row.first && slot_of(b_tile - 1) / quad_tiles == quad) return;
    unsigned present = 0;
    unsigned live = 0;
    const int end = quad_tiles * (quad + 1);
    int s = slot;
    for (int tile = b_tile;;) {
      const unsigned bit = 1U << s % quad_tiles;
      present |= bit;
      if ((memory.hits[s * memory.a_words + (t >> 5)] >> (t & 31) & 1U) != 0) live |= bit;
      if (++tile == row.first + row.tiles) break;
      s = slot_of(tile);
      if (s >= end) break;
    }
    if (live == 0) return;
    const unsigned before = (1U << (t & 31)) - 1U;
    auto place =
        memory.first_pairs[quad] + static_cast<unsigned>(__popc(hits_of_quad(memory, quad, slots, t >> 5) & before));
    for (int w = 0; w < t >> 5; ++w) place += static_cast<unsigned>(__popc(hits_of_quad(memory, quad, slots, w)));
    terms[place] = QuadTerm::of(t, b_tile, present, live);
  });
}

}  // namespace tessera::cuda
