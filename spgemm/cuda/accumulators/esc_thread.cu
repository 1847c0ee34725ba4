#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/block_output.cuh"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/sort.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
/// Blocks for which an SM has registers.
template <int E>
inline constexpr int resident_blocks = E > 16 ? 4 : 6;

/// Shared memory of a block: product k of a thread lies `threads` after its product k - 1; afterwards the block's
/// entries, one row after the other. \tparam E products of a thread
template <int E, class Key, class V>
struct ThreadProducts {
  static constexpr std::size_t value_bytes = has_values<V> ? threads * E * sizeof(V) : 0;
  static constexpr std::size_t bytes = value_bytes + threads * E * sizeof(Key);

  V* values = nullptr;
  Key* keys = nullptr;

  __device__ static ThreadProducts of_block() {
    unsigned char* const begin = dynamic_shared_memory();
    return {reinterpret_cast<V*>(begin), reinterpret_cast<Key*>(begin + value_bytes)};
  }
  [[nodiscard]] __device__ static unsigned slot(int k) { return static_cast<unsigned>(k) * threads + threadIdx.x; }
};

/// The row of this thread; without entries of A where there is none.
template <class Key>
struct ThreadRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< of A's row
  offset_t end = 0;
  OffsetKeys<Key> keys;
};

template <int E, class Key>
__device__ ThreadRow<Key> row_of_thread(const RowBatch& batch, const offset_t* a_offsets) {
  ThreadRow<Key> row;
  // Unsigned, so that the rows of the last block beyond 2^31 do not overflow.
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  row.exists = i < static_cast<unsigned>(batch.count);
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.end = __ldg(a_offsets + row.number + 1);
  row.keys = {__ldg(batch.facts.first_columns + row.number), E == 8 ? 3 : E == 16 ? 4 : 5};
  return row;
}

/// Writes the products of a row. \returns how many
template <int E, class Key, class V>
__device__ int expand(const Factors<V>& factors, const ThreadRow<Key>& row, const ThreadProducts<E, Key, V>& products) {
  int count = 0;
#pragma unroll 1
  for (offset_t k = row.begin; k < row.end; ++k) {
    const index_t b_row = __ldg(factors.a_columns + k);
    const auto begin = static_cast<std::uint32_t>(__ldg(factors.b_offsets + b_row));
    const auto end = static_cast<std::uint32_t>(__ldg(factors.b_offsets + b_row + 1));
    [[maybe_unused]] V scale{};
    if constexpr (has_values<V>) scale = value_at(factors.a_values, k);
#pragma unroll 1
    for (std::uint32_t at = begin; at < end; ++at, ++count) {
      products.keys[products.slot(count)] = row.keys.key(__ldg(factors.b_columns + at), count);
      if constexpr (has_values<V>) {
        products.values[products.slot(count)] = product_of(scale, value_at(factors.b_values, at));
      }
    }
  }
  return count;
}

/// A row in registers. Bit i of `heads`: product i of the sorted ones begins an entry.
template <int E, class Key, class V>
struct SortedProducts {
  Key keys[E];
  V values[E];
  unsigned heads = 0;
};

template <int E, class Key, class V>
__device__ void sort_row(const OffsetKeys<Key>& numbering, const ThreadProducts<E, Key, V>& products, int count,
                         SortedProducts<E, Key, V>& row) {
#pragma unroll
  for (int i = 0; i < E; ++i) row.keys[i] = i < count ? products.keys[products.slot(i)] : OffsetKeys<Key>::none;
  sort_in_lanes(row.keys);
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if (i >= count) continue;
    if constexpr (has_values<V>) row.values[i] = products.values[products.slot(numbering.offset(row.keys[i]))];
    const bool head =
        i == 0 || numbering.column_part(row.keys[i]) != numbering.column_part(row.keys[i > 0 ? i - 1 : 0]);
    if (head) row.heads |= 1u << i;
  }
}

/// Writes the entries of a row from `offset` on, each the sum of its products in the order of their offsets.
template <int E, class Key, class V>
__device__ void contract(const OffsetKeys<Key>& numbering, const SortedProducts<E, Key, V>& row, int count,
                         const Entries<V>& to, int offset) {
  --offset;
  [[maybe_unused]] V sum{};
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if (i >= count) continue;
    if ((row.heads >> i & 1) != 0) to.columns[++offset] = numbering.column(row.keys[i]);
    if constexpr (has_values<V>) {
      sum = (row.heads >> i & 1) != 0 ? row.values[i] : sum_of(sum, row.values[i]);
      to.values[offset] = sum;
    }
  }
}

