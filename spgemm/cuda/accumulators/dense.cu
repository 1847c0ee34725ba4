#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/warp_products.cuh"

#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int threads = most_warps_of_block * warp_size;

/// A byte for every column of a row of C: 1 where the row has an entry.
struct ColumnFlags {
  unsigned char* flags;
  index_t first_column;
  index_t width;

  __device__ ColumnFlags(unsigned char* memory, const RowFacts& facts, index_t row)
      : flags(memory), first_column(facts.first_columns[row]), width(facts.widths[row]) {}

  /// Four flags at a time: the memory is a multiple of 16 bytes.
  [[nodiscard]] __device__ unsigned* words() const { return reinterpret_cast<unsigned*>(flags); }
  __device__ void clear() const {
    for (int w = lane_of_warp(); 4 * w < width; w += warp_size) words()[w] = 0;
  }
  [[nodiscard]] __device__ int count() const {
    unsigned sum = 0;
    for (int w = lane_of_warp(); 4 * w < width; w += warp_size) sum += static_cast<unsigned>(__popc(words()[w]));
    return static_cast<int>(__reduce_add_sync(full_warp, sum));
  }
};

/// The sums of a row by column.
template <class V>
struct DenseSums {
  ColumnFlags entries;
  V* values;

  [[nodiscard]] __device__ int offset_of(index_t column) const { return column - entries.first_column; }
  __device__ void add(int /*row*/, int offset, index_t /*column*/, V product) const {
    entries.flags[offset] = 1;
    values[offset] = sum_of(values[offset], product);
  }
};

/// write(offset, column from the first, lane by lane ascending) for the entries of a row.
template <class Write>
__device__ void for_each_entry(const ColumnFlags& entries, Write write) {
  const int lane = lane_of_warp();
  int before = 0;
  for (index_t first = 0; first < entries.width; first += warp_size) {
    const index_t at = first + lane;
    const bool is_entry = at < entries.width && entries.flags[at] != 0;
    const unsigned found = __ballot_sync(full_warp, is_entry);
    if (is_entry) write(before + __popc(found & ((1U << lane) - 1)), at);
    before += __popc(found);
  }
}

/// The flags of a row of which only columns are wanted, in memory after the stage.
[[nodiscard]] __device__ ColumnFlags flagged_row(const Factors<NoValue>& factors, const RowFacts& facts, index_t row,
                                                 int lanes, unsigned char* memory) {
  const ColumnFlags entries(memory + stage_bytes(0), facts, row);
  entries.clear();
  __syncwarp();
  WarpBRows<NoValue> b_rows(factors, row, reinterpret_cast<BRow<NoValue>*>(memory));
  mark_columns(factors, b_rows, lanes, [&](index_t column) { entries.flags[column - entries.first_column] = 1; });
  __syncwarp();
  return entries;
}

__global__ void __launch_bounds__(threads)
    count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int n = flagged_row(factors, batch.facts, row, lanes, memory_of_warp(shared_bytes)).count();
  if (lane_of_warp() == 0) counts[row] = n;
}

/// First entry of the row in its output; only numeric_allocating needs the number of entries.
template <Phase P, class V>
[[nodiscard]] __device__ offset_t output_offset_of_row(const ColumnFlags& entries, const RowOutput<V>& out,
                                                       index_t row) {
  const int n = P == Phase::numeric ? 0 : entries.count();
  return output_offset_of_warp<P>(out, row, n, n);
}

template <Phase P>
__global__ void __launch_bounds__(threads)
    columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const ColumnFlags entries = flagged_row(factors, batch.facts, row, lanes, memory_of_warp(shared_bytes));
  const offset_t offset = output_offset_of_row<P>(entries, out, row);
  if (offset == no_offset) return;
  for_each_entry(entries, [&](int i, index_t at) { out.columns[offset + i] = entries.first_column + at; });
}

template <Phase P, class V>
__global__ void __launch_bounds__(threads)
    values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, unsigned shared_bytes) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  unsigned char* const memory = memory_of_warp(shared_bytes);
  auto* const values = reinterpret_cast<V*>(memory + stage_bytes(sizeof(V)));
  const DenseSums<V> sums{ColumnFlags(memory + shared_bytes - aligned_bytes(batch.widest), batch.facts, row), values};
  const ColumnFlags& entries = sums.entries;
  entries.clear();
  for (index_t at = lane_of_warp(); at < entries.width; at += warp_size) values[at] = sum_begin<V>;
  __syncwarp();
  WarpBRows<V> b_rows(factors, row, reinterpret_cast<BRow<V>*>(memory));
  add_products(factors, b_rows, sums);
  const offset_t offset = output_offset_of_row<P>(entries, out, row);
  if (offset == no_offset) return;
  for_each_entry(entries, [&](int i, index_t at) {
    out.columns[offset + i] = entries.first_column + at;
    out.values[offset + i] = values[at];
  });
}

template <Phase P, class V>
void launch_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if constexpr (has_values<V>) {
    launch_warps("rows of C by column", context, batch.count, dense_warp_bytes(batch.widest, sizeof(V)),
                 values_kernel<P, V>, factors, batch, out);
  } else {
    launch_warps("columns of C by column", context, batch.count, dense_warp_bytes(batch.widest, 0), columns_kernel<P>,
                 factors, batch, out, lanes_per_b_row(batch.mean_b_row_nnz));
  }
}

}  // namespace

template <class V>
void enqueue_dense(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out) {
  switch (phase) {
    case Phase::symbolic:
      return launch_warps("counting rows of C by column", context, batch.count, dense_warp_bytes(batch.widest, 0),
                          count_kernel, positions_of(factors), batch, out.counts,
                          lanes_per_b_row(batch.mean_b_row_nnz));
    case Phase::numeric:
      return launch_rows<Phase::numeric>(context, factors, batch, out);
    case Phase::numeric_allocating:
      return launch_rows<Phase::numeric_allocating>(context, factors, batch, out);
  }
}

template void enqueue_dense(const Context&, Phase, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_dense(const Context&, Phase, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_dense(const Context&, Phase, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
