/// \file
/// MERBIT's tiles on a GPU: one search of the merge path per lane.
#include "preprocess/merbit_tiles.hpp"

#include "core/cuda/launch.cuh"

namespace tessera::cuda {

namespace {

constexpr int builder_threads = 256;

/// One thread per lane, one warp per tile.
template <DescriptorWord Word>
__global__ void __launch_bounds__(builder_threads)
    build_tiles_kernel(const offset_t* row_offsets, index_t rows, offset_t nnz, int sigma, std::int64_t tiles,
                       offset_t* tile_x, std::uint32_t* tile_y, Word* lane_words) {
  const offset_t lane = offset_t{blockIdx.x} * builder_threads + threadIdx.x;
  const std::int64_t tile = lane / lanes_per_tile;
  if (tile > tiles) return;
  if (tile == tiles) {
    if (lane % lanes_per_tile != 0) return;
    tile_x[tile] = nnz;
    tile_y[tile] = static_cast<std::uint32_t>(rows);
    return;
  }
  const LocatedLane<Word> located = locate_lane<Word>(row_offsets, rows, nnz, sigma, lane);
  const index_t tile_row = __shfl_sync(full_warp, located.start.y, 0);
  const bool has_down_step = __any_sync(full_warp, located.down_flags != 0) != 0;
  const auto y_offset = static_cast<std::uint32_t>(located.start.y - tile_row);
  lane_words[lane] = pack_lane<Word>({located.down_flags, y_offset}, sigma);
  if (lane % lanes_per_tile != 0) return;
  tile_x[tile] = located.start.x;
  tile_y[tile] = static_cast<std::uint32_t>(tile_row) | (has_down_step ? 0 : long_row_mark);
}

template <DescriptorWord Word>
void build_all(MerbitTiles& tiles, const offset_t* row_offsets, Array<Word>& words, const Device& device) {
  const std::int64_t count = tiles.tiles();
  words = Array<Word>(count * lanes_per_tile, Init::none, device);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  launch("MERBIT tiles", context, Grid{blocks_for((count + 1) * lanes_per_tile, builder_threads), builder_threads},
         build_tiles_kernel<Word>, row_offsets, tiles.rows, tiles.nnz, tiles.sigma, count, tiles.tile_x.data(),
         tiles.tile_y.data(), words.data());
}

}  // namespace

MerbitTiles build_merbit_tiles(index_t rows, std::span<const offset_t> row_offsets, int sigma, int descriptor_bits,
                               const Device& device) {
  MerbitTiles tiles;
  tiles.rows = rows;
  tiles.sigma = sigma;
  tiles.descriptor_bits = descriptor_bits;
  detail::copy_bytes(Device{}, &tiles.nnz, device, row_offsets.data() + rows, sizeof(tiles.nnz));
  const std::int64_t count = (tiles.length() + tiles.items_per_tile() - 1) / tiles.items_per_tile();
  tiles.tile_x = Array<offset_t>(count + 1, Init::none, device);
  tiles.tile_y = Array<std::uint32_t>(count + 1, Init::none, device);
  if (descriptor_bits == 32) {
    build_all(tiles, row_offsets.data(), tiles.lane_words_32, device);
  } else {
    build_all(tiles, row_offsets.data(), tiles.lane_words_64, device);
  }
  return tiles;
}

}  // namespace tessera::cuda