/// Writes the products of the row of this thread and sorts them. \returns how many these are
template <int E, class Key, class V>
__device__ int expand_and_sort(const Factors<V>& factors, const ThreadRow<Key>& row,
                               const ThreadProducts<E, Key, V>& products, SortedProducts<E, Key, V>& sorted) {
  const int count = expand(factors, row, products);
  sort_row(row.keys, products, count, sorted);
  return count;
}

template <int E>
__global__ void __launch_bounds__(threads, resident_blocks<E>)
    esc_thread_count_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out) {
  using Key = std::uint32_t;
  const ThreadRow<Key> row = row_of_thread<E, Key>(batch, factors.a_offsets);
  SortedProducts<E, Key, NoValue> sorted;
  expand_and_sort(factors, row, ThreadProducts<E, Key, NoValue>::of_block(), sorted);
  if (row.exists) out.counts[row.number] = __popc(sorted.heads);
}

/// Offsets of the rows of a block in their output. Every thread must call; all have read their products on return.
template <Phase P, class Key, class V>
__device__ BlockOffsets offsets_of_block(const RowOutput<V>& out, const RowBatch& batch, const ThreadRow<Key>& row,
                                         int entries) {
  if constexpr (P == Phase::numeric_allocating) {
    return allocated_offsets<threads>(out, row.exists, row.number, entries);
  } else {
    const BlockEntries in_block = entries_in_block<threads>(entries);
    BlockOffsets offsets{entries, no_offset, in_block.before, in_block.total};
    if (row.exists) offsets.offset = out.starts[row.number];
    offsets.in_one_piece = batch.rows == nullptr;
    if (offsets.in_one_piece) offsets.first = out.starts[offset_t{blockIdx.x} * threads];
    return offsets;
  }
}

/// Rows go through shared memory, where their entries replace the products.
template <Phase P, int E, class Key, class V>
__global__ void __launch_bounds__(threads, resident_blocks<E>)
    esc_thread_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out) {
  const ThreadRow<Key> row = row_of_thread<E, Key>(batch, factors.a_offsets);
  const auto products = ThreadProducts<E, Key, V>::of_block();
  SortedProducts<E, Key, V> sorted;
  const int count = expand_and_sort(factors, row, products, sorted);
  const BlockOffsets offsets = offsets_of_block<P>(out, batch, row, __popc(sorted.heads));
  const Entries<V> stage{reinterpret_cast<index_t*>(products.keys), products.values};
  contract(row.keys, sorted, count, stage, static_cast<int>(offsets.before));
  copy_block<threads>(Entries<V>{out.columns, out.values}, stage, offsets);
}

template <int E, class Key, class V, class Kernel>
void launch_threads(const Context& context, Kernel kernel, const Factors<V>& factors, const RowBatch& batch,
                    const RowOutput<V>& out) {
  const std::size_t bytes = ThreadProducts<E, Key, V>::bytes;
  allow_shared_bytes(kernel, bytes);
  set_carve_out(kernel, bytes, resident_blocks<E>, context.limits());
  launch("sorting rows by threads", context, Grid{blocks_for(batch.count, threads), threads, bytes}, kernel, factors,
         batch, out);
}

template <int E, class V>
void launch_phase(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out) {
  using Short = std::uint32_t;
  using Long = std::uint64_t;
  if (phase == Phase::symbolic) {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    launch_threads<E, Short>(context, esc_thread_count_kernel<E>, positions_of(factors), batch, counts);
  } else if (phase == Phase::numeric) {
    launch_threads<E, Short>(context, esc_thread_kernel<Phase::numeric, E, Short, V>, factors, batch, out);
  } else if (short_keys(batch.widest, esc_thread_products)) {
    launch_threads<E, Short>(context, esc_thread_kernel<Phase::numeric_allocating, E, Short, V>, factors, batch, out);
  } else {
    launch_threads<E, Long>(context, esc_thread_kernel<Phase::numeric_allocating, E, Long, V>, factors, batch, out);
  }
}

}  // namespace

template <class V>
void enqueue_esc_threads(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                         const RowOutput<V>& out) {
  if (batch.count == 0) return;
  if (batch.most_products <= 8) return launch_phase<8>(context, phase, factors, batch, out);
  if (batch.most_products <= 16) return launch_phase<16>(context, phase, factors, batch, out);
  launch_phase<esc_thread_products>(context, phase, factors, batch, out);
}

template void enqueue_esc_threads(const Context&, Phase, const Factors<double>&, const RowBatch&,
                                  const RowOutput<double>&);
template void enqueue_esc_threads(const Context&, Phase, const Factors<float>&, const RowBatch&,
                                  const RowOutput<float>&);
template void enqueue_esc_threads(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                                  const RowOutput<NoValue>&);

}  // namespace tessera::cuda
