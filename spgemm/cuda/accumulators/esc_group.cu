// Expansion, sorting, contraction of a row of C by a group of threads, a warp or a block: products are expanded into
// shared memory, as many by each thread (Dalton, Olson & Bell, TOMS 2015).
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/sort.cuh"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

/// Sum over the threads of a group before this one. Every thread must call. \param total over all
/// \param of_warps in shared memory, one number per warp
template <int Threads>
[[nodiscard]] __device__ unsigned sum_before_in_group(unsigned value, unsigned& total, unsigned* of_warps) {
  if constexpr (ThreadGroup<Threads>::is_warp) {
    const unsigned up_to = sum_up_to_lane(value);
    total = __shfl_sync(full_warp, up_to, warp_size - 1);
    return up_to - value;
  } else {
    const BlockSum<unsigned> sum = running_sum_in_block<Threads, true>(value, of_warps);
    total = sum.total;
    return sum.before;
  }
}

/// Shared memory of a group. \tparam Each keys of a thread
template <int Threads, int Each, class Key, class V>
struct GroupMemory {
  static constexpr unsigned offsets = Threads * Each;

  /// \param products of the largest row
  [[nodiscard]] __host__ __device__ static constexpr std::size_t bytes(std::uint32_t products) {
    return esc_group_bytes(Threads, Each, sizeof(Key), has_values<V> ? sizeof(V) : 0, products);
  }

  Key* keys = nullptr;              ///< of the products, at spread() offsets
  V* values = nullptr;              ///< of the products, by offset
  V* scales = nullptr;              ///< staged entries of A
  offset_t* offset = nullptr;       ///< of the row
  std::uint32_t* starts = nullptr;  ///< of the staged rows of B: products of earlier ones
  std::uint32_t* begins = nullptr;  ///< of the staged rows of B: first entry
  unsigned* of_warps = nullptr;     ///< see sum_before_in_group
  std::uint16_t* heads = nullptr;   ///< of each entry of the row: the first of its sorted keys

  __device__ GroupMemory(unsigned char* at, std::uint32_t products) {
    keys = take<Key>(at, offsets + offsets / warp_size);
    if constexpr (has_values<V>) {
      values = take<V>(at, products);
      scales = take<V>(at, Threads);
      // Aligns what follows: the number of floats may be odd.
      at += sizeof(V) < sizeof(offset_t) ? products % 2 * sizeof(V) : 0;
    }
    offset = take<offset_t>(at, 1);
    starts = take<std::uint32_t>(at, Threads);
    begins = take<std::uint32_t>(at, Threads);
    of_warps = take<unsigned>(at, Threads / warp_size);
    heads = take<std::uint16_t>(at, products);
  }

 private:
  template <class X>
  [[nodiscard]] __device__ static X* take(unsigned char*& at, std::uint32_t count) {
    auto* const first = reinterpret_cast<X*>(at);
    at += count * sizeof(X);
    return first;
  }
};

/// \tparam V of the factors
template <int Threads, int Each, class Key, class V>
class GroupRow {
 public:
  using All = ThreadGroup<Threads>;
  using Memory = GroupMemory<Threads, Each, Key, V>;

  __device__ GroupRow(const Factors<V>& factors, const OffsetKeys<Key>& numbering, const Memory& memory)
      : factors_(factors), numbering_(numbering), memory_(memory) {}

  /// Writes the products of A's row, as many rows of B at once as the group has threads, and each thread as many
  /// products.
  __device__ void expand(offset_t begin, offset_t end) {
    for (offset_t first = begin; first < end; first += Threads) {
      const unsigned total = stage_b_rows(first, end);
      for (unsigned base = 0; base < total; base += Threads) {
        const unsigned q = base + All::thread();
        if (q < total) expand_product(q);
      }
      products_ += total;
    }
    All::sync();
  }

