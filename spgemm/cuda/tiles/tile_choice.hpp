/// \file
/// When `automatic` multiplies in tiles. Measured on one H200 (bench/NOTES.md, "SpGEMM in tiles").
#pragma once

#include "core/cuda/device_limits.hpp"
#include "spgemm/common/tile_arithmetic.hpp"
#include "tessera/spgemm.hpp"

#include <cmath>

namespace tessera::cuda {

/// Least fill of the tiles, the geometric mean over A and B. Tiles took half the time at .32 and 1.3 times the time at
/// .135 (H200); between them nothing was measured.
inline constexpr double least_tile_fill = 0.28;
/// Least pairs of tiles, estimated: below, launches and waits decide.
inline constexpr double least_tile_pairs = 1.5e5;
/// Least mean entries of a row: shorter ones do not fill tiles. A look at sizes, before any sample.
inline constexpr double least_tile_row_nnz = 16.0;

/// Whether the GPU multiplies faster in fp64 by tensor instructions than without: compute capability 8.0, 9.0, 10.0.
/// Others from 8.0 on have the instruction, at the rate of few units.
[[nodiscard]] constexpr bool has_fast_fp64_tensor(const DeviceLimits& limits) noexcept {
  return limits.compute_capability == 80 || limits.compute_capability == 90 || limits.compute_capability == 100;
}

/// Sizes of a product, known without looking at its entries.
struct TileProspect {
  index_t rows = 0;
  index_t inner = 0;
  offset_t a_nnz = 0;
  offset_t b_nnz = 0;

  /// If rows of B have equal lengths.
  [[nodiscard]] double products() const noexcept {
    return inner == 0 ? 0.0 : static_cast<double>(a_nnz) * static_cast<double>(b_nnz) / inner;
  }
  [[nodiscard]] double pairs(double a_fill, double b_fill) const noexcept {
    return products() / detail::products_per_pair(a_fill, b_fill);
  }
};

/// Whether a sample of the fill may favour tiles.
[[nodiscard]] inline bool may_pay_in_tiles(const TileProspect& product) noexcept {
  const bool long_rows = static_cast<double>(product.a_nnz) >= least_tile_row_nnz * product.rows &&
                         static_cast<double>(product.b_nnz) >= least_tile_row_nnz * product.inner;
  return long_rows && product.pairs(least_tile_fill, least_tile_fill) >= least_tile_pairs;
}

/// Whether `automatic` takes tiles, from sampled fills.
[[nodiscard]] inline bool pays_in_tiles(const TileProspect& product, double a_fill, double b_fill) noexcept {
  return std::sqrt(a_fill * b_fill) >= least_tile_fill && product.pairs(a_fill, b_fill) >= least_tile_pairs;
}

}  // namespace tessera::cuda
