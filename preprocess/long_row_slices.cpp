/// \file
/// Cache blocking of long rows: choice of runs and windows, and the cuts.
#include "preprocess/long_row_slices.hpp"

#include "core/host_memory.hpp"
#include "core/parallel.hpp"

#include <vector>

namespace tessera::detail {

namespace {

/// Width of a window, in bytes of x: with the narrowest, slices are long enough; the widest still fits the cache.
constexpr std::uint64_t narrowest_window_bytes = std::uint64_t{1} << 17;
constexpr std::uint64_t widest_window_bytes = std::uint64_t{1} << 19;

constexpr offset_t shortest_slice = 64;  ///< nonzeros, on average over a run

/// Least number of passes over x that the long rows make together.
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
    if (length >= shortest_sliced_run) runs.push_back({first, tile, length});
  }
  return runs;
}

void keep_from(std::vector<Run>& runs, offset_t length) {
  runs.erase(std::remove_if(runs.begin(), runs.end(), [length](const Run& run) { return run.length < length; }),
             runs.end());
}

/// Windows over x and their width in columns.
struct Windows {
  std::int64_t count;
  std::int64_t width;
  /// Least nonzeros of a run that is worth cutting.
  [[nodiscard]] offset_t shortest_run_worth_cutting() const noexcept {
    return std::max(shortest_sliced_run, count * shortest_slice);
  }
};

/// The narrowest windows that keep the slices of that many runs within their bound, or the widest.
Windows choose_windows(std::int64_t runs, index_t cols, std::size_t element_bytes) {
  for (std::uint64_t bytes = narrowest_window_bytes;; bytes *= 2) {
    const auto width = static_cast<std::int64_t>(bytes / element_bytes);
    const std::int64_t count = (cols + width - 1) / width;
    if (bytes >= widest_window_bytes || count * runs <= max_long_row_slices) return {count, width};
  }
}

/// Keeps the runs that are long enough for the windows, and no more than may be cut.
void choose_runs(std::vector<Run>& runs, const Windows& windows) {
  offset_t least = windows.shortest_run_worth_cutting();
  keep_from(runs, least);
  while (windows.count * static_cast<std::int64_t>(runs.size()) > max_long_row_slices) keep_from(runs, least *= 2);
}

bool stays_in_cache(index_t cols, std::size_t element_bytes) {
  return static_cast<std::uint64_t>(cols) * element_bytes <= cached_vector_bytes;
}

LongRowTotals rows_from(std::span<const offset_t> row_offsets, offset_t length, const Device& device) {
  const auto rows = static_cast<std::int64_t>(row_offsets.size()) - 1;
  return host::parallel_sum<LongRowTotals>(device, rows, [&](host::Range range) {
    LongRowTotals totals;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      const offset_t nonzeros = row_offsets[i + 1] - row_offsets[i];
      if (nonzeros >= length) totals += {1, nonzeros};
    }
    return totals;
  });
}

/// Finds where each window begins within one run.
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

LongRowTotals rows_worth_slicing(std::span<const offset_t> row_offsets, index_t cols, std::size_t element_bytes,
                                 const Device& device) {
  if (stays_in_cache(cols, element_bytes)) return {};
  const std::int64_t candidates = rows_from(row_offsets, shortest_sliced_run, device).rows;
  if (candidates == 0) return {};
  const Windows windows = choose_windows(candidates, cols, element_bytes);
  const LongRowTotals totals = rows_from(row_offsets, windows.shortest_run_worth_cutting(), device);
  const bool worth = totals.nonzeros >= least_passes * cols && windows.count * totals.rows <= max_long_row_slices;
  return worth ? totals : LongRowTotals{};
}

LongRowSlices build_long_row_slices(const MerbitTiles& tiles, std::span<const index_t> columns, index_t cols,
                                    std::size_t element_bytes, const Device& device) {
  LongRowSlices slices;
  if (stays_in_cache(cols, element_bytes)) return slices;
  std::vector<Run> runs = find_runs(tiles);
  const Windows windows = choose_windows(static_cast<std::int64_t>(runs.size()), cols, element_bytes);
  choose_runs(runs, windows);
  offset_t nonzeros = 0;
  for (const Run& run : runs) nonzeros += run.length;
  if (nonzeros < least_passes * cols) return slices;
  const auto count = static_cast<std::int64_t>(runs.size());
  slices.windows = windows.count;
  slices.first_tile = Array<std::int64_t>(count, Init::none);
  slices.end_tile = Array<std::int64_t>(count, Init::none);
  slices.begin = Array<offset_t>((slices.windows + 1) * count, Init::none);
  for (std::int64_t r = 0; r < count; ++r) {
    slices.first_tile[r] = runs[static_cast<std::size_t>(r)].first_tile;
    slices.end_tile[r] = runs[static_cast<std::size_t>(r)].end_tile;
  }
  host::parallel_tasks(device, count, [&](std::int64_t r) { cut(columns, tiles, windows.width, r, slices); });
  return slices;
}

}  // namespace tessera::detail