  /// Sorts the keys, and finds where entries begin.
  __device__ void sort() {
    const unsigned first = All::thread() * Each;
    Key keys[Each];
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      keys[i] = first + i < products_ ? memory_.keys[spread(first + i)] : OffsetKeys<Key>::none;
    }
    unsigned size = Each;
    while (size < products_) size *= 2;
    sort_group<Each, Threads>(keys, size, memory_.keys);
    All::sync();  // all have what they exchanged
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) memory_.keys[spread(first + i)] = keys[i];
    All::sync();
    find_heads(keys, first == 0 ? OffsetKeys<Key>::none : memory_.keys[spread(first - 1)]);
  }

  [[nodiscard]] __device__ unsigned entries() const { return entries_; }

  /// Writes the row, one thread per entry, whose products are added in the order of their offsets.
  __device__ void contract(const RowOutput<V>& out, offset_t offset) const {
    for (unsigned e = All::thread(); e < entries_; e += Threads) {
      const unsigned first = memory_.heads[e];
      const Key key = memory_.keys[spread(first)];
      out.columns[offset + e] = numbering_.column(key);
      if constexpr (has_values<V>) {
        const unsigned end = e + 1 < entries_ ? memory_.heads[e + 1] : products_;
        V sum = memory_.values[numbering_.offset(key)];
#pragma unroll 1
        for (unsigned i = first + 1; i < end; ++i) {
          sum = sum_of(sum, memory_.values[numbering_.offset(memory_.keys[spread(i)])]);
        }
        out.values[offset + e] = sum;
      }
    }
  }

 private:
  /// Stages the next rows of B, one per thread. \returns their products
  [[nodiscard]] __device__ unsigned stage_b_rows(offset_t first, offset_t end) {
    const unsigned thread = All::thread();
    const offset_t k = first + thread;
    All::sync();  // nobody reads the rows of B before these any more
    unsigned length = 0;
    if (k < end) {
      const index_t b_row = __ldg(factors_.a_columns + k);
      const auto begin = static_cast<std::uint32_t>(__ldg(factors_.b_offsets + b_row));
      length = static_cast<std::uint32_t>(__ldg(factors_.b_offsets + b_row + 1)) - begin;
      memory_.begins[thread] = begin;
      if constexpr (has_values<V>) memory_.scales[thread] = value_at(factors_.a_values, k);
    }
    unsigned total = 0;
    memory_.starts[thread] = sum_before_in_group<Threads>(length, total, memory_.of_warps);
    All::sync();
    return total;
  }

  /// Expands product q of the staged rows of B.
  __device__ void expand_product(unsigned q) {
    unsigned b_row = 0;  // the last one that begins at q or before: those without products end there, too
#pragma unroll
    for (unsigned step = Threads / 2; step > 0; step /= 2) {
      if (memory_.starts[b_row + step] <= q) b_row += step;
    }
    const std::uint32_t at = memory_.begins[b_row] + (q - memory_.starts[b_row]);
    const unsigned offset = products_ + q;
    memory_.keys[spread(offset)] = numbering_.key(__ldg(factors_.b_columns + at), static_cast<int>(offset));
    if constexpr (has_values<V>) {
      memory_.values[offset] = product_of(memory_.scales[b_row], value_at(factors_.b_values, at));
    }
  }

  /// \param before the key before this thread's first one
  __device__ void find_heads(const Key (&keys)[Each], Key before) {
    const unsigned first = All::thread() * Each;
    unsigned heads = 0;
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      const bool differs = numbering_.column_part(keys[i]) != numbering_.column_part(before);
      if (first + i < products_ && (first + i == 0 || differs)) heads |= 1u << i;
      before = keys[i];
    }
    unsigned entry = sum_before_in_group<Threads>(static_cast<unsigned>(__popc(heads)), entries_, memory_.of_warps);
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      if ((heads >> i & 1) != 0) memory_.heads[entry++] = static_cast<std::uint16_t>(first + i);
    }
    All::sync();
  }

  const Factors<V>& factors_;
  const OffsetKeys<Key>& numbering_;
  const Memory& memory_;
  unsigned products_ = 0;
  unsigned entries_ = 0;
};

/// Threads of a block: one group, or four warps.
template <int Threads>
inline constexpr int block_threads = Threads == warp_size ? 128 : Threads;

