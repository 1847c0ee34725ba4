/// \file
/// Tuning of MERBIT: sizes of the tiles on the host; on GPUs the sizes of each layout, what a block of it asks of the
/// GPU, and which layout suits a matrix. Plain host code, which needs no CUDA.
#pragma once

#include "preprocess/snapped_tiles.hpp"
#include "spmv/common/kernel_footprint.hpp"

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera::detail {

/// Sizes on the host, per element type.
struct MerbitPolicy {
  int tiles_per_block = 0;
  int sigma_32 = 0;  ///< default path items per lane with 32-bit descriptors, which are the default
  int sigma_64 = 0;  ///< default path items per lane with 64-bit descriptors

  friend constexpr bool operator==(const MerbitPolicy&, const MerbitPolicy&) = default;
  friend std::ostream& operator<<(std::ostream& out, const MerbitPolicy& policy) {
    return out << "{tiles_per_block " << policy.tiles_per_block << ", sigma_32 " << policy.sigma_32 << ", sigma_64 "
               << policy.sigma_64 << '}';
  }
};

/// Long lanes, since each lane costs an unpredictable branch; blocks large enough to be scheduled. A block has at least
/// tiles_per_block tiles.
template <class T>
inline constexpr MerbitPolicy host_merbit_policy{8, 21, 53};

static_assert(host_merbit_policy<float>.sigma_32 <= max_sigma(32));
static_assert(host_merbit_policy<double>.sigma_64 <= max_sigma(64));

}  // namespace tessera::detail

namespace tessera::cuda {

/// How the nonzeros of a tile reach the lanes of its warp.
///   exact         the tiles of MERBIT, §4.1, with any sigma and both descriptor widths, all known at run time only
///   scalar        one nonzero per lane and load, a warp per tile: for scattered reads of x
///   vector        four nonzeros per lane and load, persistent warps: for clustered reads of x
///   columns       pattern matrices: columns are staged, and each lane gathers x for path items of its own
///   local_columns the same with persistent warps, for tiles that take equal time
///   rows          pattern matrices, best with rows of similar length: one or several lanes per row; bulk copies bring
///                 the columns of the next tile while one is summed. Compute capability 9.0
/// All but `exact` use snapped tiles.
enum class MerbitLayout { exact, scalar, vector, columns, local_columns, rows };

/// Whether columns may be codes of hubs: in the layouts for scattered reads of x.
[[nodiscard]] constexpr bool takes_hubs(MerbitLayout layout) noexcept {
  return layout == MerbitLayout::scalar || layout == MerbitLayout::columns || layout == MerbitLayout::local_columns;
}

/// Tiles begin anywhere, the loads of a warp at a multiple of so many nonzeros: then 32 neighbouring columns fill one
/// line of the first-level cache and no sector of another. Four per load are at 16 bytes. \tparam Width nonzeros per
/// load: 1 or 4
template <int Width>
inline constexpr int window_alignment = Width == 1 ? 32 : 4;

/// Stands for the values of a pattern matrix: every nonzero is 1, and nothing is read.
struct Ones {};

/// Sizes of the layouts `scalar` and `vector`. A type, since nvcc takes no objects as arguments of kernel templates.
/// \tparam Sigma      odd: walks are free of bank conflicts
/// \tparam Width      nonzeros per load: 1 or 4
/// \tparam Batch      loads of a lane that are in flight together
/// \tparam Threads    per block; a block waits for its slowest warp
/// \tparam MinBlocks  per multiprocessor: bounds the registers, and none may be spilled
/// \tparam Persistent no more warps than the GPU holds: pays where all tiles take equal time, costs where not
template <int Sigma, int Width, int Batch, int Threads, int MinBlocks, bool Persistent>
struct DirectPolicy {
  static constexpr int sigma = Sigma;
  static constexpr int width = Width;
  static constexpr int batch = Batch;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr bool persistent = Persistent;
  /// Elements staged per warp: the products of a tile, and what aligned loads of Width bring before and beyond it.
  static constexpr int staged = lanes_per_tile * Sigma + window_alignment<Width> + Width;

