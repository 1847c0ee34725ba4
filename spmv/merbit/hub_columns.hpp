/// \file
/// Hub columns of MERBIT on a GPU: the columns in which most nonzeros far from the diagonal lie. Spread over a large x
/// their entries share lines with others that hardly any row reads, and fall out of the second-level cache. A product
/// therefore packs them first, a few megabytes side by side; a nonzero has a code in place of its column.
/// (Frequency-based clustering: Zhang et al., "Making Caches Work for Graph Analytics", IEEE Big Data 2017; there all
/// vertices are renumbered, here near columns stay where they are.)
///
/// Far nonzeros in the other columns, which no cache finds again, may have *slots*: entries of packed x of their own,
/// in the order of the nonzeros, so that the product reads them side by side. Slots are filled a block of columns after
/// the other, so that the block's x lies in the second-level cache meanwhile. (Propagation blocking moves products in
/// such an order: Beamer, Asanović & Patterson, IPDPS 2017.) They are looked for where hubs pay, not instead of them.
#pragma once

#include "core/host_device.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace tessera::cuda {

/// Products from which the search for hubs and the codes pay: with values, and without.
inline constexpr std::int64_t applications_worth_hubs = 300;
inline constexpr std::int64_t applications_worth_hubs_of_pattern = 100;

/// Bytes of x that come from memory together.
inline constexpr int memory_line_bytes = 64;

/// The code of hub h of `hubs`, for a nonzero: its place from the end of packed x. Any other column is its own code.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t code_of_hub(index_t h, index_t hubs) noexcept { return h - hubs; }
/// The code of a slot. \param packed entries of packed x: slots, then hubs
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t code_of_slot(offset_t slot, index_t packed) noexcept {
  return static_cast<index_t>(slot - packed);
}
/// Whether a code is that of a hub or of a slot.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_packed_code(index_t code) noexcept { return code < 0; }

/// Columns from the diagonal, in either direction.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t distance_between(index_t column, index_t diagonal) noexcept {
  return column < diagonal ? diagonal - column : column - diagonal;
}
/// Less than that of any nonzero, and not far by any rules.
inline constexpr index_t no_distance = std::numeric_limits<index_t>::min();

/// Blocks of columns into which slots may be divided.
inline constexpr int most_slot_blocks = 128;

/// Which far nonzeros have slots.
struct SlotRules {
  std::int64_t most = 0;     ///< slots; 0: no nonzero has one
  index_t beyond = 0;        ///< columns from the diagonal; nearer ones are found in the second-level cache
  index_t column_block = 1;  ///< columns whose slots are filled together; of more than most_slot_blocks there are none
  double least_saved = 0.0;  ///< bytes per product from which slots pay
};

/// What makes a column a hub.
struct HubRules {
  std::int64_t most = 0;            ///< hubs, packed: a part of the second-level cache
  int line_entries = 1;             ///< entries of x per line
  double cached_lines = 0.0;        ///< lines of x and of the matrix that the second-level cache holds
  double streamed_lines = 0.0;      ///< lines of the matrix, read once per product
  std::uint64_t least_uses = 0;     ///< far nonzeros per hub, at least 1
  index_t near = 0;                 ///< columns up to so far from the diagonal are read as they are: caches hold them
  double least_saved = 0.0;         ///< bytes per product from which packing pays
  std::int64_t most_staged = 0;     ///< hubs that fit the shared memory of a block; 0: the kernel stages none
  double least_staged_share = 0.0;  ///< uses per nonzero of the matrix from which staging hubs pays
  SlotRules slots;

  /// Whether a column is no neighbour of the diagonal. \param distance from it
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_far(index_t distance) const noexcept { return distance > near; }
};

/// The rules for a matrix and a GPU. \param element_bytes of x \param value_bytes per nonzero \param cache_bytes of the
/// second-level cache
[[nodiscard]] HubRules hub_rules(offset_t nnz, std::size_t element_bytes, double value_bytes,
                                 std::int64_t cache_bytes) noexcept;

/// The rules for slots. \param nnz of the matrix \param room bytes that codes, and hubs and slots with their columns,
/// may take \param rules of its hubs \returns none for a matrix with so many columns that a block of them fits no cache
[[nodiscard]] SlotRules slot_rules(index_t cols, offset_t nnz, double room, const HubRules& rules,
                                   std::int64_t cache_bytes) noexcept;

/// Blocks of columns of a matrix.
[[nodiscard]] constexpr int slot_blocks(index_t cols, const SlotRules& rules) noexcept {
  return static_cast<int>((std::int64_t{cols} + rules.column_block - 1) / rules.column_block);
}

