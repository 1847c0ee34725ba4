/// \file
/// Tuning of MERBIT on GPUs: sizes of each layout, and which layout suits a matrix. Everything here is plain host code.
#pragma once

#include "spmv/merbit/gather_sample.hpp"
#include "spmv/merbit/product_cuda.hpp"

#include <string>

namespace tessera::cuda {

/// Sizes of the layouts that load into registers. A type, since nvcc takes no objects as arguments of kernel templates.
/// \tparam Sigma      odd: walks are free of bank conflicts
/// \tparam Width      nonzeros of a load: 1 or 4
/// \tparam Batch      loads of a lane that are in flight together
/// \tparam Threads    a block; a block waits for its slowest warp
/// \tparam MinBlocks  a multiprocessor: bounds the registers, and none may be spilled
/// \tparam Persistent no more warps than the GPU holds: pays where all tiles take the same time, costs where not
template <int Sigma, int Width, int Batch, int Threads, int MinBlocks, bool Persistent>
struct DirectPolicy {
  static constexpr int sigma = Sigma;
  static constexpr int width = Width;
  static constexpr int batch = Batch;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr bool persistent = Persistent;
};

/// Sizes of the layout `rows`.
/// \tparam Steps  of the longest tile
/// \tparam Unroll terms of a row that are in flight together
template <int Steps, int Unroll, int Threads, int MinBlocks>
struct RowsPolicy {
  static constexpr int steps = Steps;
  static constexpr int unroll = Unroll;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
};

/// Sizes of the layouts `columns` and `local_columns`.
/// \tparam Unroll  gathers of a lane that are in flight together where it sums along rows
/// \tparam TwoRows a lane with a row of its own gathers for two at a time: then twice as many are in flight
template <int Sigma, int Unroll, bool TwoRows, int Threads, int MinBlocks, bool Persistent>
struct ColumnsPolicy {
  static constexpr int sigma = Sigma;
  static constexpr int unroll = Unroll;
  static constexpr bool two_rows = TwoRows;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr bool persistent = Persistent;
  /// Columns of a warp: a tile's, and what groups of four that it shares with its neighbours have of theirs.
  static constexpr int room = (lanes_per_tile * Sigma + 9) / 4 * 4;
  static constexpr int rounds = (room + 4 * lanes_per_tile - 1) / (4 * lanes_per_tile);
};

/// Products read back from shared memory at a time.
inline constexpr int staged_unroll = 4;

/// Chosen by measurements on one H200 (bench/NOTES.md; bench_merbit_layouts repeats the main ones). The registers that
/// a lane needs grow with Batch and the size of T; MinBlocks is chosen to leave them and no more.
template <class T, class V>
struct MerbitCudaPolicy;

template <>
struct MerbitCudaPolicy<float, float> {
  using Scalar = DirectPolicy<21, 1, 7, 128, 8, false>;
  using Vector = DirectPolicy<17, 4, 4, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<float, Ones> {
  using Scalar = DirectPolicy<21, 1, 10, 128, 7, false>;
  using Vector = DirectPolicy<17, 4, 4, 128, 8, true>;
  using Columns = ColumnsPolicy<15, 8, false, 128, 8, false>;
  using LocalColumns = ColumnsPolicy<15, 5, true, 1024, 1, true>;
  using Rows = RowsPolicy<928, 14, 128, 3>;
};
template <>
struct MerbitCudaPolicy<double, double> {
  using Scalar = DirectPolicy<21, 1, 11, 128, 5, false>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<double, float> {
  using Scalar = DirectPolicy<21, 1, 10, 128, 5, false>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<double, Ones> {
  using Scalar = DirectPolicy<13, 1, 7, 128, 8, false>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
  using Columns = ColumnsPolicy<15, 8, false, 128, 8, false>;
  using LocalColumns = ColumnsPolicy<15, 5, true, 1024, 1, true>;
  using Rows = RowsPolicy<928, 14, 96, 3>;
};

/// Default sigma of `exact`, by descriptor width.
inline constexpr int exact_sigma_32 = 15;
inline constexpr int exact_sigma_64 = 15;

/// Rows of up to so many nonzeros on average are kept whole, by tiles that begin up to this many steps earlier.
inline constexpr int short_snap = 16;
inline constexpr int long_snap = 32;

[[nodiscard]] constexpr int choose_snap(index_t rows, offset_t nnz) noexcept {
  const offset_t mean = rows > 0 ? nnz / rows : 0;
  return mean >= short_snap - 2 && mean < long_snap ? long_snap : short_snap;
}

/// Rows of at least so many nonzeros on average, and fewer than the second number, are best summed with as many lanes a
/// row as make a full warp of 16 rows.
inline constexpr offset_t grouped_mean = 14;
inline constexpr offset_t long_mean = 48;

/// Tiles of at most 32 sigma steps. One batch of wide loads takes in a whole tile where that does not cost two fifths
/// of its length. \param batch nonzeros that a warp loads together; 0: any number
[[nodiscard]] constexpr TileRules choose_tiles(index_t rows, offset_t nnz, int sigma, int batch) noexcept {
  const int snap = choose_snap(rows, nnz);
  TileRules rules = walkable_tiles(sigma, snap);
  if (rows == 0 || nnz == 0 || batch == 0) return rules;
  const offset_t mean = nnz / rows;
  const offset_t grouped = 16 * (mean + 1);
  if (mean >= grouped_mean && mean < long_mean) {
    if (grouped < rules.spacing) rules.spacing = static_cast<int>(grouped);
    return rules;
  }
  // Three nonzeros are lost to alignment, and a tile may begin a row early.
  const double steps_per_nonzero = static_cast<double>(rows) / static_cast<double>(nnz) + 1.0;
  const double fitting = (batch - 3) * steps_per_nonzero - static_cast<double>(mean < snap ? mean + 1 : snap);
  if (5 * fitting > 3 * rules.spacing && fitting < rules.spacing) rules.spacing = static_cast<int>(fitting);
  return rules;
}

/// Tiles of staged columns. A walk has all gathers of a lane in flight, a sum along rows no more than it unrolls: it is
/// worth less than where products are staged.
inline constexpr int columns_row_cost = 20;

[[nodiscard]] constexpr TileRules columns_tiles(index_t rows, offset_t nnz, int sigma) noexcept {
  TileRules rules = walkable_tiles(sigma, choose_snap(rows, nnz));
  rules.row_cost = columns_row_cost;
  return rules;
}

/// Rows of a tile on average, so that hardly any tile has too many for a lane a row.
inline constexpr int columns_local_rows = row_rounds * lanes_per_tile - 12;

/// The same where rows are short and of like length.
[[nodiscard]] constexpr TileRules local_columns_tiles(index_t rows, offset_t nnz, int sigma) noexcept {
  TileRules rules = columns_tiles(rows, nnz, sigma);
  if (rows == 0) return rules;
  const double fitting = columns_local_rows * (static_cast<double>(nnz) / static_cast<double>(rows) + 1.0);
  if (fitting < rules.spacing) rules.spacing = static_cast<int>(fitting);
  return rules;
}

/// What decides the layout for a matrix.
struct LayoutTraits {
  double line_share = 0.0;  ///< GatherSample::line_share()
  double line_uses = 1.0;   ///< GatherSample::line_uses()
  offset_t nnz = 0;
  offset_t mean = 0;  ///< nonzeros a row
  bool pattern = false;
  bool doubles = false;          ///< x in double
  bool has_bulk_copies = false;  ///< code for compute capability 9.0 or later
};

[[nodiscard]] MerbitLayout choose_layout(const LayoutTraits& traits) noexcept;

/// A part of a sentence: which layout, and what the choice was made by.
[[nodiscard]] std::string layout_reason(MerbitLayout layout, const LayoutTraits& traits);

}  // namespace tessera::cuda
