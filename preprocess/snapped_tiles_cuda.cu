#include "preprocess/snapped_tiles.cuh"
#include "preprocess/tiles_cuda.hpp"
#include "tessera/error.hpp"

#include <string>

namespace tessera::cuda {

namespace {

void check_rules(const TileRules& rules) {
  const bool walked = rules.sigma > 0;
  const int most = walked ? lanes_per_tile * rules.sigma : max_tile_steps;
  const bool fits = rules.sigma >= 0 && rules.sigma <= max_sigma(32) && rules.snap >= 0 && rules.spacing > rules.snap &&
                    rules.most_steps() <= most;
  if (fits) return;
  throw InvalidArgument("snapped tiles need sigma in [0, " + std::to_string(max_sigma(32)) +
                        "], snap in [0, spacing) and at most " + std::to_string(most) + " steps, got sigma " +
                        std::to_string(rules.sigma) + ", snap " + std::to_string(rules.snap) + " and spacing " +
                        std::to_string(rules.spacing));
}

}  // namespace

SnappedTiles build_snapped_tiles(index_t rows, std::span<const offset_t> row_offsets, offset_t nnz,
                                 const TileRules& rules, const Device& device) {
  check_rules(rules);
  SnappedTiles tiles;
  tiles.rows = rows;
  tiles.nnz = nnz;
  tiles.rules = rules;
  const std::int64_t count = snapped_tile_count(path_length(rows, nnz), rules);
  tiles.starts = Array<TileStart>(count + 1, Init::none, device);
  tiles.lane_words = Array<std::uint32_t>(count * lanes_per_tile, Init::none, device);
  Array<TileCounts> counts(1, Init::zero, device);
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  launch("search for the starts of tiles", context,
         Grid{blocks_for(count + 1, tile_builder_threads), tile_builder_threads}, find_tile_starts, row_offsets.data(),
         rows, nnz, rules, count, tiles.starts.data(), counts.data());
  if (count > 0) {
    launch("lane words of tiles", context,
           Grid{blocks_for(count, tile_builder_threads / warp_size), tile_builder_threads}, fill_tile_words,
           row_offsets.data(), rules, count, tiles.starts.data(), tiles.lane_words.data(), counts.data());
  }
  TileCounts counted;
  detail::copy_bytes(Device{}, &counted, device, counts.data(), sizeof(counted));
  tiles.shared_starts = static_cast<std::int64_t>(counted.shared_starts);
  tiles.crowded_tiles = static_cast<double>(crowd_sample) * static_cast<double>(counted.crowd_samples);
  tiles.cannot_be_summed = counted.unsummable != 0;
  return tiles;
}

}  // namespace tessera::cuda