/// Column of the diagonal in a row. \param rows at least 1
[[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t diagonal_column(index_t row, index_t rows, index_t cols) noexcept {
  return rows == cols ? row : static_cast<index_t>(std::int64_t{row} * cols / rows);
}

/// Whether hubs are worth looking for depends on these.
struct HubTraits {
  index_t cols = 0;
  offset_t nnz = 0;
  double line_share = 0.0;  ///< distinct lines of x per nonzero in a sample: GatherSample::line_share()
  std::int64_t products = 0;
  double code_room = 0.0;  ///< bytes that codes may take
  bool pattern = false;    ///< whether there are no values
};

/// Whether hubs are worth looking for: where reads of x are scattered over more than the cache holds, columns have
/// several nonzeros, products are many, and there is room for codes.
[[nodiscard]] bool may_gain_by_hubs(const HubTraits& matrix, const HubRules& rules) noexcept;

/// How often columns, or lines of them, are used. Those without uses are not counted. Where more columns than fit have
/// the most uses that are told apart, a billion nonzeros and more, none is a hub.
struct UseCounts {
  static constexpr int bins = 1024;         ///< the last is for all that are used at least bins - 1 times
  unsigned long long with_uses[bins] = {};  ///< how many have 0, 1, ... uses
  unsigned long long uses_of_last_bin = 0;
};

/// The most used columns, or lines.
struct MostUsed {
  std::uint64_t least_uses = UseCounts::bins;  ///< of each
  std::int64_t count = 0;
  std::uint64_t uses = 0;  ///< of all
};

/// As many as fit, all with equally many uses or none of them. \param most of them \param least_uses at least 1
[[nodiscard]] MostUsed most_used(const UseCounts& counts, std::int64_t most, std::uint64_t least_uses) noexcept;

/// Lines with equally many uses.
struct UsedLines {
  double count = 0.0;
  double uses = 0.0;  ///< of each
};

/// Uses that miss a cache which drops the least recently used line, by Che's approximation (Che, Tung, Wang, IEEE JSAC
/// 20(7), 2002): a line stays for a time t after its last use, which is the same for all and follows from the
/// size of the cache; uses of a line come at random. O(lines.size()).
/// \param streamed lines that are used once each, in the same time \param capacity lines
[[nodiscard]] double missed_uses(std::span<const UsedLines> lines, double streamed, double capacity);

/// What packing hubs does to a product.
struct HubGain {
  double saved = 0.0;   ///< bytes that need not come from memory, less those of packing
  double missed = 0.0;  ///< uses of x that still miss the cache
};

/// The uses of hubs are taken from all lines alike; in truth lines with hubs lose most, so that the others miss a
/// little more than said. \param lines, hubs counted of one in so many nonzeros \param hubs none: nothing is predicted
[[nodiscard]] HubGain gain_by_hubs(const UseCounts& lines, const MostUsed& hubs, const HubRules& rules,
                                   std::int64_t one_in);

/// Bytes that need not come from memory in a product with slots, less those of filling and reading them. A miss counts
/// memory_line_bytes, twice what is read, since reads from anywhere are slower. \param missed uses of x per product
/// without slots, which are theirs as far as they go
[[nodiscard]] double saved_by_slots(std::int64_t slots, double missed, const HubRules& rules) noexcept;

/// What hub columns change in a product, per nonzero of the matrix, by a sample; zeros where none are expected.
struct HubForecast {
  double spared = 0.0;  ///< reads of x from memory, less what packing costs, in such reads
  double staged = 0.0;  ///< nonzeros that find x in shared memory
};

/// Where products read x at hubs: where it is, packed, or packed and the most used in shared memory.
enum class HubStorage { none, packed, staged };

/// The hubs as kernels see them.
struct HubArrays {
  const index_t* codes = nullptr;    ///< per nonzero; null: no column is a hub
  const index_t* columns = nullptr;  ///< of packed x: of slots, then of hubs
  index_t count = 0;                 ///< slots and hubs
  index_t staged = 0;                ///< the last ones, which have most uses

  [[nodiscard]] HubStorage storage() const noexcept {
    return count == 0 ? HubStorage::none : staged > 0 ? HubStorage::staged : HubStorage::packed;
  }
};

/// The hubs of a matrix, on a device.
struct HubColumns {
  Array<index_t> codes;    ///< per nonzero
  Array<index_t> columns;  ///< of slots, then of the hubs: ascending, the staged ones behind the others
  std::int64_t slots = 0;
  index_t staged = 0;      ///< the last hubs, which have most uses
  std::uint64_t uses = 0;  ///< nonzeros with the code of a hub

  [[nodiscard]] bool empty() const noexcept { return columns.empty(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return codes.bytes() + columns.bytes(); }
  [[nodiscard]] HubArrays arrays() const noexcept {
    if (empty()) return {};
    return {codes.data(), columns.data(), static_cast<index_t>(columns.size()), staged};
  }
};

/// Part of a sentence.
[[nodiscard]] std::string describe_hubs(const HubColumns& hubs);

/// Counts a sample of the nonzeros; where another sample confirms that its hubs save enough, all of them. O(nnz + cols)
/// work; 4 bytes per nonzero and per slot, and for a time 5 per column, 16 per hub, and 8 per block of columns and 2048
/// nonzeros. Waits. \param row_offsets, columns on the device \returns none where packing does not pay
/// \throws CudaError, OutOfMemory
[[nodiscard]] HubColumns find_hub_columns(index_t cols, std::span<const offset_t> row_offsets,
                                          std::span<const index_t> columns, const HubRules& rules,
                                          const Device& device);

/// What find_hub_columns() would do, by its samples alone: an eighth of the nonzeros. O(nnz + cols) work; for a time 4
/// bytes per column. Waits. \param row_offsets, columns on the device \returns zeros for a matrix too small to be
/// sampled \throws CudaError, OutOfMemory
[[nodiscard]] HubForecast forecast_hub_columns(index_t cols, std::span<const offset_t> row_offsets,
                                               std::span<const index_t> columns, const HubRules& rules,
                                               const Device& device);

}  // namespace tessera::cuda
