/// \file
/// Input of the accumulators of a GPU: rows of C, the results of their analysis, and their output.
#pragma once

#include "core/host_device.hpp"
#include "spgemm/common/factors.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The factors without their values.
template <class V>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr Factors<NoValue> positions_of(const Factors<V>& factors) noexcept {
  return {factors.a_offsets, factors.a_columns, nullptr, factors.b_offsets, factors.b_columns, nullptr};
}

/// What the analysis found of every row of C; arrays on the device, an entry per row.
struct RowFacts {
  const std::uint32_t* products = nullptr;  ///< scalar products; the largest number stands for it and all above
  const index_t* first_columns = nullptr;   ///< smallest column; 0 for a row without products
  const index_t* widths = nullptr;          ///< columns from the smallest to the largest; 0 for a row without products
  const std::uint8_t* bins = nullptr;       ///< which rows are done along with the one before (analysis_cuda.hpp)
};

/// In the bin of a row that repeats the one before: its row of A has the same positions, so C's has as well. It is in
/// no bin, and has as many entries as the first such row.
inline constexpr std::uint8_t repeat_bit = 0x80;
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_repeat(std::uint8_t bin) noexcept {
  return (bin & repeat_bit) != 0;
}

/// Rows of a group: consecutive rows of A with the same positions, done at once (enqueue_bitmap_row_group).
inline constexpr int row_group_size = 3;
/// In the bin of a repeat, once it has its count: it follows the first row of its group; the group has a third row.
inline constexpr std::uint8_t follower_bit = 0x40;
inline constexpr std::uint8_t third_bit = 0x20;
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_follower(std::uint8_t bin) noexcept {
  return (bin & follower_bit) != 0;
}

/// Rows of C that one accumulator does in one launch. The numbers are the largest over these rows, or larger.
struct RowBatch {
  RowFacts facts;
  const index_t* rows = nullptr;  ///< their numbers, on the device; null: 0 ... count - 1
  index_t count = 0;
  index_t max_a_row_nnz = 0;
  std::uint32_t most_products = 0;  ///< scalar products of a row
  index_t widest = 0;               ///< columns from the first to the last of a row
  index_t most_entries = 0;         ///< of a row of C: counted, or what products and columns allow
  std::int64_t shared_bytes = 0;    ///< of the accumulators by bitmap, for a row; 0: as widest and most_entries say
  double mean_b_row_nnz = 0.0;      ///< entries of a row of B, averaged over the entries of A
  double mean_entries = 0.0;        ///< entries of a row of C: counted or foreseen
};

/// What a launch does with its rows. Rows without products have no entries in every phase.
enum class Phase {
  symbolic,            ///< counts the entries of the rows
  numeric,             ///< writes rows whose offsets are known
  numeric_allocating,  ///< counts the entries, allocates as many in the output buffer, writes them there
};

/// Offset of a row for which the output buffer had no room.
inline constexpr offset_t no_offset = -1;

/// Where rows go; arrays on the device, an entry per row of C unless said otherwise. \tparam V NoValue: columns alone
template <class V>
struct RowOutput {
  offset_t* counts = nullptr;          ///< symbolic, numeric_allocating: entries of the row go here
  const offset_t* starts = nullptr;    ///< numeric: row offsets of C. numeric_allocating: row offsets of the buffer, in
                                       ///< which each row has its own part; null: rows take what they need
  index_t* columns = nullptr;          ///< numeric: of C; numeric_allocating: of the buffer
  V* values = nullptr;                 ///< the same for values; null for NoValue
  offset_t* buffer_offsets = nullptr;  ///< numeric_allocating: first entry of the row in the buffer, or no_offset
  unsigned long long* cursor = nullptr;  ///< numeric_allocating without starts: one number, entries allocated so far
  offset_t capacity = 0;                 ///< numeric_allocating without starts: entries of the buffer
};

}  // namespace tessera::cuda