  [[nodiscard]] static constexpr KernelFootprint footprint(int element_bytes) noexcept {
    return {Threads, MinBlocks, Threads / lanes_per_tile * staged * element_bytes};
  }
};

/// Sizes of the layout `rows`.
/// \tparam MaxItems path items of the longest tile
/// \tparam Unroll   terms of a row that are in flight together
template <int MaxItems, int Unroll, int Threads, int MinBlocks>
struct RowsPolicy {
  static constexpr int max_items = MaxItems;
  static constexpr int unroll = Unroll;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  /// Columns of one buffer: a tile's, and the rest of the two 16-byte groups at its ends.
  static constexpr int buffer = MaxItems + 8;
  /// Bytes of the two buffers of a warp.
  static constexpr int buffer_bytes = 2 * buffer * static_cast<int>(sizeof(index_t));
  static constexpr int dynamic_shared_bytes = Threads / lanes_per_tile * buffer_bytes;

  [[nodiscard]] static constexpr KernelFootprint footprint() noexcept {
    constexpr int barriers = Threads / lanes_per_tile * 2 * static_cast<int>(sizeof(std::uint64_t));
    return {Threads, MinBlocks, dynamic_shared_bytes + barriers};
  }
};

/// Sizes of the layouts `columns` and `local_columns`.
/// \tparam Unroll  gathers of a lane that are in flight together where it sums along rows
/// \tparam TwoRows a lane with a row of its own gathers for two rows at a time: twice as many gathers are in flight
/// \tparam Raking  a block takes consecutive tiles (CUB's word); else blocks take them in turn
template <int Sigma, int Unroll, bool TwoRows, int Threads, int MinBlocks, bool Persistent, bool Raking = false>
struct ColumnsPolicy {
  static constexpr int sigma = Sigma;
  static constexpr int unroll = Unroll;
  static constexpr bool two_rows = TwoRows;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr bool persistent = Persistent;
  static constexpr bool raking = Raking;
  static_assert(Persistent || !Raking);
  /// Columns staged per warp: a tile's, and what aligned loads of four bring before and beyond it.
  static constexpr int room = (lanes_per_tile * Sigma + window_alignment<4> + 5) / 4 * 4;
  static constexpr int rounds = (room + 4 * lanes_per_tile - 1) / (4 * lanes_per_tile);
  static constexpr int dynamic_shared_bytes = Threads / lanes_per_tile * room * static_cast<int>(sizeof(index_t));

