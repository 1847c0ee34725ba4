/// \file
/// Kernels of bitmap tiles: part of a warp per tile row, a warp per part of a long tile row.
#pragma once

#include "core/cuda/reduce.cuh"
#include "spmv/common/terms.cuh"
#include "spmv/tiles/tile_arrays.hpp"
#include "spmv/tiles/tile_record.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The products of the entries of tiles with x, formed in S, from values stored as V.
template <class S, class V>
struct DeviceTileTerms {
  using Sum = S;
  static constexpr bool weighted = true;
  const V* values;
  const S* x;
  std::uint32_t last_column;

  __device__ DeviceTileTerms from(offset_t first) const { return {base_at(values, first), x, last_column}; }
  template <NextUse Use>
  __device__ S value(std::uint32_t place) const {
    return static_cast<S>(load_entry<Use>(values + place));
  }
};

/// The same where every value is 1.
template <class S>
struct DevicePatternTileTerms {
  using Sum = S;
  static constexpr bool weighted = false;
  const S* x;
  std::uint32_t last_column;

  __device__ DevicePatternTileTerms from(offset_t /*first*/) const { return *this; }
};

[[nodiscard]] __device__ inline TileRecord load_tile(const TileRecord* from) {
  const uint4 q = __ldg(reinterpret_cast<const uint4*>(from));
  return {q.x, q.y, q.z, q.w};
}

/// The positions of a tile that a lane takes: numbers lane, lane + Lanes, ..., all of one column.
template <int Lanes>
struct LaneBits {
  static constexpr int count = tile_size * tile_size / Lanes;
  /// Of the cache lines of values: fewer lanes read shorter pieces of them at a time.
  static constexpr NextUse next_use = Lanes == warp_size ? NextUse::never : NextUse::soon;
  unsigned lane;  ///< below Lanes

  /// Bit of position number i in its half of the bitmap.
  [[nodiscard]] __device__ unsigned bit(int i) const { return 1u << (lane + static_cast<unsigned>(i * Lanes % 32)); }
  [[nodiscard]] __device__ static std::uint32_t half(const TileRecord& tile, int i) {
    return i * Lanes < 32 ? tile.upper : tile.lower;
  }
  [[nodiscard]] __device__ bool has(const TileRecord& tile, int i) const { return (half(tile, i) & bit(i)) != 0; }
  /// Values of the tile before that of position number i.
  [[nodiscard]] __device__ std::uint32_t rank(const TileRecord& tile, int i) const {
    const auto in_half = static_cast<std::uint32_t>(__popc(half(tile, i) & (bit(i) - 1)));
    return i * Lanes < 32 ? in_half : tile.upper_count() + in_half;
  }
  [[nodiscard]] __device__ unsigned column() const { return lane % tile_size; }
};

/// What a lane holds of some tiles between its loads and its sums.
template <int Lanes, int Batch, int Stride, class Terms>
struct TileBatch {
  using Sum = typename Terms::Sum;
  static constexpr int bits = LaneBits<Lanes>::count;
  TileRecord tile[Batch];
  Sum value[Batch][bits];
  Sum x[Batch];

  /// The records of Batch tiles, Stride apart.
  __device__ void load_records(const TileRecord* tiles) {
#pragma unroll
    for (int u = 0; u < Batch; ++u) tile[u] = load_tile(tiles + u * Stride);
  }
  /// The records of `count` tiles, at least 1 and fewer than Batch; after them the last without its entries.
  __device__ void load_rest(const TileRecord* tiles, int count) {
#pragma unroll
    for (int u = 0; u < Batch; ++u) {
      tile[u] = load_tile(tiles + (u < count ? u : count - 1) * Stride);
      if (u >= count) tile[u].upper = tile[u].lower = 0;
    }
  }
  /// Without a branch, so that all loads are in flight together: for a position without an entry the next value, and
  /// beyond the last column that one. \param terms from the first value of the warp on, which is number `first`
  __device__ void load_terms(const Terms& terms, std::uint32_t first, const LaneBits<Lanes>& own) {
#pragma unroll
    for (int u = 0; u < Batch; ++u) {
#pragma unroll
      for (int i = 0; i < bits; ++i) {
        if constexpr (Terms::weighted) {
          value[u][i] =
              terms.template value<LaneBits<Lanes>::next_use>(tile[u].values_after(first) + own.rank(tile[u], i));
        }
      }
      const std::uint32_t column = tile[u].first_column + own.column();
      x[u] = __ldg(terms.x + (column < terms.last_column ? column : terms.last_column));
    }
  }
  /// Adds what is there. What is not must not be multiplied either: it may meet NaN.
  __device__ void add_to(Sum (&sums)[bits], const LaneBits<Lanes>& own) const {
#pragma unroll
    for (int u = 0; u < Batch; ++u) {
#pragma unroll
      for (int i = 0; i < bits; ++i) {
        if (!own.has(tile[u], i)) continue;
        if constexpr (Terms::weighted) {
          sums[i] += value[u][i] * x[u];
        } else {
          sums[i] += x[u];
        }
      }
    }
  }
};

