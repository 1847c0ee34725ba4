/// \file
/// Set-up of bitmap tiles on a GPU: records, parts of long tile rows, values in the order of tiles.
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "spmv/tiles/tile_structure.hpp"
#include "spmv/tiles/tile_values.hpp"
#include "spmv/tiles/tiles_kernel.cuh"

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
constexpr int warps_per_block = threads / warp_size;
using WarpBits = LaneBits<warp_size>;

/// The row of this lane's position number i in a tile row.
[[nodiscard]] __device__ int row_of_position(int i) {
  return static_cast<int>(threadIdx.x % warp_size) / tile_size + i * warp_size / tile_size;
}

/// Bits of a row of a tile.
[[nodiscard]] __device__ unsigned bits_of_row(const TileRecord& tile, int row) {
  return (row < tile_size / 2 ? tile.upper : tile.lower) >> (tile_size * (row % (tile_size / 2))) & 0xffu;
}

/// Entries per row of `count` tiles: of row lane % 8 in each lane. Every lane of the warp must call.
[[nodiscard]] __device__ offset_t count_row(const TileRecord* tiles, int count) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  int entries = 0;
  for (int t = lane / tile_size; t < count; t += warp_size / tile_size) {
    entries += __popc(bits_of_row(load_tile(tiles + t), lane % tile_size));
  }
  for (int distance = tile_size; distance < warp_size; distance *= 2) {
    entries += __shfl_xor_sync(full_warp, entries, distance);
  }
  return entries;
}

/// Where a warp reads and writes the values of its tiles.
template <class From, class To>
struct ValueCopy {
  const From* from;
  To* to;
  offset_t count;

  /// A product may read the value after the last.
  __device__ void end() const {
    if (blockIdx.x == 0 && threadIdx.x == 0) to[count] = To{0};
  }

  /// Every lane of the warp must call. \param first place of the first value \param next the first entry, in CSR, of
  /// the rows of this lane's two positions
  __device__ void copy(const TileRecord* tiles, int count, offset_t first, offset_t (&next)[WarpBits::count]) const {
    const WarpBits own{threadIdx.x % warp_size};
    const unsigned before = (1u << own.column()) - 1;
#pragma unroll 4
    for (int t = 0; t < count; ++t) {
      const TileRecord tile = load_tile(tiles + t);
      const offset_t place = first + tile.values_after(static_cast<std::uint32_t>(first));
#pragma unroll
      for (int i = 0; i < WarpBits::count; ++i) {
        const unsigned row = bits_of_row(tile, row_of_position(i));
        if (own.has(tile, i)) to[place + own.rank(tile, i)] = static_cast<To>(from[next[i] + __popc(row & before)]);
        next[i] += __popc(row);
      }
    }
  }
};

/// One warp per tile row that is not long.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    fill_tile_rows_kernel(TileRowArrays rows, const TileRecord* tiles, ValueCopy<From, To> values) {
  values.end();
  const std::int64_t tile_row = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (tile_row >= rows.tile_rows) return;
  const offset_t begin = rows.offsets[tile_row];
  const offset_t whole = rows.offsets[tile_row + 1] - begin;
  if (whole > rows.long_row) return;
  const int count = static_cast<int>(whole);
  const offset_t first = rows.first_values[tile_row];
  const auto lane = threadIdx.x % warp_size;
  // In CSR the rows of a tile row follow each other, from the same place on as its tiles.
  const offset_t entries = count_row(tiles + begin, count);
  const offset_t starts = first + sum_up_to_lane(lane < tile_size ? entries : offset_t{0}) - entries;
  offset_t next[WarpBits::count];
  for (int i = 0; i < WarpBits::count; ++i) next[i] = __shfl_sync(full_warp, starts, row_of_position(i));
  values.copy(tiles + begin, count, first, next);
}

/// Entries per row of each part.
__global__ void __launch_bounds__(threads)
    count_part_rows_kernel(TilePartArrays parts, const TileRecord* tiles, offset_t* counts) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (part >= parts.count) return;
  const PartOfTileRow own = parts.at(part);
  const offset_t entries = count_row(tiles + own.begin, own.tiles);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  if (lane < tile_size) counts[own.place(lane)] = entries;
}

/// One warp per part of a long tile row.
template <class From, class To>
__global__ void __launch_bounds__(threads)
    fill_tile_parts_kernel(TilePartArrays parts, const offset_t* row_starts, const offset_t* first_values,
                           const TileRecord* tiles, ValueCopy<From, To> values) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * threads + threadIdx.x) / warp_size;
  if (part >= parts.count) return;
  const PartOfTileRow own = parts.at(part);
  const offset_t of_tile_row = first_values[own.tile_row] - row_starts[tile_size * own.first];
  offset_t next[WarpBits::count];
  for (int i = 0; i < WarpBits::count; ++i) next[i] = of_tile_row + row_starts[own.place(row_of_position(i))];
  values.copy(tiles + own.begin, own.tiles, parts.first_values[part], next);
}

