/// \file
/// When `automatic` multiplies in tiles. Measured on one H200 (bench/NOTES.md, "SpGEMM in tiles").
#pragma once

#include "core/cuda/device_limits.hpp"
#include "preprocess/tile_estimate.hpp"
#include "preprocess/tile_slices.hpp"
#include "spgemm/common/tile_arithmetic.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"
#include "tessera/spgemm.hpp"

#include <cmath>
#include <span>

namespace tessera::cuda {

/// Least fill of the tiles, the geometric mean over A and B. On an H200 tiles took .14 to .52 of the time from .32
/// on and 1.3 times the time at .135. Between .19 and .25 fill alone does not decide: with entries left out at random,
/// so that rows differ, tiles took .60 and .66 of it at .19; with 7 points and 3 unknowns 1.3 at .215; with 9 points
/// and 2 unknowns .92 at .251.
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

/// Least products, foreseen from sizes, from which entries of A A are sampled for tile rows that pay: there `exact`
/// takes .9 ms (lap2d) or more, the sample about .015 ms.
inline constexpr double least_mixed_products = 6e7;
/// The same after another sample.
inline constexpr double least_mixed_products_sampled = 1.5e8;

/// Whether a sample of entries of A A may favour tiles in a part of it. \param sampled whether fills were sampled
[[nodiscard]] inline bool may_pay_in_part(const TileProspect& product, bool sampled) noexcept {
  return product.products() >= (sampled ? least_mixed_products_sampled : least_mixed_products);
}

/// Tiles of a sampled tile row that are counted: one more than a tile row may have in tiles.
inline constexpr offset_t most_counted_tiles = detail::most_found_tiles + 1;

/// Tile rows of A that pay in A A, as a sample of entries foresees them.
struct MixedProspect {
  double entries = 0.0;  ///< their share of all
  double products = 0.0;
  double pairs = 0.0;

  [[nodiscard]] bool pays() const noexcept { return gain_by_tiles_ms(pairs, products) >= least_mixed_gain_ms; }
};

/// \param sampled tile rows of entries drawn at random. Rows of B that they meet are taken to be as long and as full.
[[nodiscard]] inline MixedProspect mixed_prospect(double nnz, std::span<const detail::CountedTiles> sampled) noexcept {
  MixedProspect sum;
  for (const detail::CountedTiles& row : sampled) {
    if (row.tiles == 0 || row.tiles >= most_counted_tiles || row.entries < least_tile_row_entries) continue;
    const auto entries = static_cast<double>(row.entries);
    const double fill = entries / (static_cast<double>(row.tiles) * detail::tile_entries);
    if (fill < least_tile_fill) continue;
    // A draw stands for as many entries, each of which meets a row of B.
    const double share = 1.0 / static_cast<double>(sampled.size());
    const double products = share * nnz * entries / tile_size;
    sum.entries += share;
    sum.products += products;
    sum.pairs += products / detail::products_per_pair(fill, fill);
  }
  return sum;
}

}  // namespace tessera::cuda
