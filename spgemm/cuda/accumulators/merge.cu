// Merge accumulator: one thread per row of C merges up to 8 rows of B at once.
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

/// Column of a row of B that has ended: not a column of any matrix, which has fewer than 2^31.
inline constexpr index_t no_column = 0x7fffffff;

/// Up to K rows of B and the current entry of each. All indices are compile-time constants, so that everything is in
/// registers. An entry is loaded as soon as the one before it is taken, those of all rows of B at once. Positions have
/// 32 bits: B has fewer than 2^32 entries. \tparam W type of the values, or NoValue \tparam Weights whether B has
/// values
template <int K, class W, bool Weights>
class BRowCursors {
 public:
  /// \param begin first entry of A's row \param b_rows of it, at most K
  template <class V>
  __device__ BRowCursors(const Factors<V>& factors, offset_t begin, int b_rows) {
#pragma unroll
    for (int u = 0; u < K; ++u) {
      next_[u] = 0;
      end_[u] = 0;
      scale_[u] = W{};
      if (u < b_rows) open(u, factors, begin + u);
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

  /// Sum of the products at a column, in the order of A's row. Without branches: lanes of a warp take different rows of
  /// B.
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

  /// Advances all rows of B whose current entry is in a column.
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
__device__ void merge_row(const Factors<V>& factors, offset_t begin, int b_rows, Write&& write) {
  BRowCursors<K, W, Weights> rows(factors, begin, b_rows);
  for (index_t column = rows.column(); column != no_column; column = rows.column()) {
    write(column, rows.sum_at(column));
    rows.step_over(factors, column);
  }
}

/// Entries of a row of C.
template <int K, class V>
[[nodiscard]] __device__ offset_t count_merged(const Factors<V>& factors, offset_t begin, int b_rows) {
  std::uint32_t n = 0;
  merge_row<K, NoValue, false>(factors, begin, b_rows, [&](index_t, NoValue) { ++n; });
  return n;
}

constexpr int threads = 128;
/// Blocks that an SM should hold at once: with more of them the L1 that remains is too small
/// (best at 35 to 60 per cent of shared memory, with blocks of 12 to 24 KB).
constexpr int resident_blocks = 6;
/// Blocks for which an SM has registers.
template <int K>
inline constexpr int blocks_in_registers = K > 6 ? 5 : resident_blocks;
/// Largest stage of a block; with a larger one too few blocks are resident.
constexpr std::size_t most_stage_bytes = 40 * 1024;

/// The row of this thread.
struct MergedRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< first entry of A's row
  int a_row_nnz = 0;
};

__device__ MergedRow row_of_thread(const RowBatch& batch, const offset_t* a_offsets) {
  MergedRow row;
  // Unsigned, so that the rows of the last block beyond 2^31 do not overflow.
  const unsigned i = blockIdx.x * threads + threadIdx.x;
  row.exists = i < static_cast<unsigned>(batch.count);
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.a_row_nnz = static_cast<int>(__ldg(a_offsets + row.number + 1) - row.begin);
  return row;
}

template <int K>
__global__ void __launch_bounds__(threads)
    merge_count_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out) {
  const MergedRow row = row_of_thread(batch, factors.a_offsets);
  if (row.exists) out.counts[row.number] = count_merged<K>(factors, row.begin, row.a_row_nnz);
}

template <Phase P, int K, class V>
__device__ BlockOffsets offsets_of_block(const Factors<V>& factors, const RowOutput<V>& out, const RowBatch& batch,
                                         const MergedRow& row) {
  if constexpr (P == Phase::numeric) {
    return known_offsets<threads>(out, batch, row.exists, row.number);
  } else {
    const offset_t n = count_merged<K>(factors, row.begin, row.a_row_nnz);
    return allocated_offsets<threads>(out, row.exists, row.number, n);
  }
}

/// The stage: entries in shared memory.
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
/// \param capacity entries of the stage; blocks with more entries write each row as it is merged
/// \tparam Weights whether B has values
template <Phase P, int K, class V, bool Weights>
__global__ void __launch_bounds__(threads, blocks_in_registers<K>)
    merge_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int capacity) {
  const MergedRow row = row_of_thread(batch, factors.a_offsets);
  const BlockOffsets offsets = offsets_of_block<P, K>(factors, out, batch, row);
  const bool staged = offsets.total <= capacity;
  const Entries<V> target{out.columns, out.values};
  const Entries<V> stage = stage_of_block<V>(capacity);
  if (offsets.offset != no_offset) {
    if (staged) {
      int at = static_cast<int>(offsets.before);
      merge_row<K, V, Weights>(factors, row.begin, row.a_row_nnz,
                               [&](index_t column, V value) { stage.put(at++, column, value); });
    } else {
      offset_t at = offsets.offset;
      merge_row<K, V, Weights>(factors, row.begin, row.a_row_nnz,
                               [&](index_t column, V value) { target.put(at++, column, value); });
    }
  }
  if (staged) copy_block<threads>(target, stage, offsets);
}

