/// \file
/// The halo of a part of a matrix: the distinct columns of other parts in which its rows have entries.
#pragma once

#include "tessera/several_devices.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::detail {

struct HaloColumns {
  std::vector<index_t> halo;  ///< columns of the matrix, ascending
  /// Where the halo of every part begins in `halo`, and its size.
  std::vector<index_t> halo_offsets;

  /// Fills halo_offsets. O(parts log halo)
  void find_offsets(const Partition& partition);
  /// Own rows that part `other` needs, in the order of its halo. \param of_other its block
  [[nodiscard]] static std::vector<index_t> rows_for(const HaloColumns& of_other, const Partition& partition, int part);
};

/// Who gets and who gives.
struct ExchangeLists {
  std::vector<std::vector<index_t>> rows_for;  ///< per rank: own rows that it needs, in the order of its halo
  std::vector<index_t> halo_offsets;           ///< per rank: where its elements begin in the own halo; then the size
};

/// \param blocks of all ranks, each with HaloColumns
template <class Block>
[[nodiscard]] ExchangeLists lists_of(const std::vector<Block>& blocks, const Partition& partition, int rank) {
  ExchangeLists lists;
  for (const Block& other : blocks) lists.rows_for.push_back(HaloColumns::rows_for(other, partition, rank));
  lists.halo_offsets = blocks[static_cast<std::size_t>(rank)].halo_offsets;
  return lists;
}

/// What a part says of its halo.
void describe_halo(const ExchangeLists& lists, DevicePart& part);

/// Finds the halo of a part: mark() every entry in a column of others, number(), then slot().
class HaloFinder {
 public:
  explicit HaloFinder(index_t columns) : slot_(static_cast<std::size_t>(columns), 0) {}

  /// Several threads may mark one column.
  void mark(std::span<const index_t> columns);
  void mark_all(index_t first, index_t last);
  [[nodiscard]] bool is_marked(index_t column) const { return slot_[static_cast<std::size_t>(column)] != 0; }
  /// Once. O(columns)
  [[nodiscard]] HaloColumns number(const Partition& partition);
  /// Of a marked column: its number in the halo. After number().
  [[nodiscard]] index_t slot(index_t column) const { return slot_[static_cast<std::size_t>(column)]; }

 private:
  std::vector<index_t> slot_;  ///< per column: 1 where it is marked, then its number
};

}  // namespace tessera::detail
