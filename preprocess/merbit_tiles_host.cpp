/// \file
/// MERBIT's tiles on the host: one search of the merge path per tile.
#include "preprocess/merbit_tiles.hpp"

#include "core/parallel.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

namespace tessera::detail {

namespace {

void check_parameters(int sigma, int descriptor_bits) {
  if (descriptor_bits != 32 && descriptor_bits != 64) {
    throw InvalidArgument(fmt::format("MERBIT descriptors have 32 or 64 bits, not {}", descriptor_bits));
  }
  if (sigma < 1 || sigma > max_sigma(descriptor_bits)) {
    throw InvalidArgument(fmt::format("MERBIT with {}-bit descriptors needs sigma in [1, {}], got {}", descriptor_bits,
                                      max_sigma(descriptor_bits), sigma));
  }
}

/// Fills the descriptors of one tile. Its first lane is searched; each of the others starts where the previous one
/// ended, which saves searches and gives the result of locate_lane().
template <DescriptorWord Word>
void build_tile(MerbitTiles& tiles, const offset_t* row_offsets, std::int64_t tile, Word* words) {
  const offset_t first_lane = tile * lanes_per_tile;
  const PathPoint start = merge_search(row_offsets, tiles.rows, tiles.nnz, first_lane * tiles.sigma);
  PathPoint point = start;
  for (int lane = 0; lane < lanes_per_tile; ++lane) {
    const auto y_offset = static_cast<std::uint32_t>(point.y - start.y);
    const int items = lane_item_count(tiles.length(), tiles.sigma, first_lane + lane);
    const Word flags = walk_lane<Word>(row_offsets, tiles.rows, items, point);
    words[first_lane + lane] = pack_lane<Word>({flags, y_offset}, tiles.sigma);
  }
  tiles.tile_x[tile] = start.x;
  tiles.tile_y[tile] = static_cast<std::uint32_t>(start.y) | (point.y == start.y ? long_row_mark : 0);
}

template <DescriptorWord Word>
void build_all(MerbitTiles& tiles, const offset_t* row_offsets, Array<Word>& words, const Device& device) {
  const std::int64_t count = tiles.tiles();
  words = Array<Word>(count * lanes_per_tile, Init::none);
  const std::int64_t parts = std::min<std::int64_t>(count, host::max_sum_chunks);
  host::parallel_tasks(device, parts, [&](std::int64_t part) {
    const host::Range range = host::part_of(count, parts, part);
    for (std::int64_t tile = range.begin; tile < range.end; ++tile) build_tile(tiles, row_offsets, tile, words.data());
  });
}

}  // namespace

MerbitTiles build_merbit_tiles(index_t rows, std::span<const offset_t> row_offsets, int sigma, int descriptor_bits,
                               const Device& device) {
  check_parameters(sigma, descriptor_bits);
  if (!device.is_host()) return cuda::build_merbit_tiles(rows, row_offsets, sigma, descriptor_bits, device);
  MerbitTiles tiles;
  tiles.rows = rows;
  tiles.nnz = row_offsets.back();
  tiles.sigma = sigma;
  tiles.descriptor_bits = descriptor_bits;
  const std::int64_t count = (tiles.length() + tiles.items_per_tile() - 1) / tiles.items_per_tile();
  tiles.tile_x = Array<offset_t>(count + 1, Init::none);
  tiles.tile_y = Array<std::uint32_t>(count + 1, Init::none);
  tiles.tile_x[count] = tiles.nnz;
  tiles.tile_y[count] = static_cast<std::uint32_t>(rows);
  if (descriptor_bits == 32) {
    build_all(tiles, row_offsets.data(), tiles.lane_words_32, device);
  } else {
    build_all(tiles, row_offsets.data(), tiles.lane_words_64, device);
  }
  return tiles;
}

}  // namespace tessera::detail