/// Adds each of N sums over the 8 columns of a tile, by halves, so that N sums take hardly more steps than one. Every
/// lane must call. \returns the sum of number column * N / 8
template <int N, int Distance = tile_size / 2, class S>
[[nodiscard]] __device__ S sum_over_columns(const S (&sums)[N], unsigned lane) {
  if constexpr (Distance == 0) {
    return sums[0];
  } else if constexpr (N == 1) {
    const S both[1] = {sums[0] + __shfl_xor_sync(full_warp, sums[0], Distance)};
    return sum_over_columns<1, Distance / 2>(both, lane);
  } else {
    const bool second = (lane & Distance) != 0;
    S half[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; ++i) {
      const S kept = second ? sums[i + N / 2] : sums[i];
      const S given = second ? sums[i] : sums[i + N / 2];
      half[i] = kept + __shfl_xor_sync(full_warp, given, Distance);
    }
    return sum_over_columns<N / 2, Distance / 2>(half, lane);
  }
}

/// The sum of one row of some tiles of a tile row, in the lanes for which `writes` holds.
template <class S>
struct TileRowSum {
  S sum;
  int row;  ///< in the tile row
  bool writes;
};

/// Sums over the first `count` tiles, `Lanes` threads per tile and Lanes * Groups per tile row. Every lane of the warp
/// must call. \param first the number of their first value, at which `terms` begin \param lane below Lanes * Groups
template <int Lanes, int Groups = 1, int Batch = tiles_batch<Lanes>, class Terms>
[[nodiscard]] __device__ TileRowSum<typename Terms::Sum> sum_of_tiles(const TileRecord* tiles, int count, Terms terms,
                                                                      std::uint32_t first, unsigned lane) {
  using Sum = typename Terms::Sum;
  constexpr int bits = LaneBits<Lanes>::count;
  const LaneBits<Lanes> own{lane % Lanes};
  const int group = static_cast<int>(lane / Lanes);
  Sum sums[bits] = {};
  TileBatch<Lanes, Batch, Groups, Terms> loaded;
  tiles += group;
  count = (count - group + Groups - 1) / Groups;
#pragma unroll 1
  for (; count >= Batch; count -= Batch) {
    loaded.load_records(tiles);
    loaded.load_terms(terms, first, own);
    loaded.add_to(sums, own);
    tiles += Batch * Groups;
  }
  if (count > 0) {
    loaded.load_rest(tiles, count);
    loaded.load_terms(terms, first, own);
    loaded.add_to(sums, own);
  }
  constexpr int lanes_per_row = tile_size / bits;
  const int column = static_cast<int>(own.column());
  const int position = static_cast<int>(own.lane) + column / lanes_per_row * Lanes;
  Sum sum = sum_over_columns<bits>(sums, lane);
  for (int distance = Lanes; distance < Lanes * Groups; distance *= 2) {
    sum += __shfl_xor_sync(full_warp, sum, distance);
  }
  return {sum, position / tile_size, group == 0 && column % lanes_per_row == 0};
}

