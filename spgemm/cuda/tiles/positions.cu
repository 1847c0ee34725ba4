// From CSR to bitmap tiles: a block per tile row finds its tiles (preprocess/find_tiles.cuh), takes room for them, and
// counts the entries of each row before each tile. Unlike a TileMatrix these tiles have no values, and tile rows lie in
// the order in which they are found: neither a scan nor a packing pass is waited for.
#include "core/cuda/launch.cuh"
#include "preprocess/find_tiles.cuh"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tiled_factor.hpp"

#include <climits>

namespace tessera::cuda {

namespace {

/// Writes the tiles of a tile row, and how many entries of each row lie before them. One warp.
__device__ void write_tiles(const TileRowWindow& window, index_t tile_row, int first, int tiles,
                            const PositionArrays& out) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  RunningRowCounts counts;
  for (int t0 = 0; t0 < tiles; t0 += warp_size) {
    const int t = t0 + lane;
    const std::uint64_t bitmap = t < tiles ? window.bitmaps[t] : 0;
    const TileRowCounts before = counts.next(bitmap);
    if (t < tiles) {
      out.bitmaps[first + t] = bitmap;
      out.columns[first + t] = window.columns[t];
      out.row_ranks[first + t] = before;
    }
  }
  if (lane == 0) out.lengths[tile_row] = counts.total();
}

/// A tile row that is empty, or cannot be served. One thread. \param tiles 0 or tiles_not_found
__device__ void write_no_tiles(index_t tile_row, int tiles, const PositionArrays& out) {
  out.rows[tile_row] = {0, tiles, INT_MAX, -1};
  out.lengths[tile_row] = TileRowCounts();
}

[[nodiscard]] __device__ BeyondTiles limit_of(const FoundTileRow& found) {
  return found.words > most_window_words ? BeyondTiles::span : BeyondTiles::tiles;
}

/// \tparam Listed whether `out` takes the tile rows of a list. Without one no number of a tile row is kept, and 32
/// registers suffice for eight blocks per multiprocessor without stack.
template <bool Listed>
__global__ void __launch_bounds__(find_threads)
    positions_kernel(detail::CsrStructurePointers matrix, unsigned capacity, PositionArrays out, unsigned* tiles,
                     TileTotals* totals) {
  __shared__ TileRowWindow window;
  __shared__ unsigned first;
  const index_t tile_row = Listed ? out.taken.rows[blockIdx.x] : static_cast<index_t>(blockIdx.x);
  const RowColumns row(matrix, tile_row, static_cast<int>(threadIdx.x / warp_size),
                       static_cast<int>(threadIdx.x % warp_size));
  const FoundTileRow found =
      find_tiles(row, window, [&](int count) { first = atomicAdd(tiles, static_cast<unsigned>(count)); });
  if (threadIdx.x >= warp_size) return;
  if (!found.fits() || found.tiles == 0) {
    if (threadIdx.x != 0) return;
    if (!found.fits()) atomicOr(&totals->beyond, static_cast<unsigned>(limit_of(found)));
    return write_no_tiles(tile_row, found.fits() ? 0 : tiles_not_found, out);
  }
  const bool has_room = first + static_cast<unsigned>(found.tiles) <= capacity;
  const auto begin = static_cast<int>(first);
  if (has_room) {
    write_tiles(window, tile_row, begin, found.tiles, out);
    if (threadIdx.x == 0) out.rows[tile_row] = {begin, found.tiles, found.first, found.last};
  } else if (threadIdx.x == 0) {
    write_no_tiles(tile_row, 0, out);
  }
}

}  // namespace

void enqueue_positions(const Context& context, const detail::CsrStructurePointers& matrix, const TilePositions& tiles,
                       int which, TileTotals* totals) {
  const index_t taken = tiles.arrays().taken.count;
  if (taken == 0) return;
  launch("tiles of a factor", context, Grid{static_cast<unsigned>(taken), find_threads},
         tiles.arrays().taken.rows == nullptr ? positions_kernel<false> : positions_kernel<true>, matrix,
         static_cast<unsigned>(tiles.capacity()), tiles.arrays(), totals->tiles + which, totals);
}

}  // namespace tessera::cuda
