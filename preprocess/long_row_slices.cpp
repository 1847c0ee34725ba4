#include "preprocess/long_row_slices.hpp"

#include "core/cache_size.hpp"
#include "core/parallel.hpp"

#include <vector>

namespace tessera {

namespace {

/// Widths of a window, in bytes of x: the narrowest leaves slices long enough, the widest still fits the cache.
constexpr std::uint64_t narrowest_window_bytes = std::uint64_t{1} << 17;
constexpr std::uint64_t widest_window_bytes = std::uint64_t{1} << 19;

constexpr offset_t shortest_run = 4096;  ///< nonzeros
constexpr offset_t shortest_slice = 64;  ///< nonzeros, on average over a run

/// Passes over x that the long rows have to make together.
constexpr offset_t least_passes = 2;

struct Run {
  std::int64_t first_tile;
  std::int64_t end_tile;
  offset_t length;
};

/// Neighbouring long-row tiles always belong to the same row: neither ends it.
std::vector<Run> find_runs(const MerbitTiles& tiles) {
  std::vector<Run> runs;
  for (std::int64_t tile = 0; tile < tiles.tiles(); ++tile) {
    if (!tiles.is_long_row(tile)) continue;
    const std::int64_t first = tile;
    while (tile < tiles.tiles() && tiles.is_long_row(tile)) ++tile;
    const offset_t length = tiles.tile_x[tile] - tiles.tile_x[first];
    if (length >= shortest_run) runs.push_back({first, tile, length});
  }
  return runs;
}

void keep_from(std::vector<Run>& runs, offset_t length) {
  runs.erase(std::remove_if(runs.begin(), runs.end(), [length](const Run& run) { return run.length < length; }),
             runs.end());
}

/// Width of the windows, in columns. Narrows `runs` down to those that are long enough for it.
std::int64_t choose_window(std::vector<Run>& runs, index_t cols, std::size_t element_bytes) {
  const auto count = [](const std::vector<Run>& some) { return static_cast<std::int64_t>(some.size()); };
  std::uint64_t bytes = narrowest_window_bytes;
  const auto width = [&] { return static_cast<std::int64_t>(bytes / element_bytes); };
  const auto windows = [&] { return (cols + width() - 1) / width(); };
  while (bytes < widest_window_bytes && windows() * count(runs) > max_long_row_slices) bytes *= 2;
  offset_t least = windows() * shortest_slice;
  keep_from(runs, least);
  while (windows() * count(runs) > max_long_row_slices) keep_from(runs, least *= 2);
  return width();
}

/// Where each window begins within one run.
void cut(std::span<const index_t> columns, const MerbitTiles& tiles, std::int64_t width, std::int64_t run,
         LongRowSlices& slices) {
  const index_t* end = columns.data() + tiles.tile_x[slices.end_tile[run]];
  const index_t* at = columns.data() + tiles.tile_x[slices.first_tile[run]];
  for (std::int64_t w = 0; w < slices.windows; ++w) {
    at = std::lower_bound(at, end, w * width);
    slices.begin[w * slices.runs() + run] = at - columns.data();
  }
  slices.begin[slices.windows * slices.runs() + run] = end - columns.data();
}

}  // namespace

LongRowSlices build_long_row_slices(const MerbitTiles& tiles, std::span<const index_t> columns, index_t cols,
                                    std::size_t element_bytes, const Device& device) {
  LongRowSlices slices;
  if (static_cast<std::uint64_t>(cols) * element_bytes <= cached_vector_bytes) return slices;
  std::vector<Run> runs = find_runs(tiles);
  const std::int64_t width = choose_window(runs, cols, element_bytes);
  offset_t nonzeros = 0;
  for (const Run& run : runs) nonzeros += run.length;
  if (nonzeros < least_passes * cols) return slices;
  const auto count = static_cast<std::int64_t>(runs.size());
  slices.windows = (cols + width - 1) / width;
  slices.first_tile = Array<std::int64_t>(count, Init::none);
  slices.end_tile = Array<std::int64_t>(count, Init::none);
  slices.begin = Array<offset_t>((slices.windows + 1) * count, Init::none);
  for (std::int64_t r = 0; r < count; ++r) {
    slices.first_tile[r] = runs[static_cast<std::size_t>(r)].first_tile;
    slices.end_tile[r] = runs[static_cast<std::size_t>(r)].end_tile;
  }
  host::parallel_tasks(device, count, [&](std::int64_t r) { cut(columns, tiles, width, r, slices); });
  return slices;
}

}  // namespace tessera
