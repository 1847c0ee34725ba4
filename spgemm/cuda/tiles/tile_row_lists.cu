// Lists of tile rows: a thread per tile row, places taken by warps.
#include "spgemm/cuda/tiles/tile_row_lists.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;

__global__ void __launch_bounds__(threads)
    list_kernel(detail::CsrStructurePointers matrix, index_t tile_rows, const std::uint8_t* flags,
                offset_t least_entries, const TileRow* rows, index_t* list, TileListTotals* totals) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const unsigned lane = threadIdx.x % warp_size;
  offset_t entries = 0;
  bool listed = false;
  if (i < tile_rows) {
    const auto tile_row = static_cast<index_t>(i);
    entries = matrix.begin_of(tile_row, tile_size) - matrix.begin_of(tile_row, 0);
    listed = least_entries > 0 ? entries >= least_entries : flags[i] != 0;
  }
  const unsigned members = __ballot_sync(full_warp, listed);
  if (members == 0) return;
  const int tiles = listed && rows != nullptr ? max(rows[i].tiles, 0) : 0;
  const auto all_tiles = static_cast<unsigned>(sum_over_lanes(static_cast<long long>(tiles)));
  const auto all_entries = static_cast<unsigned long long>(sum_over_lanes(listed ? entries : 0));
  unsigned begin = 0;
  if (lane == 0) {
    begin = atomicAdd(&totals->rows, static_cast<unsigned>(__popc(members)));
    if (all_tiles != 0) atomicAdd(&totals->tiles, all_tiles);
    atomicAdd(&totals->entries, all_entries);
  }
  begin = __shfl_sync(full_warp, begin, 0);
  if (listed) list[begin + static_cast<unsigned>(__popc(members & ((1U << lane) - 1)))] = static_cast<index_t>(i);
}

/// A warp per tile row of A.
__global__ void __launch_bounds__(threads)
    met_kernel(PositionArrays a, TileRowRule rule, const std::uint8_t* in_tiles, bool itself, std::uint8_t* of_b) {
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  if (i >= a.taken.count) return;
  const index_t tile_row = a.taken[i];
  const TileRow row = a.rows[tile_row];
  if (in_tiles != nullptr ? in_tiles[tile_row] == 0 : !tile_row_may_pay(row.tiles, a.lengths[tile_row], rule)) return;
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  if (itself && lane == 0) of_b[tile_row] = 1;
  for (int t = lane; t < row.tiles; t += warp_size) of_b[a.columns[row.first + t]] = 1;
}

}  // namespace

void enqueue_tile_row_list(const Context& context, const detail::CsrStructurePointers& matrix, TileRowSet& set,
                           offset_t least_entries, const TilePositions* tiles, int which, TileTotals* totals) {
  const index_t tile_rows = detail::tiles_across(matrix.rows);
  if (tile_rows == 0) return;
  launch("list of tile rows", context, Grid{blocks_for(tile_rows, threads), threads}, list_kernel, matrix, tile_rows,
         set.flags(), least_entries, tiles == nullptr ? nullptr : tiles->arrays().rows, set.list(),
         totals->listed + which);
}

void enqueue_met_tile_rows(const Context& context, const TilePositions& a, const TileRowRule& rule,
                           const std::uint8_t* in_tiles, bool itself, TileRowSet& of_b) {
  const index_t taken = a.arrays().taken.count;
  if (taken == 0) return;
  launch("tile rows of B that are met", context, Grid{blocks_for(taken, warps), threads}, met_kernel, a.arrays(), rule,
         in_tiles, itself, of_b.flags());
}

}  // namespace tessera::cuda
