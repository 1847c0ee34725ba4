/// \file
/// Kernels of the multigrid cycle: row sums in several layouts, with the operations of cycle_ops.hpp on top.
///
/// Each kernel lets the next one start at once, loads the first entries of its rows (which no kernel of a cycle
/// writes), and only then waits for the kernel before it: on small levels, whose kernels take a few microseconds, this
/// hides much of the time from one launch to the next.
///
/// A layout gives row sums by tiles of a block's threads:
///   Row prefetch(tile);           the row of this thread, with the first of its entries
///   V   sum(Row&, gather);        its sum, in the thread whose `stores` is set
/// A raking layout (CUB's word), whose blocks take several tiles side by side, splits prefetch(tile) in two; the first
/// part runs a tile ahead:
///   auto peek(tile);              what has to be known before entries can be loaded
///   Row  prefetch(tile, known);
#pragma once

#include "core/cuda/dependent_launch.cuh"
#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "solvers/amg/cycle_layout.hpp"
#include "solvers/amg/cycle_ops.hpp"

#include <cstdint>
#include <type_traits>

namespace tessera::cuda {

inline constexpr int amg_threads = 256;

/// Whether a matrix is expected in the second-level cache when the next cycle comes.
enum class AmgReuse { none, likely };

template <AmgReuse Reuse, class E>
__device__ E load_entry_of(const E* from) {
  if constexpr (Reuse == AmgReuse::none) {
    return __ldcs(from);
  } else {
    return *from;
  }
}

/// Entries of a row that are on their way.
template <class V, AmgReuse Reuse>
struct AmgEntries {
  index_t column[amg_entries_in_flight];
  V value[amg_entries_in_flight];

  /// Entries k, k + stride, ... below `end`.
  __device__ void load(const index_t* columns, const V* values, std::uint32_t k, std::uint32_t end, int stride) {
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      const std::uint32_t entry = k + static_cast<std::uint32_t>(u * stride);
      if (entry >= end) continue;
      column[u] = load_entry_of<Reuse>(columns + entry);
      value[u] = load_entry_of<Reuse>(values + entry);
    }
  }
  /// The same entries times x, added to `sum`.
  template <class Gather>
  __device__ void add(V& sum, const Gather& x, std::uint32_t k, std::uint32_t end, int stride) const {
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      if (k + static_cast<std::uint32_t>(u * stride) < end) sum += value[u] * x.at(column[u]);
    }
  }
};

/// The row of a thread: entries k, k + stride, ... below `end`.
template <class V, AmgReuse Reuse>
struct AmgThreadRow {
  index_t index = 0;
  bool stores = false;
  std::uint32_t k = 0;
  std::uint32_t end = 0;
  AmgEntries<V, Reuse> entries;
};

/// Sum of a thread's entries, `entries` being loaded.
template <class V, AmgReuse Reuse, class Gather>
__device__ V sum_of_entries(AmgThreadRow<V, Reuse>& row, const index_t* columns, const V* values, int stride,
                            const Gather& x) {
  V sum{0};
  while (row.k < row.end) {
    row.entries.add(sum, x, row.k, row.end, stride);
    row.k += static_cast<std::uint32_t>(amg_entries_in_flight * stride);
    row.entries.load(columns, values, row.k, row.end, stride);
  }
  return sum;
}

/// Sliced ELL: a thread per row. \tparam Raking see above
template <class V, bool Raking = false>
struct AmgSlicedRows {
  using Value = V;
  using Row = AmgThreadRow<V, AmgReuse::none>;
  /// Entries of the thread's row: first, and the end of its slice.
  struct EntryRange {
    std::uint32_t k = 0;
    std::uint32_t end = 0;
  };
  index_t rows;
  const std::uint32_t* starts;
  const index_t* columns;
  const V* values;

  [[nodiscard]] unsigned tiles() const { return blocks_for(rows, amg_threads); }

