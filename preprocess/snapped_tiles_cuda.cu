/// \file
/// Snapped tiles on a GPU: one thread per tile finds its start, then one warp per tile its lane words.
#include "preprocess/snapped_tiles.hpp"

#include "core/cuda/launch.cuh"
#include "tessera/error.hpp"

#include <string>

namespace tessera::cuda {

namespace {

constexpr int tile_builder_threads = 256;

/// Counts that the host reads.
struct TileCounts {
  unsigned long long shared_starts = 0;  ///< tiles that begin inside a row
  unsigned long long crowd_samples = 0;  ///< tiles of the sample in rows of at least crowd_span tiles
  unsigned long long unsummable = 0;     ///< 1 if a tile has to be walked, but cannot be
};

/// Starts of all tiles and the entry past them.
__global__ void __launch_bounds__(tile_builder_threads)
    find_tile_starts(const offset_t* row_offsets, index_t rows, offset_t nnz, TileRules rules, std::int64_t tiles,
                     TileStart* starts, TileCounts* counts) {
  const std::int64_t tile = std::int64_t{blockIdx.x} * tile_builder_threads + threadIdx.x;
  TileStart start;
  if (tile <= tiles) {
    const offset_t length = path_length(rows, nnz);
    const offset_t diagonal = tile * rules.spacing;
    start = snapped_start(row_offsets, rows, nnz, tile < tiles ? diagonal : length, rules.snap);
    starts[tile] = start;
  }
  const unsigned inside = __ballot_sync(full_warp, start.inside_row());
  if (threadIdx.x % warp_size == 0 && inside != 0) {
    atomicAdd(&counts->shared_starts, static_cast<unsigned long long>(__popc(inside)));
  }
}

/// Results of one pass of a warp over the rows of its tile.
struct TileRows {
  int longest = 0;              ///< over the lanes seen so far
  std::uint32_t lengths = 0;    ///< of rows lane, lane + 32, ...: a byte each
  std::uint32_t first_end = 0;  ///< where row `lane` ends, in nonzeros from the start of the tile
};

/// Scans the rows that end in a tile, and sets the bit of each row end in `row_end_items`.
__device__ inline TileRows scan_tile_rows(const offset_t* row_offsets, const TileStart& start, int tile_rows, int lane,
                                          unsigned* row_end_items) {
  TileRows seen;
  for (int i = lane; i < tile_rows; i += warp_size) {
    const offset_t* const row = row_offsets + start.y() + i;
    const offset_t from = row[0] > start.x ? row[0] : start.x;
    const auto end = static_cast<int>(row[1] - start.x);
    const auto length = static_cast<int>(row[1] - from);
    const int item = end + i;
    atomicOr(row_end_items + item / 32, 1u << (item % 32));
    seen.longest = length > seen.longest ? length : seen.longest;
    if (i < row_rounds * lanes_per_tile) {
      const int kept = length < max_packed_length ? length : max_packed_length;
      seen.lengths |= static_cast<std::uint32_t>(kept) << (8 * (i / lanes_per_tile));
    }
    if (i == lane) seen.first_end = static_cast<std::uint32_t>(end);
  }
  return seen;
}

/// The descriptor of a lane, from the row ends of its tile.
__device__ inline std::uint32_t walk_word(const unsigned* row_end_items, int sigma, int lane) {
  const int first = lane * sigma;
  const unsigned low = row_end_items[first / 32];
  const unsigned high = row_end_items[first / 32 + 1];
  const std::uint32_t flags = __funnelshift_r(low, high, static_cast<unsigned>(first % 32)) & ((1u << sigma) - 1);
  const int closed = __popc(flags);
  int before = closed;
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const int other = __shfl_up_sync(full_warp, before, static_cast<unsigned>(distance));
    if (lane >= distance) before += other;
  }
  return pack_lane<std::uint32_t>({flags, static_cast<std::uint32_t>(before - closed)}, sigma);
}

/// Lane words of all tiles, and how each is summed.
__global__ void __launch_bounds__(tile_builder_threads)
    fill_tile_words(const offset_t* row_offsets, TileRules rules, std::int64_t tiles, TileStart* starts,
                    std::uint32_t* lane_words, TileCounts* counts) {
  constexpr int warps = tile_builder_threads / warp_size;
  constexpr int bitmap_words = max_tile_items / 32 + 1;  // one more, since a lane's bits may lie in two words
  __shared__ unsigned bitmaps[warps][bitmap_words];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t tile = std::int64_t{blockIdx.x} * warps + warp;
  if (tile >= tiles) return;
  const TileStart start = starts[tile];
  const TileStart end = starts[tile + 1];  // do not read `summation`, which another warp may be writing
  for (int i = lane; i < bitmap_words; i += warp_size) bitmaps[warp][i] = 0;
  __syncwarp();
  TileShape shape{static_cast<int>(end.x - start.x), static_cast<int>(end.y() - start.y()), 0,
                  !start.inside_row() && !end.inside_row()};
  const TileRows seen = scan_tile_rows(row_offsets, start, shape.rows, lane, bitmaps[warp]);
  shape.longest = __reduce_max_sync(full_warp, seen.longest);
  __syncwarp();
  const std::uint32_t summation = choose_summation(shape, rules);
  const auto kind = static_cast<TileKind>(summation & tile_kind_mask);
  std::uint32_t word = 0;
  if (kind == TileKind::walk) {
    if (rules.sigma > 0) word = walk_word(bitmaps[warp], rules.sigma, lane);
    if (rules.sigma == 0 && lane == 0) counts->unsummable = 1;
  }
  if (kind == TileKind::rows) word = seen.lengths;
  if (kind == TileKind::few_rows) word = seen.first_end;
  lane_words[tile * lanes_per_tile + lane] = word;
  if (lane == 0) starts[tile].summation = summation;
  if (lane != 0 || tile % crowd_sample != 0 || tile + crowd_span >= tiles) return;
  if (starts[tile + crowd_span].row == start.row) atomicAdd(&counts->crowd_samples, 1ull);
}

void check_rules(const TileRules& rules) {
  const bool walked = rules.sigma > 0;
  const int most = walked ? lanes_per_tile * rules.sigma : max_tile_items;
  const bool fits = rules.sigma >= 0 && rules.sigma <= max_sigma(32) && rules.snap >= 0 && rules.spacing > rules.snap &&
                    rules.max_items() <= most;
  if (fits) return;
  throw InvalidArgument("snapped tiles need sigma in [0, " + std::to_string(max_sigma(32)) +
                        "], snap in [0, spacing) and at most " + std::to_string(most) + " items, got sigma " +
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
  const DeviceGuard current(device);
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
