// A row of C by merging a few rows of B at once, in one thread.
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/block_output.cuh"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

/// Column of a list that has ended: no matrix has it, for columns are fewer than 2^31.
inline constexpr index_t no_column = 0x7fffffff;

/// Up to K rows of B and how far they have been read. All indices are known when it is compiled, so that everything
/// lies in registers. An entry's column and value are asked for as soon as the one before it is taken, those of all
/// lists at once. Positions have 32 bits: B has fewer than 2^32 entries. \tparam W type of the values, or NoValue
/// \tparam Weights whether B has values
template <int K, class W, bool Weights>
class ListHeads {
 public:
  /// \param begin first entry of A's row \param lists entries of A's row, at most K
  template <class V>
  __device__ ListHeads(const Factors<V>& factors, offset_t begin, int lists) {
#pragma unroll
    for (int u = 0; u < K; ++u) {
      next_[u] = 0;
      end_[u] = 0;
      scale_[u] = W{};
      if (u < lists) open(u, factors, begin + u);
    }
#pragma unroll
    for (int u = 0; u < K; ++u) {
      column_[u] = no_column;
      value_[u] = one();
      read(u, factors, next_[u] < end_[u]);
    }
  }

  /// The smallest column not yet taken, or no_column.
  [[nodiscard]] __device__ index_t column() const {
    index_t least = column_[0];
#pragma unroll
    for (int u = 1; u < K; ++u) least = column_[u] < least ? column_[u] : least;
    return least;
  }

  /// Sum of the products at a column, in the order of A's row. Without branches: lanes of a warp take different lists.
  [[nodiscard]] __device__ W sum_at([[maybe_unused]] index_t column) const {
    if constexpr (has_values<W>) {
      W sum = sum_begin<W>;
#pragma unroll
      for (int u = 0; u < K; ++u) {
        const W term = product_of(scale_[u], value_[u]);
        if (column_[u] == column) sum = sum_of(sum, term);
      }
      return sum;
    } else {
      return W{};
    }
  }

  /// Goes on to the next entry in all lists that are at a column.
  template <class V>
  __device__ void step_over(const Factors<V>& factors, index_t column) {
#pragma unroll
    for (int u = 0; u < K; ++u) {
      const bool taken = column_[u] == column;
      if (taken) ++next_[u];
      if (taken) column_[u] = no_column;
      read(u, factors, taken & (next_[u] < end_[u]));
    }
  }

 private:
  /// The value of every entry of a pattern.
  [[nodiscard]] __device__ static W one() {
    if constexpr (has_values<W>) {
      return W{1};
    } else {
      return W{};
    }
  }

  template <class V>
  __device__ void open(int u, const Factors<V>& factors, offset_t k) {
    const index_t row = __ldg(factors.a_columns + k);
    next_[u] = static_cast<std::uint32_t>(__ldg(factors.b_offsets + row));
    end_[u] = static_cast<std::uint32_t>(__ldg(factors.b_offsets + row + 1));
    if constexpr (has_values<W>) scale_[u] = value_at(factors.a_values, k);
  }

  template <class V>
  __device__ void read(int u, const Factors<V>& factors, bool more) {
    if (more) column_[u] = __ldg(factors.b_columns + next_[u]);
    if constexpr (Weights) {
      if (more) value_[u] = __ldg(factors.b_values + next_[u]);
    }
  }

  std::uint32_t next_[K];
  std::uint32_t end_[K];
  index_t column_[K];  ///< of entry `next_`
  W value_[K];         ///< of entry `next_`
  W scale_[K];         ///< value of A's entry
};

/// Calls write(column, value) for the entries of a row of C, ascending. \tparam W V, or NoValue when values do not
/// matter \tparam Weights whether B has values
template <int K, class W, bool Weights, class V, class Write>
__device__ void merge_row(const Factors<V>& factors, offset_t begin, int lists, Write&& write) {
  ListHeads<K, W, Weights> heads(factors, begin, lists);
  for (index_t column = heads.column(); column != no_column; column = heads.column()) {
    write(column, heads.sum_at(column));
    heads.step_over(factors, column);
  }
}

/// Entries of a row of C.
template <int K, class V>
[[nodiscard]] __device__ offset_t count_merged(const Factors<V>& factors, offset_t begin, int lists) {
  std::uint32_t n = 0;
  merge_row<K, NoValue, false>(factors, begin, lists, [&](index_t, NoValue) { ++n; });
  return n;
}

constexpr int threads = 128;
/// Blocks that a multiprocessor should hold at once: more of them would share an L1 that the rest leaves too small
/// (spgemm-prototypes.md, lesson 7: best at 35 to 60 per cent of shared memory, with blocks of 12 to 24 KB).
constexpr int resident_blocks = 6;
/// Blocks for which a multiprocessor has registers.
template <int K>
inline constexpr int blocks_in_registers = K > 6 ? 5 : resident_blocks;
/// The most that a block may hold back of its entries; beyond, too few blocks are resident.
constexpr std::size_t most_stage_bytes = 40 * 1024;

/// The row of this thread.
struct ThreadRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< first entry of A's row
  int lists = 0;       ///< entries of A's row
};

__device__ ThreadRow row_of_thread(const RowBatch& batch, const offset_t* a_offsets) {
  ThreadRow row;
  // Without a sign, the last block's rows beyond 2^31 have numbers, too.
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  row.exists = i < static_cast<unsigned>(batch.count);
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.lists = static_cast<int>(__ldg(a_offsets + row.number + 1) - row.begin);
  return row;
}

