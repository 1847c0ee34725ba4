/// \file
/// Row sums of the multigrid cycle by row lists: a layout of cycle_kernel.cuh. Entries are added in the order of the
/// row, as in sliced ELL, with the same bits.
#pragma once

#include "solvers/amg/cycle_kernel.cuh"
#include "solvers/amg/cycle_row_lists.hpp"

#include <cstdint>

namespace tessera::cuda {

/// A thread per row. Most threads of a warp read one list, from the L1 cache; values that do not repeat come from
/// sliced ELL without columns. Of a list amg_entries_in_flight entries are read at a time, past its end, too: there the
/// array goes on.
template <class V, bool Raking>
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

  /// The code of the thread's row.
  __device__ std::uint8_t peek(unsigned tile) const {
    const unsigned i = tile * amg_threads + threadIdx.x;
    return i < static_cast<unsigned>(rows) ? __ldcs(codes + i) : std::uint8_t{0};
  }

  __device__ Row prefetch(unsigned tile) const { return prefetch(tile, peek(tile)); }
  __device__ Row prefetch(unsigned tile, std::uint8_t code) const {
    Row row;
    const unsigned i = tile * amg_threads + threadIdx.x;
    row.index = static_cast<index_t>(i);
    row.stores = i < static_cast<unsigned>(rows);
    if (!row.stores) return row;
    if (values != nullptr) row.slots = values + starts[i / slice_rows] + threadIdx.x % slice_rows;
    const AmgListEntry<V>* const list = entries + code * stride;
    row.list = list + 1;
    row.end = static_cast<std::uint32_t>(list->column);
    load(row);
    return row;
  }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    V sum{0};
    if (row.k >= row.end) return sum;
    while (true) {
      row.entries.add(sum, x, row.k, row.end, 1);
      row.k += amg_entries_in_flight;
      if (row.k >= row.end) return sum;
      load(row);
    }
  }

 private:
  __device__ void load(Row& row) const {
    AmgListEntry<V> entry[amg_entries_in_flight];
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) entry[u] = row.list[row.k + static_cast<std::uint32_t>(u)];
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      row.entries.column[u] = row.index + entry[u].column;
      row.entries.value[u] = entry[u].value;
    }
    if (row.slots == nullptr) return;
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      const std::uint32_t k = row.k + static_cast<std::uint32_t>(u);
      if (k < row.end) row.entries.value[u] = __ldcs(row.slots + std::size_t{k} * slice_rows);
    }
  }
};

/// The rows before and after those of a tile in a grid lie in tiles nearby: a raking block finds their entries of x in
/// its first-level cache.
template <class V>
inline constexpr unsigned amg_tiles_per_block<AmgListedRows<V, true>> = amg_raked_tiles;
template <bool Raking>
inline constexpr int amg_min_blocks<AmgListedRows<float, Raking>> = 5;

}  // namespace tessera::cuda
