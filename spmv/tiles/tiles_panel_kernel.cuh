/// \file
/// Kernels of bitmap tiles times eight columns of a multivector: a warp per tile row, or per part of a long one. Lane l
/// holds sums (l / 4, 2 (l % 4)) and (l / 4, 2 (l % 4) + 1), as a tensor instruction lays them out. In double precision
/// a tile is two instructions (m8n8k4): the first takes columns 0 to 3 of the tile, the second 4 to 7.
#pragma once

#include "core/cuda/tensor.cuh"
#include "spmv/multi_vector/strided_vectors.cuh"
#include "spmv/tiles/tiles_kernel.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

/// Tiles whose values and x a lane has in flight.
inline constexpr int panel_batch = 4;
static_assert(detail::panel_columns == tile_size);

/// The products of the entries of tiles with a panel of columns, formed in S, from values stored as V.
/// \tparam V void for a pattern, whose values are 1
template <class S, class V>
struct PanelTerms {
  using Sum = S;
  static constexpr bool weighted = !std::is_void_v<V>;
  const V* values;
  StridedVectors<const S> x;
  std::uint32_t last_row;  ///< of x
  int last_column;         ///< of the panel

  /// \param place of a value, of a tile row whose first value is number `first`
  [[nodiscard]] __device__ S value(offset_t first, std::uint32_t place) const {
    if constexpr (weighted) {
      return static_cast<S>(__ldg(base_at(values, first) + place));
    } else {
      return S{1};
    }
  }
  /// Beyond the end of x, and of the panel, the last one.
  [[nodiscard]] __device__ S element(std::uint32_t row, int column) const {
    return __ldg(x.at(row < last_row ? row : last_row, column < last_column ? column : last_column));
  }
};

/// The place of a lane in a tile: its row of A and of Y, its column of each half of A.
struct PanelLane {
  int row;     ///< of the tile, and the column of X
  int column;  ///< of a half of the tile; that many pairs of columns of Y precede its own

  __device__ PanelLane()
      : row(static_cast<int>(threadIdx.x % warp_size) / 4), column(static_cast<int>(threadIdx.x % warp_size) % 4) {}

  [[nodiscard]] __device__ std::uint32_t half(const TileRecord& tile) const {
    return row < 4 ? tile.upper : tile.lower;
  }
  /// Bits of the tile's row, the first lowest.
  [[nodiscard]] __device__ std::uint32_t bits(const TileRecord& tile) const {
    return half(tile) >> (tile_size * (row % 4)) & 0xffU;
  }
  /// Values of the tile before its row.
  [[nodiscard]] __device__ std::uint32_t before_row(const TileRecord& tile) const {
    const std::uint32_t earlier = half(tile) & ((1U << (tile_size * (row % 4))) - 1);
    return (row < 4 ? 0U : tile.upper_count()) + static_cast<std::uint32_t>(__popc(earlier));
  }
};

/// What a lane holds of some tiles between its loads and its sums.
template <class Terms>
struct PanelBatch {
  using Sum = typename Terms::Sum;
  TileRecord tile[panel_batch];
  Sum a[panel_batch][2];
  Sum x[panel_batch][2];

  /// The first `count` tiles, at least 1; after them the last without its entries.
  __device__ void load_records(const TileRecord* tiles, int count) {
#pragma unroll
    for (int u = 0; u < panel_batch; ++u) {
      tile[u] = load_tile(tiles + (u < count ? u : count - 1));
      if (u >= count) tile[u].upper = tile[u].lower = 0;
    }
  }
  /// Without a branch: for a place without an entry the next value is loaded, and left out.
  __device__ void load_terms(const Terms& terms, offset_t first, const PanelLane& own) {
#pragma unroll
    for (int u = 0; u < panel_batch; ++u) {
      const std::uint32_t bits = own.bits(tile[u]) >> own.column;
      const std::uint32_t place = tile[u].values_after(static_cast<std::uint32_t>(first)) + own.before_row(tile[u]) +
                                  static_cast<std::uint32_t>(__popc(own.bits(tile[u]) & ((1U << own.column) - 1)));
      const Sum low = terms.value(first, place);
      const Sum high = terms.value(first, place + static_cast<std::uint32_t>(__popc(bits & 0xfU)));
      a[u][0] = (bits & 1U) != 0 ? low : Sum{0};
      a[u][1] = (bits & 0x10U) != 0 ? high : Sum{0};
      const std::uint32_t row = tile[u].first_column + static_cast<std::uint32_t>(own.column);
      x[u][0] = terms.element(row, own.row);
      x[u][1] = terms.element(row + 4, own.row);
    }
  }
  /// Whether all that was loaded of x is finite, in all lanes: a padding zero times infinity or NaN would be NaN.
  [[nodiscard]] __device__ bool x_is_finite() const {
    bool finite = true;
#pragma unroll
    for (int u = 0; u < panel_batch; ++u) finite = finite && std::isfinite(x[u][0]) && std::isfinite(x[u][1]);
    return __any_sync(full_warp, !finite) == 0;
  }
};

/// The sums of a lane over the first `count` tiles.
template <class Terms>
struct PanelSum {
  using Sum = typename Terms::Sum;
  Sum even{0};
  Sum odd{0};

