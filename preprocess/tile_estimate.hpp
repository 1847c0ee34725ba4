/// \file
/// Tiles and fill of a matrix from a stratified sample of its tile rows (public: estimate_tiles() in
/// tessera/tile_matrix.hpp).
#pragma once

#include "core/partition_point.hpp"
#include "core/random.hpp"
#include "core/sums.hpp"
#include "preprocess/tile_merge.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>

namespace tessera::detail {

/// One tile row at random in each of `count` nearly equal parts of all; or that of one entry at random in each of
/// `count` parts of all entries, which sees where the entries are.
struct SampledTileRows {
  index_t tile_rows = 0;
  index_t count = 0;        ///< at most tile_rows
  bool by_entries = false;  ///< the matrix has entries then

  /// \param a the matrix
  [[nodiscard]] TESSERA_HOST_DEVICE index_t at(std::int64_t number, const CsrStructurePointers& a) const noexcept {
    if (!by_entries) return (*this)[number];
    const offset_t nnz = a.offsets[a.rows];
    const double place = (static_cast<double>(number) + SplitMix64(9, static_cast<std::uint64_t>(number)).uniform()) /
                         static_cast<double>(count) * static_cast<double>(nnz);
    const auto entry = static_cast<offset_t>(place) < nnz ? static_cast<offset_t>(place) : nnz - 1;
    const index_t after = partition_point(index_t{1}, a.rows, [&](index_t i) { return a.offsets[i] <= entry; });
    return tile_of(after - 1);
  }

  [[nodiscard]] TESSERA_HOST_DEVICE index_t operator[](std::int64_t number) const noexcept {
    const std::int64_t begin = number * tile_rows / count;
    const std::int64_t size = (number + 1) * tile_rows / count - begin;
    const double place = SplitMix64(8, static_cast<std::uint64_t>(number)).uniform();
    return static_cast<index_t>(begin + static_cast<std::int64_t>(place * static_cast<double>(size)));
  }
};

/// Tiles (first) and their entries (second) of a tile row: of its first `most` tiles. Integers, so that sums are exact.
[[nodiscard]] TESSERA_HOST_DEVICE inline TwoSums count_tile_row(const CsrStructurePointers& a, index_t tile_row,
                                                                offset_t most) {
  offset_t tiles = 0;
  offset_t entries = 0;
  TileMerge merge(a, tile_row);
  for (index_t column = merge.next(); column != TileMerge::no_tile && tiles < most; column = merge.next()) {
    entries += count_bits(merge.take(column));
    ++tiles;
  }
  return {static_cast<double>(tiles), static_cast<double>(entries)};
}

/// Tiles and entries counted in one tile row.
struct CountedTiles {
  offset_t tiles;
  offset_t entries;
};

[[nodiscard]] inline TwoSums sum_of(std::span<const CountedTiles> counted) noexcept {
  TwoSums sum;
  for (const CountedTiles& row : counted) {
    sum += {static_cast<double>(row.tiles), static_cast<double>(row.entries)};
  }
  return sum;
}

/// Tiles of a matrix of nnz > 0 entries, from counted tiles and their entries. A sample without entries promises
/// nothing: the worst is assumed, a tile per entry.
[[nodiscard]] inline double tiles_of_sample(double nnz, const TwoSums& counted) noexcept {
  if (counted.first == 0.0) return nnz;
  return counted.second == nnz ? counted.first : nnz * counted.first / counted.second;
}

}  // namespace tessera::detail

namespace tessera::cuda {
class Context;

/// Tile rows of a sample whose counts fit into the page-locked memory of SumSpace, where kernels write them directly.
inline constexpr index_t most_direct_samples = 256;

/// Counts each tile row of the sample, without waiting. \param counted one per tile row, on the device or page-locked
void enqueue_sample(const Context& context, const detail::CsrStructurePointers& a,
                    const detail::SampledTileRows& sample, offset_t most, detail::CountedTiles* counted);
/// Σ count_tile_row over the sample. Waits for it.
[[nodiscard]] detail::TwoSums count_sample(const detail::CsrStructurePointers& a, const detail::SampledTileRows& sample,
                                           offset_t most, const Device& device);
}  // namespace tessera::cuda
