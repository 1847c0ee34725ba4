#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/block_claim.cuh"
#include "spgemm/cuda/carve_out.cuh"
#include "spgemm/esc/levels_cuda.hpp"
#include "spgemm/esc/place_key.cuh"
#include "spgemm/esc/warp_sort.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int threads = 128;
/// Blocks for which a multiprocessor has registers.
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

/// The row of this thread; one without entries of A when there is none.
template <class Key>
struct ThreadRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< of A's row
  offset_t end = 0;
  PlaceKeys<Key> keys;
};

template <int E, class Key>
__device__ ThreadRow<Key> row_of_thread(const RowBatch& batch, const offset_t* a_offsets) {
  ThreadRow<Key> row;
  // Without a sign, the last block's rows beyond 2^31 have numbers, too.
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
    const index_t list = __ldg(factors.a_columns + k);
    const auto begin = static_cast<std::uint32_t>(__ldg(factors.b_offsets + list));
    const auto end = static_cast<std::uint32_t>(__ldg(factors.b_offsets + list + 1));
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
__device__ void sort_row(const PlaceKeys<Key>& numbering, const ThreadProducts<E, Key, V>& products, int count,
                         SortedProducts<E, Key, V>& row) {
#pragma unroll
  for (int i = 0; i < E; ++i) row.keys[i] = i < count ? products.keys[products.slot(i)] : PlaceKeys<Key>::none;
  sort_in_lanes(row.keys);
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if (i >= count) continue;
    if constexpr (has_values<V>) row.values[i] = products.values[products.slot(numbering.place(row.keys[i]))];
    const bool head =
        i == 0 || numbering.column_part(row.keys[i]) != numbering.column_part(row.keys[i > 0 ? i - 1 : 0]);
    if (head) row.heads |= 1u << i;
  }
}

/// Writes the entries of a row from `place` on, each the sum of its products in the order of their places.
template <int E, class Key, class V>
__device__ void contract(const PlaceKeys<Key>& numbering, const SortedProducts<E, Key, V>& row, int count,
                         index_t* columns, [[maybe_unused]] V* values, offset_t place) {
  --place;
  [[maybe_unused]] V sum{};
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if (i >= count) continue;
    if ((row.heads >> i & 1) != 0) columns[++place] = numbering.column(row.keys[i]);
    if constexpr (has_values<V>) {
      sum = (row.heads >> i & 1) != 0 ? row.values[i] : sum_of(sum, row.values[i]);
      values[place] = sum;
    }
  }
}

/// Rows of a block through shared memory to one piece of the room. Every thread must call, once nobody reads products
/// any more.
template <int E, class Key, class V>
__device__ void write_piece(const PlaceKeys<Key>& numbering, const SortedProducts<E, Key, V>& row, int count,
                            const BlockEntries& in_block, const ThreadProducts<E, Key, V>& stage,
                            const RowOutput<V>& out, offset_t first) {
  auto* const columns = reinterpret_cast<index_t*>(stage.keys);
  contract(numbering, row, count, columns, stage.values, in_block.before);
  __syncthreads();
  if (first == no_place) return;
  for (int i = static_cast<int>(threadIdx.x); i < in_block.total; i += threads) {
    out.columns[first + i] = columns[i];
    if constexpr (has_values<V>) out.values[first + i] = stage.values[i];
  }
}

template <int E, class Key, class V>
__global__ void __launch_bounds__(threads, resident_blocks<E>)
    esc_thread_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out) {
  const ThreadRow<Key> row = row_of_thread<E, Key>(batch, factors.a_offsets);
  const auto products = ThreadProducts<E, Key, V>::of_block();
  const int count = expand(factors, row, products);
  SortedProducts<E, Key, V> sorted;
  sort_row(row.keys, products, count, sorted);
  const int entries = __popc(sorted.heads);
  const BlockEntries in_block = entries_in_block<threads>(entries);  // all have read their products
  if (out.starts == nullptr) {
    const offset_t first = claim_for_block(out, in_block.total);
    if (row.exists) take_of_block(out, row.number, entries, first, in_block.before);
    write_piece(row.keys, sorted, count, in_block, products, out, first);
  } else if (row.exists) {
    const offset_t place = claim_place(out, row.number, entries);
    if (place != no_place) contract(row.keys, sorted, count, out.columns, out.values, place);
  }
}

template <int E, class Key, class V>
void launch_threads(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const auto kernel = esc_thread_kernel<E, Key, V>;
  const std::size_t bytes = ThreadProducts<E, Key, V>::bytes;
  allow_shared_bytes(kernel, bytes);
  set_carve_out(kernel, bytes, resident_blocks<E>);
  launch("sorting rows by threads", context, Grid{blocks_for(batch.count, threads), threads, bytes}, kernel, factors,
         batch, out);
}

template <class Key, class V>
void launch_keys(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if (batch.most_products <= 8) return launch_threads<8, Key>(context, factors, batch, out);
  if (batch.most_products <= 16) return launch_threads<16, Key>(context, factors, batch, out);
  launch_threads<esc_thread_products, Key>(context, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_esc_threads(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                         const RowOutput<V>& out) {
  if (batch.count == 0) return;
  if (short_keys(batch.widest, esc_thread_products)) {
    launch_keys<std::uint32_t>(context, factors, batch, out);
  } else {
    launch_keys<std::uint64_t>(context, factors, batch, out);
  }
}

template void enqueue_esc_threads(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc_threads(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc_threads(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
