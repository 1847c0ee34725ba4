/// \file
/// Row sums of the multigrid cycle by row lists: a layout of cycle_kernel.cuh. Entries are added in the order of the
/// row, as in sliced ELL, with the same bits.
#pragma once

#include "solvers/amg/cycle_kernel.cuh"
#include "solvers/amg/cycle_row_lists.hpp"

#include <cstdint>

namespace tessera::cuda {

/// A thread per row. Most threads of a warp read one list, from the L1 cache; values that do not repeat come from
/// sliced ELL without columns.
template <class V>
struct AmgListedRows {
  using Value = V;
  struct Row : AmgThreadRow<V, AmgReuse::none> {
    const AmgListEntry<V>* list = nullptr;  ///< its first entry
    const V* slots = nullptr;               ///< its first value in sliced ELL
  };
  index_t rows;
  int stride;
  const AmgListEntry<V>* entries;
  const std::uint8_t* codes;
  const std::uint32_t* starts;  ///< of sliced ELL
  const V* values;              ///< in sliced ELL; null: those of the lists

  [[nodiscard]] unsigned tiles() const { return blocks_for(rows, amg_threads); }

  __device__ Row prefetch(unsigned tile) const {
    Row row;
    const unsigned i = tile * amg_threads + threadIdx.x;
    row.index = static_cast<index_t>(i);
    row.stores = i < static_cast<unsigned>(rows);
    if (!row.stores) return row;
    if (values != nullptr) row.slots = values + starts[i / slice_rows] + threadIdx.x % slice_rows;
    const AmgListEntry<V>* const list = entries + __ldcs(codes + i) * stride;
    row.list = list + 1;
    row.end = static_cast<std::uint32_t>(list->column);
    load(row);
    return row;
  }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    V sum{0};
    while (row.k < row.end) {
      row.entries.add(sum, x, row.k, row.end, 1);
      row.k += amg_entries_in_flight;
      load(row);
    }
    return sum;
  }

 private:
  __device__ void load(Row& row) const {
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      const std::uint32_t k = row.k + static_cast<std::uint32_t>(u);
      if (k >= row.end) continue;
      const AmgListEntry<V> entry = row.list[k];
      row.entries.column[u] = row.index + entry.column;
      row.entries.value[u] = row.slots == nullptr ? entry.value : __ldcs(row.slots + std::size_t{k} * slice_rows);
    }
  }
};

}  // namespace tessera::cuda
