/// \file
/// The epilogue of MERBIT's products on a GPU: how the row sums of a tile reach y (MERBIT, §4.3).
///
/// Kernels are templates of an epilogue, which every thread makes from its `Output`. `Sum` is the type of row sums;
/// fewer_blocks(width): by how much to lower the minimum of blocks per multiprocessor, so that the epilogue gets
/// registers. An epilogue may also say that there is nothing to do, is_idle(), and which vector is read, source().
#pragma once

#include "core/cuda/warp.cuh"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/merbit_arrays.hpp"

#include <type_traits>

namespace tessera::cuda {

template <class V>
inline constexpr bool is_ones = std::is_same_v<V, Ones>;

/// The extent of a tile.
struct TileSpan {
  std::int64_t tile = 0;
  offset_t x = 0;   ///< first nonzero
  index_t row = 0;  ///< first row
  int nonzeros = 0;
  int rows = 0;              ///< that end here
  bool from_inside = false;  ///< the first row may have begun in an earlier tile
  bool to_inside = false;    ///< the row after those that end here has begun, and goes on in the next tile
};

[[nodiscard]] __device__ inline TileSpan span_between(std::int64_t tile, const TileStart& start, const TileStart& end) {
  return {tile,
          start.x,
          start.y(),
          static_cast<int>(end.x - start.x),
          static_cast<int>(end.y() - start.y()),
          start.inside_row(),
          end.inside_row()};
}

/// Epilogue of a product, for the row sums of one warp. The part of a row in the tile in which it ends is stored. Parts
/// in earlier tiles are either kept, one carry per tile, for join_rows(), or added to y atomically.
template <class T, bool WithDots>
class ProductEpilogue {
 public:
  using Sum = T;
  using Output = ProductOutput<T>;
  [[nodiscard]] static constexpr int fewer_blocks(int /*width*/) { return WithDots ? 1 : 0; }

  __device__ explicit ProductEpilogue(const ProductOutput<T>& out) : out_(out) {}

  [[nodiscard]] __device__ static constexpr bool is_idle() { return false; }
  [[nodiscard]] __device__ static const T* source(const T* x) { return x; }

  /// Called before the tile is multiplied: may prefetch what the epilogue will read. All lanes.
  __device__ void expect(const TileSpan& /*tile*/, int /*lane*/) const {}

  /// A row that lies in one tile.
  __device__ void store(index_t row, T sum) {
    const T value = updated(row, sum);
    out_.y[row] = value;
    if constexpr (WithDots) {
      const auto wide = static_cast<double>(value);
      wy_ += static_cast<double>(out_.w[row]) * wide;
      yy_ += wide * wide;
    }
  }

  /// Row number `i` of those that end in the tile.
  __device__ void store_ended(const TileSpan& tile, int i, T sum) {
    if (i > 0 || !tile.from_inside) {
      store(tile.row + i, sum);
    } else if (out_.carries == nullptr) {
      atomicAdd(out_.y + tile.row, sum);
    } else {
      out_.y[tile.row] = updated(tile.row, sum);
    }
  }

  /// The part in this tile of the row that continues after it. One lane.
  __device__ void leave_open(const TileSpan& tile, T sum) {
    if (out_.carries == nullptr) {
      atomicAdd(out_.y + tile.row + tile.rows, sum);
      out_.other[tile.row + tile.rows] = T{0};
    } else {
      out_.carries[tile.tile] = sum;
    }
  }

  /// The warp's partial inner products. All lanes. \param part of the warp, in out.partial_dots
  __device__ void write_sums(std::int64_t part, int lane) {
    if constexpr (WithDots) {
      const double wy = sum_over_lanes(wy_);
      const double yy = sum_over_lanes(yy_);
      if (lane == 0) out_.partial_dots[part] = {wy, yy};
    }
  }

  /// The block's partial inner products, warp after warp. All threads. \param part of the block
  template <int Warps>
  __device__ void write_sums_of_block(std::int64_t part, int lane) {
    if constexpr (WithDots) {
      __shared__ double of_warp[Warps][2];
      const double wy = sum_over_lanes(wy_);
      const double yy = sum_over_lanes(yy_);
      if (lane < 2) of_warp[threadIdx.x / warp_size][lane] = lane == 0 ? wy : yy;
      __syncthreads();
      if (threadIdx.x != 0) return;
      ProductDots total;
      for (const auto& sums : of_warp) {
        total.wy += sums[0];
        total.yy += sums[1];
      }
      out_.partial_dots[part] = total;
    }
  }

 private:
  [[nodiscard]] __device__ T updated(index_t row, T sum) const {
    const T scaled = out_.alpha * sum;
    return out_.beta == T{0} ? scaled : scaled + out_.beta * out_.y[row];
  }

  ProductOutput<T> out_;
  double wy_ = 0.0;
  double yy_ = 0.0;
};

}  // namespace tessera::cuda