template <int K>
__global__ void __launch_bounds__(threads)
    merge_count_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out) {
  const ThreadRow row = row_of_thread(batch, factors.a_offsets);
  if (row.exists) out.counts[row.number] = count_merged<K>(factors, row.begin, row.lists);
}

template <RowPass Pass, int K, class V>
__device__ BlockPlaces places_of_block(const Factors<V>& factors, const RowOutput<V>& out, const RowBatch& batch,
                                       const ThreadRow& row) {
  if constexpr (Pass == RowPass::place) {
    return known_places<threads>(out, batch, row.exists, row.number);
  } else {
    const offset_t n = count_merged<K>(factors, row.begin, row.lists);
    return claimed_places<threads>(out, row.exists, row.number, n);
  }
}

/// Room for entries in shared memory.
template <class V>
__device__ Entries<V> stage_of_block(int capacity) {
  unsigned char* const shared = dynamic_shared_memory();
  if constexpr (has_values<V>) {
    return {reinterpret_cast<index_t*>(shared + static_cast<std::size_t>(capacity) * sizeof(V)),
            reinterpret_cast<V*>(shared)};
  } else {
    return {reinterpret_cast<index_t*>(shared), nullptr};
  }
}

/// Rows go through shared memory, so that neighbouring threads write neighbouring entries.
/// \param capacity entries that a block can hold back; blocks with more of them write each row as it is merged
/// \tparam Weights whether B has values
template <RowPass Pass, int K, class V, bool Weights>
__global__ void __launch_bounds__(threads, blocks_in_registers<K>)
    merge_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int capacity) {
  const ThreadRow row = row_of_thread(batch, factors.a_offsets);
  const BlockPlaces places = places_of_block<Pass, K>(factors, out, batch, row);
  const bool staged = places.total <= capacity;
  const Entries<V> target{out.columns, out.values};
  const Entries<V> stage = stage_of_block<V>(capacity);
  if (places.place != no_place) {
    if (staged) {
      int at = static_cast<int>(places.before);
      merge_row<K, V, Weights>(factors, row.begin, row.lists,
                               [&](index_t column, V value) { stage.put(at++, column, value); });
    } else {
      offset_t at = places.place;
      merge_row<K, V, Weights>(factors, row.begin, row.lists,
                               [&](index_t column, V value) { target.put(at++, column, value); });
    }
  }
  if (staged) copy_block<threads>(target, stage, places);
}

/// Entries that a block should be able to hold back: a quarter more than the mean of its rows.
template <class V>
int stage_capacity(const RowBatch& batch) {
  const double mean = std::min(1.25 * batch.mean_entries + 2, static_cast<double>(batch.most_entries));
  const double wanted = threads * mean;
  if (wanted * static_cast<double>(Entries<V>::bytes) > static_cast<double>(most_stage_bytes)) return 0;
  const int granule = 32;
  return (static_cast<int>(wanted) + granule - 1) / granule * granule;
}

template <RowPass Pass, int K, class V, bool Weights>
void launch_writing(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const auto kernel = merge_kernel<Pass, K, V, Weights>;
  const int capacity = stage_capacity<V>(batch);
  const std::size_t shared_bytes = static_cast<std::size_t>(capacity) * Entries<V>::bytes;
  set_carve_out(kernel, shared_bytes, resident_blocks, context.limits());
  launch("merging rows", context, Grid{blocks_for(batch.count, threads), threads, shared_bytes}, kernel, factors, batch,
         out, capacity);
}

template <RowPass Pass, int K, class V>
void launch_lists(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if constexpr (Pass == RowPass::count) {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    set_carve_out(merge_count_kernel<K>, 0, resident_blocks, context.limits());
    launch("counting merged rows", context, Grid{blocks_for(batch.count, threads), threads}, merge_count_kernel<K>,
           positions_of(factors), batch, counts);
  } else if constexpr (has_values<V>) {
    if (factors.b_values != nullptr) return launch_writing<Pass, K, V, true>(context, factors, batch, out);
    launch_writing<Pass, K, V, false>(context, factors, batch, out);
  } else {
    launch_writing<Pass, K, V, false>(context, factors, batch, out);
  }
}

template <RowPass Pass, class V>
void launch_pass(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const index_t lists = batch.most_lists;
  if (lists <= 2) return launch_lists<Pass, 2>(context, factors, batch, out);
  if (lists <= 4) return launch_lists<Pass, 4>(context, factors, batch, out);
  if (lists <= 5) return launch_lists<Pass, 5>(context, factors, batch, out);
  if (lists <= 6) return launch_lists<Pass, 6>(context, factors, batch, out);
  return launch_lists<Pass, merge_lists>(context, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_merge(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out) {
  if (batch.count == 0) return;
  switch (pass) {
    case RowPass::count:
      return launch_pass<RowPass::count>(context, factors, batch, out);
    case RowPass::place:
      return launch_pass<RowPass::place>(context, factors, batch, out);
    case RowPass::claim:
      return launch_pass<RowPass::claim>(context, factors, batch, out);
  }
}

template void enqueue_merge(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_merge(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_merge(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&,
                            const RowOutput<NoValue>&);

}  // namespace tessera::cuda
