/// \file
/// Bitmap tiles to CSR on a GPU: tile rows are cut into runs; the entries of every run per row, scanned in the order
/// (tile row, row, run), are the positions where warps unpack the runs.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/bitmap_tiles.hpp"
#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/tile_run.cuh"

#include <cstdint>
#include <utility>

namespace tessera::cuda {

namespace {

/// Tiles of a run, at most: few, so that many warps wait for memory at once.
constexpr int tiles_of_short_run = 8;
static_assert(tiles_of_short_run <= most_tiles_of_run);

/// Tiles, as kernels see them.
template <class T>
struct ConstTilePointers {
  index_t rows;
  index_t tile_rows;
  offset_t nnz;
  const offset_t* tile_row_offsets;
  const index_t* columns;
  const std::uint64_t* bitmaps;
  const offset_t* value_offsets;
  const T* values;  ///< null: a pattern
};

/// The runs of all tile rows. A tile row without tiles has one run without tiles.
struct RunTable {
  const offset_t* offsets;  ///< runs before each tile row and, last, all
  offset_t* positions;      ///< counts, later positions in CSR: of row r, run j of a tile row at 8 offset + r runs + j
};

[[nodiscard]] __host__ __device__ constexpr offset_t runs_for(offset_t tiles) {
  return tiles <= tiles_of_short_run ? 1 : (tiles + tiles_of_short_run - 1) / tiles_of_short_run;
}

/// A run and its place in the table.
struct PlacedRun {
  index_t tile_row = 0;
  offset_t number = 0;  ///< in its tile row
  offset_t runs = 0;    ///< of its tile row
  offset_t first = 0;   ///< tile
  int tiles = 0;
  offset_t* positions = nullptr;  ///< of its tile row

  template <class T>
  __device__ PlacedRun(const ConstTilePointers<T>& a, const RunTable& table, offset_t which)
      : tile_row(row_of_nonzero(table.offsets, a.tile_rows, which)),
        number(which - table.offsets[tile_row]),
        runs(table.offsets[tile_row + 1] - table.offsets[tile_row]),
        first(a.tile_row_offsets[tile_row] + number * tiles_of_short_run),
        positions(table.positions + tile_size * table.offsets[tile_row]) {
    const offset_t left = a.tile_row_offsets[tile_row + 1] - first;
    tiles = left < tiles_of_short_run ? static_cast<int>(left) : tiles_of_short_run;
  }

  [[nodiscard]] __device__ offset_t& position(int r) const { return positions[r * runs + number]; }
};

/// Entries per row of every run: one warp per run.
template <class T>
__global__ void __launch_bounds__(run_threads) count_runs_kernel(ConstTilePointers<T> a, RunTable table) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const std::int64_t which = std::int64_t{blockIdx.x} * run_warps + threadIdx.x / warp_size;
  if (which >= table.offsets[a.tile_rows]) return;
  const PlacedRun run(a, table, which);
  TileRowCounts counts;
  for (int t = lane; t < run.tiles; t += warp_size) counts += TileRowCounts(a.bitmaps[run.first + t]);
  counts = {sum_over_lanes(counts.even), sum_over_lanes(counts.odd)};
  if (lane < tile_size) run.position(lane) = counts.of_row(lane);
}

/// Unpacks every run: one warp per run.
template <class T>
__global__ void __launch_bounds__(run_threads)
    unpack_runs_kernel(ConstTilePointers<T> a, RunTable table, offset_t* row_offsets, index_t* columns, T* values) {
  __shared__ TileInRun shared[run_warps][warp_size];
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int warp = static_cast<int>(threadIdx.x / warp_size);
  const std::int64_t which = std::int64_t{blockIdx.x} * run_warps + warp;
  if (which == 0 && lane == 0) row_offsets[a.rows] = a.nnz;
  if (which >= table.offsets[a.tile_rows]) return;
  const PlacedRun placed(a, table, which);
  const std::int64_t row = std::int64_t{placed.tile_row} * tile_size + lane;
  if (placed.number == 0 && lane < tile_size && row < a.rows) row_offsets[row] = placed.position(lane);
  TileRun run;
  run.tiles = placed.tiles;
  run.columns = a.columns + placed.first;
  run.bitmaps = a.bitmaps + placed.first;
  run.value = a.value_offsets[placed.first];
  run.low = placed.position(lane / tile_size);
  run.high = placed.position(lane / tile_size + 4);
  meet_tiles(
      run, lane, shared[warp], [](int /*t*/, const TileInRun& /*tile*/) {},
      [&](offset_t in_csr, offset_t in_tiles, index_t column) {
        columns[in_csr] = column;
        if (values != nullptr) values[in_csr] = __ldcs(a.values + in_tiles);
      });
}

/// Runs before each tile row.
template <class T>
Array<offset_t> run_offsets(const Device& device, const ConstTilePointers<T>& a) {
  Array<offset_t> offsets(std::int64_t{a.tile_rows} + 1, Init::none, device);
  for_each(device, offsets.size(), [a, to = offsets.data()] __device__(std::int64_t i) {
    to[i] = i < a.tile_rows ? runs_for(a.tile_row_offsets[i + 1] - a.tile_row_offsets[i]) : 0;
  });
  exclusive_sum_on_device(device, offsets.span());
  return offsets;
}

}  // namespace

template <class T>
Csr<T> csr_of(const TileView<T>& tiles, const Device& device) {
  Array<offset_t> row_offsets(std::int64_t{tiles.rows} + 1, tiles.rows == 0 ? Init::zero : Init::none, device);
  Array<index_t> columns(tiles.nnz, Init::none, device);
  Array<T> values(tiles.is_pattern() ? 0 : tiles.nnz, Init::none, device);
  if (tiles.rows > 0) {
    const ConstTilePointers<T> a{tiles.rows,
                                 tiles.tile_rows(),
                                 tiles.nnz,
                                 tiles.tile_row_offsets.data(),
                                 tiles.tile_columns.data(),
                                 tiles.bitmaps.data(),
                                 tiles.value_offsets.data(),
                                 tiles.values.data()};
    const Array<offset_t> offsets = run_offsets(device, a);
    // As many runs as there can be: the host does not wait for their number.
    const std::int64_t most_runs = std::int64_t{a.tile_rows} + tiles.tiles() / tiles_of_short_run;
    Array<offset_t> positions(tile_size * most_runs, Init::zero, device);
    const RunTable table{offsets.data(), positions.data()};
    const Grid grid{blocks_for(most_runs, run_warps), run_threads};
    const DeviceGuard current(device);
    launch("entries per row of tiles", Context::of(device), grid, count_runs_kernel<T>, a, table);
    exclusive_sum_on_device(device, positions.span());
    launch("unpacking of tiles", Context::of(device), grid, unpack_runs_kernel<T>, a, table, row_offsets.data(),
           columns.data(), values.data());
  }
  if (tiles.is_pattern()) {
    return Csr<T>::pattern(tiles.rows, tiles.cols, std::move(row_offsets), std::move(columns), Check::trusted);
  }
  return Csr<T>(tiles.rows, tiles.cols, std::move(row_offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> csr_of(const TileView<float>&, const Device&);
template Csr<double> csr_of(const TileView<double>&, const Device&);

}  // namespace tessera::cuda