/// The tile row of a group of lanes; none of its tiles where it is long.
template <int Lanes>
struct TileRowOfLanes {
  unsigned tile_row;
  unsigned lane;
  bool exists;
  offset_t begin = 0;  ///< first tile
  int count = 0;       ///< tiles
  offset_t first = 0;  ///< value

  __device__ explicit TileRowOfLanes(const TileRowArrays& rows)
      : tile_row(blockIdx.x * (tiles_threads / Lanes) + threadIdx.x / Lanes),
        lane(threadIdx.x % Lanes),
        exists(tile_row < static_cast<unsigned>(rows.tile_rows)) {
    if (!exists) return;
    begin = __ldg(rows.offsets + tile_row);
    first = __ldg(rows.first_values + tile_row);
    const offset_t whole = __ldg(rows.offsets + tile_row + 1) - begin;
    count = whole > rows.long_row ? 0 : static_cast<int>(whole);
  }

  /// Every lane of the warp must call. \tparam TileLanes threads per tile, at most Lanes
  template <int TileLanes, class Terms>
  [[nodiscard]] __device__ TileRowSum<typename Terms::Sum> sum(const TileRecord* tiles, const Terms& terms) const {
    return sum_of_tiles<TileLanes, Lanes / TileLanes>(tiles + begin, count, terms.from(first),
                                                      static_cast<std::uint32_t>(first), lane);
  }
};

/// `Lanes` threads per tile row, TileLanes per tile. Long tile rows are stored as sums of no terms.
template <int Lanes, int TileLanes, class Terms, class T>
__global__ void __launch_bounds__(tiles_threads, tiles_min_blocks<TileLanes>)
    tile_rows_kernel(TileRowArrays rows, const TileRecord* tiles, Terms terms, UpdateEpilogue<T> epilogue) {
  const TileRowOfLanes<Lanes> own(rows);
  const TileRowSum<T> result = own.template sum<TileLanes>(tiles, terms);
  const std::int64_t row = std::int64_t{own.tile_row} * tile_size + result.row;
  if (own.exists && result.writes && row < rows.rows) epilogue.store(static_cast<index_t>(row), result.sum);
}

/// Output of y = A x and of the inner products with w.
template <class T>
struct TileDotOutput {
  T* y = nullptr;
  const T* w = nullptr;
  PlainSums<2>* of_block = nullptr;  ///< one per block
};

/// The same with inner products, where no tile row is long.
template <int Lanes, int TileLanes, class Terms, class T>
__global__ void __launch_bounds__(tiles_threads, tiles_min_blocks<TileLanes>)
    tile_rows_dot_kernel(TileRowArrays rows, const TileRecord* tiles, Terms terms, TileDotOutput<T> out) {
  const TileRowOfLanes<Lanes> own(rows);
  const TileRowSum<T> result = own.template sum<TileLanes>(tiles, terms);
  const std::int64_t row = std::int64_t{own.tile_row} * tile_size + result.row;
  PlainSums<2> dots;
  if (own.exists && result.writes && row < rows.rows) {
    const auto wide = static_cast<double>(result.sum);
    out.y[row] = result.sum;
    dots = {{static_cast<double>(out.w[row]) * wide, wide * wide}};
  }
  dots = add_up_block<tiles_threads>(dots);
  if (threadIdx.x == 0) out.of_block[blockIdx.x] = dots;
}

/// One warp per part of a long tile row.
template <int TileLanes, class Terms, class T>
__global__ void __launch_bounds__(tiles_threads, tiles_min_blocks<TileLanes>)
    tile_parts_kernel(TilePartArrays parts, const TileRecord* tiles, Terms terms, T* sums) {
  const std::int64_t part = (std::int64_t{blockIdx.x} * tiles_threads + threadIdx.x) / warp_size;
  if (part >= parts.count) return;
  const PartOfTileRow own = parts.at(part);
  const offset_t first = parts.first_values[part];
  const TileRowSum<T> result = sum_of_tiles<TileLanes, warp_size / TileLanes>(
      tiles + own.begin, own.tiles, terms.from(first), static_cast<std::uint32_t>(first), threadIdx.x % warp_size);
  if (result.writes) sums[own.place(result.row)] = result.sum;
}

}  // namespace tessera::cuda