  [[nodiscard]] static constexpr KernelFootprint footprint() noexcept {
    // Inner products of the warps, or PageRank's five sums, are added up in static shared memory.
    constexpr int sums = Threads / lanes_per_tile * 5 * static_cast<int>(sizeof(double));
    return {Threads, MinBlocks, dynamic_shared_bytes + sums};
  }
};

/// Products read back from shared memory at a time.
inline constexpr int staged_unroll = 4;

/// One table for all architectures, measured on one H200 (bench/NOTES.md; bench_merbit_layouts repeats the main ones):
/// all sizes fit compute capabilities 8.0 to 12.0 (tests/spmv/tuning_test.cpp). The registers that a lane needs grow
/// with Batch and the size of T; MinBlocks leaves exactly these. `...OfHubs` where columns are codes of hubs, measured
/// on an H100: the choice between two vectors takes registers, and longer rows of loads gain nothing.
/// `ColumnsOfStagedHubs` where hubs are staged, and for PageRank wherever there are hubs (H200; the sums of its
/// iterations come from 132 blocks then, not from thousands).
template <class T, class V>
struct MerbitCudaPolicy;

template <>
struct MerbitCudaPolicy<float, float> {
  using Scalar = DirectPolicy<21, 1, 7, 128, 8, false>;
  using ScalarOfHubs = Scalar;
  using Vector = DirectPolicy<17, 4, 4, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<float, Ones> {
  using Scalar = DirectPolicy<21, 1, 10, 128, 7, false>;
  using ScalarOfHubs = Scalar;
  using Vector = DirectPolicy<17, 4, 4, 128, 8, true>;
  using Columns = ColumnsPolicy<15, 8, false, 128, 8, false>;
  using ColumnsOfHubs = Columns;
  using ColumnsOfStagedHubs = ColumnsPolicy<15, 8, false, 1024, 1, true, true>;
  using LocalColumns = ColumnsPolicy<15, 5, true, 1024, 1, true>;
  using Rows = RowsPolicy<928, 14, 128, 3>;
};
template <>
struct MerbitCudaPolicy<double, double> {
  using Scalar = DirectPolicy<21, 1, 11, 128, 5, false>;
  using ScalarOfHubs = DirectPolicy<21, 1, 7, 128, 7, false>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<double, float> {
  using Scalar = DirectPolicy<21, 1, 10, 128, 5, false>;
  using ScalarOfHubs = DirectPolicy<21, 1, 7, 128, 7, false>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
};
template <>
struct MerbitCudaPolicy<double, Ones> {
  using Scalar = DirectPolicy<13, 1, 7, 128, 8, false>;
  using ScalarOfHubs = Scalar;
  using Vector = DirectPolicy<15, 4, 2, 128, 8, true>;
  using Columns = ColumnsPolicy<15, 8, false, 128, 8, false>;
  using ColumnsOfHubs = ColumnsPolicy<15, 8, false, 128, 7, false>;
  using ColumnsOfStagedHubs = ColumnsPolicy<15, 8, false, 1024, 1, true, true>;
  using LocalColumns = ColumnsPolicy<15, 5, true, 1024, 1, true>;
  using Rows = RowsPolicy<928, 14, 96, 3>;
};

/// Bytes of shared memory that a block has for staged hubs, beside its columns and some sums. \param columns_bytes of
/// the columns
[[nodiscard]] constexpr int staged_hub_room(const DeviceLimits& gpu, int columns_bytes) noexcept {
  constexpr int most = 128 * 1024;
  constexpr int sums = 2 * 1024;
  const std::int64_t left = std::int64_t{gpu.largest_shared_per_block} - columns_bytes - sums;
  return left <= 0 ? 0 : left < most ? static_cast<int>(left) / 16 * 16 : most;
}

/// Default sigma of `exact`, by descriptor width.
inline constexpr int exact_sigma_32 = 15;
inline constexpr int exact_sigma_64 = 15;

/// Threads per block of `exact`: so few that the products of the longest lanes fit in the 48 KB of shared memory that
/// every block may have without asking.
inline constexpr int exact_threads = 64;
static_assert(exact_threads * max_sigma(64) * static_cast<int>(sizeof(double)) <= 48 * 1024);

/// \tparam V Ones for pattern matrices \returns the footprint of a layout's kernel, for `exact` with the longest lanes;
/// an empty one for a layout that has no kernel for V
template <class T, class V>
[[nodiscard]] constexpr KernelFootprint merbit_footprint(MerbitLayout layout) noexcept {
  using Policy = MerbitCudaPolicy<T, V>;
  constexpr int bytes = static_cast<int>(sizeof(T));
  if (layout == MerbitLayout::exact) return {exact_threads, 1, exact_threads * max_sigma(64) * bytes};
  if (layout == MerbitLayout::scalar) return Policy::Scalar::footprint(bytes);
  if (layout == MerbitLayout::vector) return Policy::Vector::footprint(bytes);
  if constexpr (std::is_same_v<V, Ones>) {
    if (layout == MerbitLayout::columns) return Policy::Columns::footprint();
    if (layout == MerbitLayout::local_columns) return Policy::LocalColumns::footprint();
    if (layout == MerbitLayout::rows) return Policy::Rows::footprint();
  }
  return {};
}

/// Rows of up to so many nonzeros on average are kept whole, by tiles that begin up to this many path items earlier.
inline constexpr int short_snap = 16;
inline constexpr int long_snap = 32;

[[nodiscard]] constexpr int choose_snap(index_t rows, offset_t nnz) noexcept {
  const offset_t mean = rows > 0 ? nnz / rows : 0;
  return mean >= short_snap - 2 && mean < long_snap ? long_snap : short_snap;
}

/// Rows of [grouped_mean, long_mean) nonzeros on average are best summed by groups of lanes, 16 rows per warp.
inline constexpr offset_t grouped_mean = 14;
inline constexpr offset_t long_mean = 48;

/// Tiles of at most 32 sigma path items. Tiles are shortened to fit one batch of wide loads unless that costs more than
/// two fifths of their length. \param batch nonzeros that a warp loads together; 0: any number
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
  // Some nonzeros are lost to alignment, and a tile may begin a row early.
  constexpr int lost = window_alignment<4> - 1;
  const double steps_per_nonzero = static_cast<double>(rows) / static_cast<double>(nnz) + 1.0;
  const double fitting = (batch - lost) * steps_per_nonzero - static_cast<double>(mean < snap ? mean + 1 : snap);
  if (5 * fitting > 3 * rules.spacing && fitting < rules.spacing) rules.spacing = static_cast<int>(fitting);
  return rules;
}

/// Tiles of staged columns. A walk has all gathers of a lane in flight, a sum along rows only those that it unrolls: so
/// the latter pays less often than where products are staged.
inline constexpr int columns_row_cost = 20;

[[nodiscard]] constexpr TileRules columns_tiles(index_t rows, offset_t nnz, int sigma) noexcept {
  TileRules rules = walkable_tiles(sigma, choose_snap(rows, nnz));
  rules.row_cost = columns_row_cost;
  return rules;
}

/// Rows per tile on average: hardly any tile has too many for one lane per row.
inline constexpr int columns_local_rows = row_rounds * lanes_per_tile - 12;

/// The same where rows are short and of similar length.
[[nodiscard]] constexpr TileRules local_columns_tiles(index_t rows, offset_t nnz, int sigma) noexcept {
  TileRules rules = columns_tiles(rows, nnz, sigma);
  if (rows == 0) return rules;
  const double fitting = columns_local_rows * (static_cast<double>(nnz) / static_cast<double>(rows) + 1.0);
  if (fitting < rules.spacing) rules.spacing = static_cast<int>(fitting);
  return rules;
}

inline constexpr int gather_window = 128;       ///< nonzeros looked at together
inline constexpr int max_gather_windows = 512;  ///< spread evenly over the matrix
inline constexpr int gather_line_bytes = 128;   ///< of the first-level cache

/// What a sample found; all zero for a matrix of less than one window.
struct GatherSample {
  std::int64_t windows = 0;
  std::int64_t lines = 0;      ///< distinct lines of x, summed over the windows
  std::int64_t all_lines = 0;  ///< distinct lines of x in all windows together, at most a few percent too low

