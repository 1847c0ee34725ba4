/// \file
/// The rows of the segments of CSR5's marked tiles, on a GPU.
#pragma once

#include "preprocess/csr5_flags.cuh"
#include "preprocess/csr5_tiles.hpp"
#include "preprocess/csr5_tiles_kernel.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Where the rows that begin in tiles are written.
template <class Word>
struct EmptyOffsets {
  int sigma;
  const std::uint32_t* tile_ptr;  ///< with marks
  const Word* words;
  const offset_t* empty_ptr;
  std::uint32_t* to;
};

/// What has to be known of the tile and the lane in which a row begins; nothing unless it begins in a tile.
template <class Word>
struct RowStart {
  unsigned bit = 0;
  std::uint32_t pointer = 0;
  Word word = 0;
  offset_t first = 0;

  __device__ void load(const EmptyOffsets<Word>& offsets, TilePlace at) {
    const unsigned lane = at.offset / static_cast<unsigned>(offsets.sigma);
    bit = at.offset - lane * static_cast<unsigned>(offsets.sigma);
    pointer = offsets.tile_ptr[at.tile];
    word = offsets.words[at.tile * lanes_per_tile + lane];
    first = offsets.empty_ptr[at.tile];
  }
  __device__ void write(const EmptyOffsets<Word>& offsets, std::uint32_t row) const {
    if ((pointer & empty_row_mark) == 0) return;
    const Csr5Lane<Word> lane = unpack_csr5_lane<Word>(word, offsets.sigma);
    const Word earlier = static_cast<Word>((Word{1} << bit) - 1);
    const offset_t segment = offset_t{lane.y_offset} + count_flags(static_cast<Word>(lane.row_starts & earlier));
    offsets.to[first + segment] = row - (pointer & ~empty_row_mark);
  }
};

/// Writes the rows that begin in marked tiles, each at its segment. First segments that begin before their tile are
/// left as they are: zero.
template <class Word>
__global__ void __launch_bounds__(row_pass_threads)
    fill_empty_offset_kernel(const offset_t* row_offsets, index_t rows, TileGrid grid, EmptyOffsets<Word> offsets) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * row_pass_threads + threadIdx.x;
  const LaneRows own(row_offsets, rows, thread * rows_per_lane);
  const TilePlace first = grid.place_of(own.offset[0]);
  RowStart<Word> start[rows_per_lane];
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) {
    const TilePlace at = grid.place_after(first, own.offset[i] - own.offset[0], own.offset[i]);
    if (own.filled(i) && at.tile < grid.tiles) start[i].load(offsets, at);
  }
#pragma unroll
  for (int i = 0; i < rows_per_lane; ++i) start[i].write(offsets, static_cast<std::uint32_t>(own.first + i));
}

}  // namespace tessera::cuda
