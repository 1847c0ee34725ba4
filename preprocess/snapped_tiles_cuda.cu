#include "preprocess/snapped_tiles.cuh"
#include "preprocess/tiles_cuda.hpp"
#include "tessera/error.hpp"

#include <string>

namespace tessera::cuda {

namespace {

void check_parameters(int sigma, int snap) {
  if (sigma < 1 || sigma > max_sigma(32)) {
    throw InvalidArgument("snapped tiles need sigma in [1, " + std::to_string(max_sigma(32)) + "], got " +
                          std::to_string(sigma));
  }
  const int most = lanes_per_tile / 2 * sigma - 1;
  if (snap < 0 || snap > most) {
    throw InvalidArgument("snapped tiles with sigma " + std::to_string(sigma) + " need snap in [0, " +
                          std::to_string(most) + "], got " + std::to_string(snap));
  }
}

}  // namespace

SnappedTiles build_snapped_tiles(index_t rows, std::span<const offset_t> row_offsets, offset_t nnz, int sigma, int snap,
                                 const Device& device) {
  check_parameters(sigma, snap);
  SnappedTiles tiles;
  tiles.rows = rows;
  tiles.nnz = nnz;
  tiles.sigma = sigma;
  tiles.snap = snap;
  const std::int64_t count = snapped_tile_count(path_length(rows, nnz), sigma, snap);
  tiles.starts = Array<TileStart>(count + 1, Init::none, device);
  tiles.lane_words = Array<std::uint32_t>(count * lanes_per_tile, Init::none, device);
  Array<unsigned long long> shared_starts(1, Init::zero, device);
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  launch("search for the starts of tiles", context,
         Grid{blocks_for(count + 1, tile_builder_threads), tile_builder_threads}, find_tile_starts, row_offsets.data(),
         rows, nnz, sigma, snap, count, tiles.starts.data(), shared_starts.data());
  if (count > 0) {
    launch("lane words of tiles", context,
           Grid{blocks_for(count, tile_builder_threads / warp_size), tile_builder_threads}, fill_tile_words,
           row_offsets.data(), sigma, count, tiles.starts.data(), tiles.lane_words.data());
  }
  unsigned long long counted = 0;
  detail::copy_bytes(Device{}, &counted, device, shared_starts.data(), sizeof(counted));
  tiles.shared_starts = static_cast<std::int64_t>(counted);
  return tiles;
}

}  // namespace tessera::cuda
