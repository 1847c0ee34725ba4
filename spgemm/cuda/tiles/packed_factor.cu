// A factor that is in bitmap tiles already: its tile rows for the symbolic phase, and dense copies of its tiles from
// packed values.
#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "preprocess/tile_slices.hpp"
#include "spgemm/cuda/tiles/row_counts.cuh"
#include "spgemm/cuda/tiles/tiled_factor.hpp"

#include <climits>

namespace tessera::cuda {

namespace {

constexpr int warps = 8;
/// Tiles that a warp copies at once.
constexpr int tiles_of_warp = 4;

/// A matrix in tiles, as kernels see it.
template <class T>
struct PackedTiles {
  index_t tile_rows;
  std::int64_t tiles;
  const offset_t* tile_row_offsets;
  const index_t* columns;
  const std::uint64_t* bitmaps;
  const offset_t* value_offsets;
  const T* values;  ///< null: a pattern

  explicit PackedTiles(const TileView<T>& matrix)
      : tile_rows(matrix.tile_rows()),
        tiles(matrix.tiles()),
        tile_row_offsets(matrix.tile_row_offsets.data()),
        columns(matrix.tile_columns.data()),
        bitmaps(matrix.bitmaps.data()),
        value_offsets(matrix.value_offsets.data()),
        values(matrix.is_pattern() ? nullptr : matrix.values.data()) {}
};

/// A warp per tile row.
template <class T>
__global__ void __launch_bounds__(warps* warp_size)
    packed_positions_kernel(PackedTiles<T> matrix, PositionArrays out, TileTotals* totals) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t i = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  if (i >= matrix.tile_rows) return;
  const offset_t begin = matrix.tile_row_offsets[i];
  const offset_t tiles = matrix.tile_row_offsets[i + 1] - begin;
  const index_t first = tiles > 0 ? matrix.columns[begin] : INT_MAX;
  const index_t last = tiles > 0 ? matrix.columns[begin + tiles - 1] : -1;
  const bool has_many = tiles > detail::most_found_tiles;
  if (has_many || (tiles > 0 && (last - first) / warp_size >= detail::most_window_words)) {
    if (lane != 0) return;
    atomicOr(&totals->beyond, static_cast<unsigned>(has_many ? BeyondTiles::tiles : BeyondTiles::span));
    out.rows[i] = {0, tiles_not_found, INT_MAX, -1};
    out.lengths[i] = TileRowCounts();
    return;
  }
  TileRowCounts lengths;
  for (offset_t t = begin + lane; t < begin + tiles; t += warp_size) {
    const std::uint64_t bitmap = matrix.bitmaps[t];
    out.bitmaps[t] = bitmap;
    out.columns[t] = matrix.columns[t];
    lengths += TileRowCounts(bitmap);
  }
  lengths = {sum_over_lanes(lengths.even), sum_over_lanes(lengths.odd)};
  if (lane != 0) return;
  out.rows[i] = {static_cast<int>(begin), static_cast<int>(tiles), first, last};
  out.lengths[i] = lengths;
}

template <class T>
struct alignas(2 * sizeof(T)) Two {
  T first;
  T second;
};

/// A warp copies several tiles, two neighbouring values per lane.
template <class T>
__global__ void __launch_bounds__(warps* warp_size)
    packed_dense_copy_kernel(PackedTiles<T> matrix, T* dense, unsigned* not_finite) {
  const auto lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t first = (std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size) * tiles_of_warp;
  std::uint64_t bitmaps[tiles_of_warp];
  const T* values[tiles_of_warp];
#pragma unroll
  for (int k = 0; k < tiles_of_warp; ++k) {
    const std::int64_t tile = first + k;
    bitmaps[k] = tile < matrix.tiles ? matrix.bitmaps[tile] : 0;
    values[k] = matrix.values == nullptr || tile >= matrix.tiles ? nullptr : matrix.values + matrix.value_offsets[tile];
  }
  const int place = detail::dense_place(lane / 4, lane % 4 * 2) / 2;
  const std::uint64_t before = (std::uint64_t{1} << (2 * lane)) - 1;
  Two<T> copies[tiles_of_warp];
#pragma unroll
  for (int k = 0; k < tiles_of_warp; ++k) {
    const auto here = static_cast<unsigned>(bitmaps[k] >> (2 * lane)) & 3U;
    const int at = detail::count_bits(bitmaps[k] & before);
    copies[k] = {T{0}, T{0}};
    if ((here & 1U) != 0) copies[k].first = values[k] == nullptr ? T{1} : __ldcs(values[k] + at);
    if ((here & 2U) != 0) copies[k].second = values[k] == nullptr ? T{1} : __ldcs(values[k] + at + (here & 1U));
  }
  bool finite = true;
#pragma unroll
  for (int k = 0; k < tiles_of_warp; ++k) {
    const std::int64_t tile = first + k;
    if (tile >= matrix.tiles) break;
    const Two<T> two = copies[k];
    // Infinity and NaN minus themselves are NaN.
    finite = finite && two.first - two.first == T{0} && two.second - two.second == T{0};
    reinterpret_cast<Two<T>*>(dense + tile * detail::tile_entries)[place] = two;
  }
  if (!finite) *not_finite = 1;
}

}  // namespace

template <class T>
void enqueue_positions(const Context& context, const TileView<T>& matrix, const TilePositions& tiles,
                       TileTotals* totals) {
  if (tiles.tile_rows() == 0) return;
  launch("tile rows of a factor", context, Grid{blocks_for(tiles.tile_rows(), warps), warps * warp_size},
         packed_positions_kernel<T>, PackedTiles<T>(matrix), tiles.arrays(), totals);
}

template <class T>
void enqueue_dense_copy(const Context& context, const TileView<T>& matrix, T* dense, TileTotals* totals) {
  if (matrix.tiles() == 0) return;
  launch("dense copies of tiles", context, Grid{blocks_for(matrix.tiles(), warps * tiles_of_warp), warps * warp_size},
         packed_dense_copy_kernel<T>, PackedTiles<T>(matrix), dense, &totals->not_finite);
}

template void enqueue_positions(const Context&, const TileView<float>&, const TilePositions&, TileTotals*);
template void enqueue_positions(const Context&, const TileView<double>&, const TilePositions&, TileTotals*);
template void enqueue_dense_copy(const Context&, const TileView<float>&, float*, TileTotals*);
template void enqueue_dense_copy(const Context&, const TileView<double>&, double*, TileTotals*);

}  // namespace tessera::cuda