  __device__ EntryRange peek(unsigned tile) const {
    const unsigned slice = tile * (amg_threads / slice_rows) + threadIdx.x / slice_rows;
    if (slice * slice_rows >= static_cast<unsigned>(rows)) return {};
    return {starts[slice] + threadIdx.x % slice_rows, starts[slice + 1]};
  }
  __device__ Row prefetch(unsigned tile, const EntryRange& range) const {
    Row row;
    const unsigned i = tile * amg_threads + threadIdx.x;
    row.index = static_cast<index_t>(i);
    row.stores = i < static_cast<unsigned>(rows);
    row.k = range.k;
    row.end = range.end;
    row.entries.load(columns, values, row.k, row.end, slice_rows);
    return row;
  }
  __device__ Row prefetch(unsigned tile) const { return prefetch(tile, peek(tile)); }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    return sum_of_entries(row, columns, values, slice_rows, x);
  }
};

/// CSR: 2^lanes_log2 lanes per row. \tparam HasLongRows whether blocks look for rows that all their threads sum
template <class V, bool HasLongRows>
struct AmgLaneRows {
  using Value = V;
  struct Row : AmgThreadRow<V, AmgReuse::likely> {
    bool is_long = false;
  };
  index_t rows;
  int lanes_log2;
  const std::uint32_t* offsets;
  const index_t* columns;
  const V* values;

  [[nodiscard]] unsigned tiles() const { return blocks_for(rows, amg_threads >> lanes_log2); }

  __device__ Row prefetch(unsigned tile) const {
    Row row;
    const unsigned lane = threadIdx.x & ((1u << lanes_log2) - 1);
    const unsigned i = tile * (amg_threads >> lanes_log2) + (threadIdx.x >> lanes_log2);
    const bool exists = i < static_cast<unsigned>(rows);
    row.index = static_cast<index_t>(i);
    row.stores = exists && lane == 0;
    if (exists) {
      row.k = offsets[i] + lane;
      row.end = offsets[i + 1];
      if constexpr (HasLongRows) {
        row.is_long = row.end - row.k + lane > amg_long_row;
        if (row.is_long) row.k = row.end;
      }
    }
    row.entries.load(columns, values, row.k, row.end, 1 << lanes_log2);
    return row;
  }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    V sum = sum_over_lanes(sum_of_entries(row, columns, values, 1 << lanes_log2, x), 1 << lanes_log2);
    if constexpr (HasLongRows) {
      if (__syncthreads_count(row.is_long) > 0) sum_long_rows(row, x, sum);
    }
    return sum;
  }

 private:
  /// Every thread of the block calls it.
  template <class Gather>
  __device__ void sum_long_rows(const Row& row, const Gather& x, V& sum) const {
    __shared__ unsigned count;
    __shared__ unsigned owner[amg_threads];
    __shared__ V total;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    // In any order: each row is summed by itself.
    if (row.is_long && row.stores) owner[atomicAdd(&count, 1u)] = threadIdx.x;
    __syncthreads();
    const index_t first = row.index - static_cast<index_t>(threadIdx.x >> lanes_log2);
    for (unsigned q = 0; q < count; ++q) {
      const index_t i = first + static_cast<index_t>(owner[q] >> lanes_log2);
      AmgThreadRow<V, AmgReuse::likely> part;
      part.k = offsets[i] + threadIdx.x;
      part.end = offsets[i + 1];
      part.entries.load(columns, values, part.k, part.end, amg_threads);
      const V of_block = add_up_block<amg_threads>(sum_of_entries(part, columns, values, amg_threads, x));
      if (threadIdx.x == 0) total = of_block;
      __syncthreads();
      if (threadIdx.x == owner[q]) sum = total;
      __syncthreads();
    }
  }
};

/// Dense, row-major: a warp per row.
template <class V>
struct AmgDenseRows {
  using Value = V;
  index_t rows;
  const V* values;
  struct Row {
    index_t index = 0;
    bool stores = false;
    const V* row = nullptr;
    V value[amg_entries_in_flight];
  };

  [[nodiscard]] unsigned tiles() const { return blocks_for(rows, amg_threads / warp_size); }

