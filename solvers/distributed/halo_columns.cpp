/// Halo columns: marks by threads, numbers in ascending order.
#include "solvers/distributed/halo_columns.hpp"

#include <algorithm>
#include <atomic>

namespace tessera::detail {

std::vector<index_t> HaloColumns::rows_for(const HaloColumns& of_other, const Partition& partition, int part) {
  const auto at = static_cast<std::size_t>(part);
  std::vector<index_t> rows(of_other.halo.begin() + of_other.halo_offsets[at],
                            of_other.halo.begin() + of_other.halo_offsets[at + 1]);
  for (index_t& row : rows) row -= partition.first_row(part);
  return rows;
}

void HaloColumns::find_offsets(const Partition& partition) {
  for (int part = 0; part <= partition.parts(); ++part) {
    const auto begin = std::lower_bound(halo.begin(), halo.end(), partition.first_row(part));
    halo_offsets.push_back(static_cast<index_t>(begin - halo.begin()));
  }
}

void describe_halo(const ExchangeLists& lists, DevicePart& part) {
  part.halo = lists.halo_offsets.back();
  for (const std::vector<index_t>& rows : lists.rows_for) part.sent += static_cast<index_t>(rows.size());
  for (std::size_t other = 0; other + 1 < lists.halo_offsets.size(); ++other) {
    if (lists.halo_offsets[other] < lists.halo_offsets[other + 1]) ++part.neighbours;
  }
}

void HaloFinder::mark(std::span<const index_t> columns) {
  for (const index_t column : columns) {
    std::atomic_ref<index_t>(slot_[static_cast<std::size_t>(column)]).store(1, std::memory_order_relaxed);
  }
}

void HaloFinder::mark_all(index_t first, index_t last) { std::fill(slot_.begin() + first, slot_.begin() + last, 1); }

HaloColumns HaloFinder::number(const Partition& partition) {
  HaloColumns result;
  for (std::size_t column = 0; column < slot_.size(); ++column) {
    if (slot_[column] == 0) continue;
    slot_[column] = static_cast<index_t>(result.halo.size());
    result.halo.push_back(static_cast<index_t>(column));
  }
  result.find_offsets(partition);
  return result;
}

}  // namespace tessera::detail