  /// Every lane of the warp must call. \param first number of the first value of the tiles
  __device__ void add_tiles(const TileRecord* tiles, int count, const Terms& terms, offset_t first) {
    const PanelLane own;
    if constexpr (std::is_same_v<Sum, double>) {
      PanelBatch<Terms> loaded;
#pragma unroll 1
      for (; count > 0; count -= panel_batch) {
        loaded.load_records(tiles, count);
        loaded.load_terms(terms, first, own);
        if (loaded.x_is_finite()) {
          add_by_tensor(loaded);
        } else {
          add_one_by_one(tiles, count < panel_batch ? count : panel_batch, terms, first, own);
        }
        tiles += panel_batch;
      }
    } else {
#pragma unroll 2
      for (int t = 0; t < count; ++t) add_entries(load_tile(tiles + t), terms, first, own);
    }
  }

 private:
  /// The records are loaded again: an index into those in registers would bring them to memory.
  __device__ void add_one_by_one(const TileRecord* tiles, int count, const Terms& terms, offset_t first,
                                 const PanelLane& own) {
#pragma unroll 1
    for (int t = 0; t < count; ++t) add_entries(load_tile(tiles + t), terms, first, own);
  }

  __device__ void add_by_tensor(const PanelBatch<Terms>& loaded) {
#pragma unroll
    for (int u = 0; u < panel_batch; ++u) {
      mma_m8n8k4(even, odd, loaded.a[u][0], loaded.x[u][0]);
      mma_m8n8k4(even, odd, loaded.a[u][1], loaded.x[u][1]);
    }
  }

  /// Stored entries alone. Loads without a branch: for a place without an entry the next value, which is left out.
  __device__ void add_entries(const TileRecord& tile, const Terms& terms, offset_t first, const PanelLane& own) {
    const std::uint32_t bits = own.bits(tile);
    std::uint32_t place = tile.values_after(static_cast<std::uint32_t>(first)) + own.before_row(tile);
    const int column = 2 * own.column;
#pragma unroll
    for (std::uint32_t k = 0; k < tile_size; ++k) {
      const Sum value = terms.value(first, place);
      const std::uint32_t row = tile.first_column + k;
      const Sum of_even = terms.element(row, column);
      const Sum of_odd = terms.element(row, column + 1);
      if ((bits >> k & 1U) == 0) continue;
      ++place;
      even += value * of_even;
      odd += value * of_odd;
    }
  }
};

/// One warp per tile row that is not long.
template <class Terms, class T>
__global__ void __launch_bounds__(tiles_threads, panel_min_blocks)
    tile_rows_panel_kernel(TileRowArrays rows, const TileRecord* tiles, Terms terms, StridedUpdate<T> y, int columns) {
  const std::int64_t tile_row = (std::int64_t{blockIdx.x} * tiles_threads + threadIdx.x) / warp_size;
  if (tile_row >= rows.tile_rows) return;
  const offset_t begin = __ldg(rows.offsets + tile_row);
  const offset_t whole = __ldg(rows.offsets + tile_row + 1) - begin;
  if (whole > rows.long_row) return;
  PanelSum<Terms> sum;
  sum.add_tiles(tiles + begin, static_cast<int>(whole), terms, __ldg(rows.first_values + tile_row));
  const PanelLane own;
  const std::int64_t row = tile_row * tile_size + own.row;
  const int column = 2 * own.column;
  if (row >= rows.rows) return;
  if (column < columns) y.store(row, column, sum.even);
  if (column + 1 < columns) y.store(row, column + 1, sum.odd);
}

/// One warp per part of a long tile row. \param sums 64 per part: those of each row follow each other
template <class Terms, class T>
__global__ void __launch_bounds__(tiles_threads, panel_min_blocks)
    tile_parts_panel_kernel(TilePartArrays parts, const TileRecord* tiles, Terms terms, T* sums) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * tiles_threads + threadIdx.x) / warp_size;
  if (part >= parts.count) return;
  const PartOfTileRow own = parts.at(part);
  PanelSum<Terms> sum;
  sum.add_tiles(tiles + own.begin, own.tiles, terms, parts.first_values[part]);
  T* const target = sums + part * sums_per_part + 2 * (threadIdx.x % warp_size);
  target[0] = sum.even;
  target[1] = sum.odd;
}

/// Adds the parts of each long tile row: one block per part, of which that of a first part works. Thread i takes sum
/// i % 64 of every so-manieth part; then those are added by halves.
template <class T>
__global__ void __launch_bounds__(joining_threads)
    join_panel_parts_kernel(TilePartArrays parts, const T* sums, index_t rows, StridedUpdate<T> y, int columns) {
  constexpr int strands = joining_threads / sums_per_part;
  __shared__ T of_strand[joining_threads];
  const PartOfTileRow own = parts.at(blockIdx.x);
  if (own.before != 0) return;
  const int strand = static_cast<int>(threadIdx.x) / sums_per_part;
  const int place = static_cast<int>(threadIdx.x) % sums_per_part;
  T sum{0};
#pragma unroll 4
  for (std::int64_t part = strand; part < own.parts; part += strands) {
    sum += __ldg(sums + (own.first + part) * sums_per_part + place);
  }
  of_strand[threadIdx.x] = sum;
  for (int distance = strands / 2; distance > 0; distance /= 2) {
    __syncthreads();
    if (strand < distance) of_strand[threadIdx.x] += of_strand[threadIdx.x + distance * sums_per_part];
  }
  const std::int64_t row = std::int64_t{own.tile_row} * tile_size + place / tile_size;
  const int column = place % tile_size;
  if (strand == 0 && row < rows && column < columns) y.store(row, column, of_strand[threadIdx.x]);
}

}  // namespace tessera::cuda