  __device__ Row prefetch(unsigned tile) const {
    Row row;
    const unsigned i = tile * (amg_threads / warp_size) + threadIdx.x / warp_size;
    const bool exists = i < static_cast<unsigned>(rows);
    row.index = static_cast<index_t>(i);
    row.stores = exists && threadIdx.x % warp_size == 0;
    if (exists) row.row = values + std::int64_t{i} * rows;
    load(row, static_cast<int>(threadIdx.x % warp_size));
    return row;
  }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    V sum{0};
    if (row.row != nullptr) {
      for (int j = static_cast<int>(threadIdx.x % warp_size); j < rows;) {
#pragma unroll
        for (int u = 0; u < amg_entries_in_flight; ++u) {
          if (j + u * warp_size < rows) sum += row.value[u] * x.at(j + u * warp_size);
        }
        j += amg_entries_in_flight * warp_size;
        load(row, j);
      }
    }
    return sum_over_lanes(sum);
  }

 private:
  __device__ void load(Row& row, int j) const {
#pragma unroll
    for (int u = 0; u < amg_entries_in_flight; ++u) {
      if (row.row != nullptr && j + u * warp_size < rows) row.value[u] = row.row[j + u * warp_size];
    }
  }
};

/// CSR: the products of 256 rows in order of storage, by all threads of a block, then a thread per row adds them up.
template <class V>
struct AmgStreamedRows {
  using Value = V;
  static constexpr int chunk = amg_threads * amg_entries_in_flight;
  index_t rows;
  const std::uint32_t* offsets;
  const index_t* columns;
  const V* values;
  struct Row {
    index_t index = 0;
    bool stores = false;
    std::uint32_t begin = 0;  ///< of the row
    std::uint32_t end = 0;
    std::uint32_t tile_begin = 0;
    std::uint32_t tile_end = 0;
    AmgEntries<V, AmgReuse::none> entries;
  };

  [[nodiscard]] unsigned tiles() const { return blocks_for(rows, amg_threads); }

  __device__ Row prefetch(unsigned tile) const {
    Row row;
    const unsigned first = tile * amg_threads;
    const unsigned last = min(first + amg_threads, static_cast<unsigned>(rows));
    const unsigned i = first + threadIdx.x;
    row.index = static_cast<index_t>(i);
    row.stores = i < last;
    row.tile_begin = offsets[first];
    row.tile_end = offsets[last];
    if (row.stores) {
      row.begin = offsets[i];
      row.end = offsets[i + 1];
    }
    row.entries.load(columns, values, row.tile_begin + threadIdx.x, row.tile_end, amg_threads);
    return row;
  }
  template <class Gather>
  __device__ V sum(Row& row, const Gather& x) const {
    __shared__ V products[chunk];
    V sum{0};
    for (std::uint32_t t = row.tile_begin; t < row.tile_end; t += chunk) {
      const std::uint32_t k = t + threadIdx.x;
#pragma unroll
      for (int u = 0; u < amg_entries_in_flight; ++u) {
        if (k + u * amg_threads < row.tile_end) {
          products[threadIdx.x + u * amg_threads] = row.entries.value[u] * x.at(row.entries.column[u]);
        }
      }
      __syncthreads();
      const std::uint32_t stop = min(row.end, t + chunk);
      for (std::uint32_t p = max(row.begin, t); p < stop; ++p) sum += products[p - t];
      __syncthreads();
      row.entries.load(columns, values, k + chunk, row.tile_end, amg_threads);
    }
    return sum;
  }
};

/// Tiles of a block.
template <class Layout>
inline constexpr unsigned amg_tiles_per_block = 1;
template <class V>
inline constexpr unsigned amg_tiles_per_block<AmgSlicedRows<V, true>> = amg_raked_tiles;

/// Blocks per multiprocessor that registers must allow; 0: as the compiler likes. Measured (bench/NOTES.md): with these
/// a kernel spills 16 bytes at most; with more blocks it takes longer for what it spills.
template <class Layout>
inline constexpr int amg_min_blocks = 0;
template <>
inline constexpr int amg_min_blocks<AmgSlicedRows<float, true>> = 7;