/// First entry of the row in the output buffer, for every thread, which must all call.
template <int Threads, class V>
__device__ offset_t output_offset_of_group(const RowOutput<V>& out, bool exists, index_t row, unsigned entries,
                                           offset_t* shared) {
  offset_t offset = no_offset;
  if (exists && ThreadGroup<Threads>::thread() == 0) offset = allocate_row(out, row, entries);
  if constexpr (ThreadGroup<Threads>::is_warp) {
    return __shfl_sync(full_warp, offset, 0);
  } else {
    if (threadIdx.x == 0) *shared = offset;
    __syncthreads();
    return *shared;
  }
}

/// \param products of the largest row
template <int Threads, int Each, class Key, class V>
__global__ void __launch_bounds__(block_threads<Threads>)
    esc_group_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, std::uint32_t products) {
  using Memory = GroupMemory<Threads, Each, Key, V>;
  constexpr int groups = block_threads<Threads> / Threads;
  const unsigned group = threadIdx.x / Threads;
  const unsigned i = blockIdx.x * groups + group;
  const bool exists = i < static_cast<unsigned>(batch.count);
  index_t row = 0;
  offset_t begin = 0;
  offset_t end = 0;
  OffsetKeys<Key> numbering;
  if (exists) {
    row = row_of(batch, static_cast<index_t>(i));
    begin = __ldg(factors.a_offsets + row);
    end = __ldg(factors.a_offsets + row + 1);
    numbering = {__ldg(batch.facts.first_columns + row), warp_size - __clz(static_cast<int>(Memory::offsets - 1))};
  }
  const Memory memory(dynamic_shared_memory() + group * Memory::bytes(products), products);
  GroupRow<Threads, Each, Key, V> sums(factors, numbering, memory);
  sums.expand(begin, end);
  sums.sort();
  const offset_t offset = output_offset_of_group<Threads>(out, exists, row, sums.entries(), memory.offset);
  if (offset != no_offset) sums.contract(out, offset);
}

template <int Threads, int Each, class Key, class V>
void launch_groups(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  using Memory = GroupMemory<Threads, Each, Key, V>;
  constexpr int groups = block_threads<Threads> / Threads;
  const auto kernel = esc_group_kernel<Threads, Each, Key, V>;
  // One product more for the row that has none.
  const std::uint32_t products = batch.most_products + 1;
  constexpr std::uint32_t most = Memory::offsets < esc_block_products ? Memory::offsets + 1 : esc_block_products + 1;
  allow_shared_bytes(kernel, groups * Memory::bytes(most));
  launch("sorting rows by groups", context,
         Grid{blocks_for(batch.count, groups), block_threads<Threads>, groups * Memory::bytes(products)}, kernel,
         factors, batch, out, products);
}

template <class Key, class V>
void launch_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if (batch.most_products <= 2048) return launch_groups<128, 16, Key>(context, factors, batch, out);
  if (batch.most_products <= 4096) return launch_groups<256, 16, Key>(context, factors, batch, out);
  launch_groups<512, 16, Key>(context, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_esc_warps(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                       const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const bool is_short = short_keys(batch.widest, std::bit_ceil(batch.most_products));
  if (is_short && batch.most_products <= esc_products) {
    enqueue_esc(context, Phase::numeric_allocating, factors, batch, out);
  } else if (is_short) {
    launch_groups<warp_size, 32, std::uint32_t>(context, factors, batch, out);
  } else if (batch.most_products <= 128) {
    launch_groups<warp_size, 4, std::uint64_t>(context, factors, batch, out);
  } else if (batch.most_products <= esc_products) {
    launch_groups<warp_size, 16, std::uint64_t>(context, factors, batch, out);
  } else {
    launch_groups<warp_size, 32, std::uint64_t>(context, factors, batch, out);
  }
}

template <class V>
void enqueue_esc_blocks(const Context& context, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const std::uint32_t offsets = std::bit_ceil(batch.most_products < 2048 ? 2048 : batch.most_products);
  if (short_keys(batch.widest, offsets)) {
    launch_blocks<std::uint32_t>(context, factors, batch, out);
  } else {
    launch_blocks<std::uint64_t>(context, factors, batch, out);
  }
}

template void enqueue_esc_warps(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc_warps(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc_warps(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);
template void enqueue_esc_blocks(const Context&, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc_blocks(const Context&, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc_blocks(const Context&, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