  /// Distinct lines a nonzero, between 0 and 1.
  [[nodiscard]] double line_share() const noexcept {
    return windows > 0 ? static_cast<double>(lines) / static_cast<double>(windows * gather_window) : 0.0;
  }
  /// Windows that touch a line, on average; 1 without any.
  [[nodiscard]] double line_uses() const noexcept {
    return all_lines > 0 ? static_cast<double>(lines) / static_cast<double>(all_lines) : 1.0;
  }
};

/// First nonzero of window `w` of `windows`. Dividing first keeps the product below 2^63.
[[nodiscard]] constexpr offset_t gather_window_begin(offset_t nnz, std::int64_t windows, std::int64_t w) noexcept {
  return (nnz - gather_window) / windows * w;
}

[[nodiscard]] constexpr std::int64_t gather_window_count(offset_t nnz) noexcept {
  const offset_t fitting = nnz / gather_window;
  return fitting < max_gather_windows ? fitting : max_gather_windows;
}

/// Looks at up to 65536 nonzeros. O(1); waits for the result.
/// \param columns       on the device
/// \param element_bytes size of an entry of x \throws CudaError, OutOfMemory
[[nodiscard]] GatherSample sample_gathers(std::span<const index_t> columns, int element_bytes, const Device& device);

/// \throws CudaError
[[nodiscard]] std::int64_t second_level_cache_bytes(const Device& device);

/// What the layout for a matrix depends on.
struct LayoutTraits {
  double line_share = 0.0;  ///< GatherSample::line_share()
  double line_uses = 1.0;   ///< GatherSample::line_uses()
  offset_t nnz = 0;
  offset_t mean = 0;  ///< nonzeros per row
  bool pattern = false;
  bool doubles = false;          ///< x in double
  bool has_bulk_copies = false;  ///< code for compute capability 9.0 or later
};

/// \returns a layout whose blocks fit the GPU
[[nodiscard]] MerbitLayout choose_layout(const LayoutTraits& traits, const DeviceLimits& gpu) noexcept;

/// Part of a sentence: which layout was chosen, and the numbers that decided.
[[nodiscard]] std::string layout_reason(MerbitLayout layout, const LayoutTraits& traits);

/// \throws NotSupported with both sizes when a block of the layout does not fit the GPU
void check_layout_fits(MerbitLayout layout, const KernelFootprint& block, const DeviceLimits& gpu,
                       std::string_view device_name);

}  // namespace tessera::cuda