/// Capacity of the stage: a quarter more than the mean entries of its rows.
template <class V>
int stage_capacity(const RowBatch& batch) {
  const double mean = std::min(1.25 * batch.mean_entries + 2, static_cast<double>(batch.most_entries));
  const double wanted = threads * mean;
  if (wanted * static_cast<double>(Entries<V>::bytes) > static_cast<double>(most_stage_bytes)) return 0;
  const int granule = 32;
  return (static_cast<int>(wanted) + granule - 1) / granule * granule;
}

template <Phase P, int K, class V, bool Weights>
void launch_writing(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const auto kernel = merge_kernel<P, K, V, Weights>;
  const int capacity = stage_capacity<V>(batch);
  const std::size_t shared_bytes = static_cast<std::size_t>(capacity) * Entries<V>::bytes;
  set_carve_out(kernel, shared_bytes, resident_blocks, context.limits());
  launch("merging rows", context, Grid{blocks_for(batch.count, threads), threads, shared_bytes}, kernel, factors, batch,
         out, capacity);
}

template <Phase P, int K, class V>
void launch_b_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if constexpr (P == Phase::symbolic) {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    set_carve_out(merge_count_kernel<K>, 0, resident_blocks, context.limits());
    launch("counting merged rows", context, Grid{blocks_for(batch.count, threads), threads}, merge_count_kernel<K>,
           positions_of(factors), batch, counts);
  } else if constexpr (has_values<V>) {
    if (factors.b_values != nullptr) return launch_writing<P, K, V, true>(context, factors, batch, out);
    launch_writing<P, K, V, false>(context, factors, batch, out);
  } else {
    launch_writing<P, K, V, false>(context, factors, batch, out);
  }
}

template <Phase P, class V>
void launch_phase(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  const index_t b_rows = batch.max_a_row_nnz;
  if (b_rows <= 2) return launch_b_rows<P, 2>(context, factors, batch, out);
  if (b_rows <= 4) return launch_b_rows<P, 4>(context, factors, batch, out);
  if (b_rows <= 5) return launch_b_rows<P, 5>(context, factors, batch, out);
  if (b_rows <= 6) return launch_b_rows<P, 6>(context, factors, batch, out);
  return launch_b_rows<P, merge_b_rows>(context, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_merge(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out) {
  if (batch.count == 0) return;
  switch (phase) {
    case Phase::symbolic:
      return launch_phase<Phase::symbolic>(context, factors, batch, out);
    case Phase::numeric:
      return launch_phase<Phase::numeric>(context, factors, batch, out);
    case Phase::numeric_allocating:
      return launch_phase<Phase::numeric_allocating>(context, factors, batch, out);
  }
}

template void enqueue_merge(const Context&, Phase, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_merge(const Context&, Phase, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_merge(const Context&, Phase, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