template <class T>
void pack_tiles(const Device& device, const TileView<T>& from, GpuTiles& to) {
  const index_t* const columns = from.tile_columns.data();
  const std::uint64_t* const bitmaps = from.bitmaps.data();
  const offset_t* const value_offsets = from.value_offsets.data();
  TileRecord* const records = to.records.data();
  for_each(device, from.tiles(), [=] __device__(std::int64_t t) {
    const std::uint64_t bitmap = bitmaps[t];
    records[t] = pack_tile(bitmap, columns[t], value_offsets[t], __popc(static_cast<std::uint32_t>(bitmap)));
  });
  const offset_t* const offsets = to.offsets.data();
  offset_t* const first_values = to.first_values.data();
  for_each(device, to.tile_rows(),
           [=] __device__(std::int64_t tile_row) { first_values[tile_row] = value_offsets[offsets[tile_row]]; });
}

/// What the parts of long tile rows need. \param value_offsets of the tiles
void set_up_parts(const Device& device, const offset_t* value_offsets, GpuTiles& tiles) {
  const std::int64_t parts = tiles.parts();
  if (parts == 0) return;
  tiles.part_first_values = Array<offset_t>(parts, Init::none, device);
  tiles.part_row_starts = Array<offset_t>(tile_size * parts, Init::none, device);
  offset_t* const first_values = tiles.part_first_values.data();
  const offset_t* const begin = tiles.long_rows.begin.data();
  for_each(device, parts, [=] __device__(std::int64_t part) { first_values[part] = value_offsets[begin[part]]; });
  const DeviceGuard current(device);
  launch("counting rows of long tile rows", Context::of(device), Grid{blocks_for(parts, warps_per_block), threads},
         count_part_rows_kernel, tiles.part_arrays(), static_cast<const TileRecord*>(tiles.records.data()),
         tiles.part_row_starts.data());
  exclusive_sum_on_device(device, tiles.part_row_starts.span());
}

}  // namespace

template <class T>
GpuTiles build_gpu_tiles(const CsrView<T>& a, const Device& device, const std::optional<TilesShape>& shape) {
  const TileMatrix<T> structure = tile_structure(a, device);
  const TileView<T> view = structure.view();
  GpuTiles tiles;
  tiles.rows = a.rows;
  tiles.records = Array<TileRecord>(view.tiles(), Init::none, device);
  tiles.offsets = Array<offset_t>(std::int64_t{view.tile_rows()} + 1, Init::none, device);
  copy_bytes(device, tiles.offsets.data(), device, view.tile_row_offsets.data(), tiles.offsets.bytes());
  tiles.first_values = Array<offset_t>(view.tile_rows(), Init::none, device);
  pack_tiles(device, view, tiles);
  if (view.tile_rows() == 0) return tiles;
  const RowLengths lengths = row_lengths(device, view.tile_row_offsets);
  tiles.shape = shape ? *shape : choose_tiles_shape(view.tile_rows(), lengths.typical);
  if (lengths.longest <= tiles.shape.long_row) return tiles;
  tiles.long_rows = find_long_rows(device, view.tile_row_offsets, tiles.shape.long_row, tiles.shape.part);
  set_up_parts(device, view.value_offsets.data(), tiles);
  return tiles;
}

template GpuTiles build_gpu_tiles(const CsrView<float>&, const Device&, const std::optional<TilesShape>&);
template GpuTiles build_gpu_tiles(const CsrView<double>&, const Device&, const std::optional<TilesShape>&);

template <class From, class To>
void fill_tile_values(const Device& device, const GpuTiles& tiles, std::span<const From> from, std::span<To> to) {
  if (tiles.records.empty()) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const ValueCopy<From, To> values{from.data(), to.data(), static_cast<offset_t>(from.size())};
  const TileRecord* const records = tiles.records.data();
  launch("values of tile rows", context, Grid{blocks_for(tiles.tile_rows(), warps_per_block), threads},
         fill_tile_rows_kernel<From, To>, tiles.row_arrays(), records, values);
  if (tiles.parts() == 0) return;
  launch("values of long tile rows", context, Grid{blocks_for(tiles.parts(), warps_per_block), threads},
         fill_tile_parts_kernel<From, To>, tiles.part_arrays(), tiles.part_row_starts.data(), tiles.first_values.data(),
         records, values);
}

template void fill_tile_values(const Device&, const GpuTiles&, std::span<const float>, std::span<float>);
template void fill_tile_values(const Device&, const GpuTiles&, std::span<const double>, std::span<double>);
template void fill_tile_values(const Device&, const GpuTiles&, std::span<const double>, std::span<float>);

}  // namespace tessera::cuda