/// The operation on the rows of a tile. \param row of this thread, prefetched
template <class Layout, class Gather, class Op>
__device__ void apply_to_tile(const Layout& layout, typename Layout::Row row, const Gather& x, const Op& op,
                              typename Op::Sums& sums) {
  typename Op::Constants constants{};
  if (row.stores) constants = op.constants(row.index);
  wait_for_previous_kernel();
  typename Op::Loaded loaded{};
  if (row.stores) loaded = op.load(row.index);
  const typename Layout::Value sum = layout.sum(row, x);
  if (row.stores) op.apply(row.index, sum, constants, loaded, sums);
}

/// The operation on the tiles first, first + 1, ... of a block. Those past the last one have no rows.
template <class Layout, class Gather, class Op>
__device__ void apply_to_tiles(const Layout& layout, unsigned first, const Gather& x, const Op& op,
                               typename Op::Sums& sums) {
  constexpr unsigned each = amg_tiles_per_block<Layout>;
  if constexpr (each == 1) {
    apply_to_tile(layout, layout.prefetch(first), x, op, sums);
  } else {
    auto next = layout.peek(first);
#pragma unroll 1
    for (unsigned tile = first; tile < first + each; ++tile) {
      const auto known = next;
      if (tile + 1 < first + each) next = layout.peek(tile + 1);
      apply_to_tile(layout, layout.prefetch(tile, known), x, op, sums);
    }
  }
}

/// A block per tile, or per amg_tiles_per_block of them.
template <class Layout, class Gather, class Op>
__global__ void __launch_bounds__(amg_threads, amg_min_blocks<Layout>)
    amg_rows_kernel(const std::int32_t* halted, Layout layout, Gather x, Op op) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  typename Op::Sums none;
  apply_to_tiles(layout, blockIdx.x * amg_tiles_per_block<Layout>, x, op, none);
}

/// The same with sums: no more blocks than the GPU holds, so that few parts are to be added up.
template <class Layout, class Gather, class Op>
__global__ void __launch_bounds__(amg_threads, amg_min_blocks<Layout>)
    amg_sums_kernel(const std::int32_t* halted, Layout layout, unsigned tiles, Gather x, Op op,
                    typename Op::Sums* parts) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  typename Op::Sums sums{};
  constexpr unsigned each = amg_tiles_per_block<Layout>;
  for (unsigned first = blockIdx.x * each; first < tiles; first += gridDim.x * each) {
    apply_to_tiles(layout, first, x, op, sums);
  }
  sums = add_up_block<amg_threads>(sums);
  if (threadIdx.x == 0) parts[blockIdx.x] = sums;
}

/// An element operation.
template <class Op>
__global__ void __launch_bounds__(amg_threads) amg_elements_kernel(const std::int32_t* halted, index_t n, Op op) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  const unsigned i = blockIdx.x * amg_threads + threadIdx.x;
  const bool exists = i < static_cast<unsigned>(n);
  typename Op::Constants constants{};
  if (exists) constants = op.constants(static_cast<index_t>(i));
  wait_for_previous_kernel();
  if (exists) op.apply(static_cast<index_t>(i), constants, op.load(static_cast<index_t>(i)));
}

/// Scalars of a step of K from the parts of its sums. One block.
template <class Sums>
__global__ void __launch_bounds__(amg_threads)
    amg_scalars_kernel(const std::int32_t* halted, unsigned count, const Sums* parts, AmgKrylovScalars* scalars) {
  let_next_kernel_start();
  if (is_halted(halted)) return;
  wait_for_previous_kernel();
  Sums sums{};
  for (unsigned k = threadIdx.x; k < count; k += amg_threads) sums += parts[k];
  sums = add_up_block<amg_threads>(sums);
  if (threadIdx.x == 0) scalars->after(sums);
}

}  // namespace tessera::cuda
