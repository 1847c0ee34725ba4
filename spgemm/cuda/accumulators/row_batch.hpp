/// \file
/// What the accumulators of a GPU are given: rows of C, what the analysis found of them, and where they go.
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

/// What the analysis found of every row of C; arrays on the device, an entry a row.
struct RowFacts {
  const std::uint32_t* products = nullptr;  ///< scalar products; the largest number stands for it and all above
  const index_t* first_columns = nullptr;   ///< smallest column; 0 for a row without products
  const index_t* widths = nullptr;          ///< columns from the smallest to the largest; 0 for a row without products
  const std::uint8_t* bins = nullptr;       ///< which rows are done along with the one before (analysis_cuda.hpp)
};

/// In the bins of rows whose row of A has the positions of the row before it, so that C's has as well: they are in no
/// bin, and their entries are those of the first such row.
inline constexpr std::uint8_t repeat_bit = 0x80;
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_repeat(std::uint8_t bin) noexcept {
  return (bin & repeat_bit) != 0;
}

/// Besides, in the bins of repeats, once they have their counts: done along with the row before, and whether the row
/// after is, too. So up to rows_alike rows are done at once.
inline constexpr std::uint8_t along_bit = 0x40;
inline constexpr std::uint8_t third_bit = 0x20;
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool goes_along(std::uint8_t bin) noexcept {
  return (bin & along_bit) != 0;
}

/// Rows of C that one accumulator does in one launch. The numbers are the largest over these rows, or larger.
struct RowBatch {
  RowFacts facts;
  const index_t* rows = nullptr;  ///< their numbers, on the device; null: 0 ... count - 1
  index_t count = 0;
  index_t most_lists = 0;           ///< entries of a row of A
  std::uint32_t most_products = 0;  ///< scalar products of a row
  index_t widest = 0;               ///< columns from the first to the last of a row
  index_t most_entries = 0;         ///< entries of a row of C: counted, or what products and columns allow
  std::int64_t slice = 0;           ///< bytes that `window` takes for a row; 0: as widest and most_entries say
  double mean_list = 0.0;           ///< entries of a row of B, averaged over the entries of A
  double mean_entries = 0.0;        ///< entries of a row of C: counted or foreseen
};

/// What a launch does with its rows. Rows without products have no entries in every pass.
enum class RowPass {
  count,  ///< says how many entries they have
  place,  ///< writes them to places that are known
  claim,  ///< finds the number of entries, looks for room for so many, and writes them there
};

/// A row that found no room.
inline constexpr offset_t no_place = -1;

/// Where rows go; arrays on the device, an entry a row of C unless said otherwise. \tparam V NoValue: columns alone
template <class V>
struct RowOutput {
  offset_t* counts = nullptr;        ///< count, claim: entries of the row go here
  const offset_t* starts = nullptr;  ///< place: first entry of every row and one past the last; claim: the same of the
                                     ///< rows' rooms, or null: rows take what they need from the common room
  index_t* columns = nullptr;        ///< place: of C; claim: of the room
  V* values = nullptr;               ///< the same for values; null for NoValue
  offset_t* places = nullptr;        ///< claim: where the row was put in the room, or no_place
  unsigned long long* cursor = nullptr;  ///< claim without starts: one number, entries taken of the common room
  offset_t room = 0;                     ///< claim without starts: entries of the common room
};

}  // namespace tessera::cuda
