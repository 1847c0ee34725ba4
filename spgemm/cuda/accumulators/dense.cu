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

  /// Four flags at a time: there is room up to a multiple of 16.
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

  [[nodiscard]] __device__ int place_of(index_t column) const { return column - entries.first_column; }
  __device__ void add(int /*row*/, int place, index_t /*column*/, V product) const {
    entries.flags[place] = 1;
    values[place] = sum_of(values[place], product);
  }
};

/// write(place, column from the first, lane by lane ascending) for the entries of a row.
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

/// The flags of a row where values do not count, behind the stage for lists.
[[nodiscard]] __device__ ColumnFlags flagged_row(const Factors<NoValue>& factors, const RowFacts& facts, index_t row,
                                                 int lanes, unsigned char* memory) {
  const ColumnFlags entries(memory + stage_bytes(0), facts, row);
  entries.clear();
  __syncwarp();
  RowLists<NoValue> lists(factors, row, reinterpret_cast<List<NoValue>*>(memory));
  mark_columns(factors, lists, lanes, [&](index_t column) { entries.flags[column - entries.first_column] = 1; });
  __syncwarp();
  return entries;
}

__global__ void __launch_bounds__(threads)
    count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const int n = flagged_row(factors, batch.facts, row, lanes, slice_of_warp(slice)).count();
  if (lane_of_warp() == 0) counts[row] = n;
}

/// Where the row goes; only the claim needs the number of its entries.
template <RowPass Pass, class V>
[[nodiscard]] __device__ offset_t place_of_entries(const ColumnFlags& entries, const RowOutput<V>& out, index_t row) {
  const int n = Pass == RowPass::place ? 0 : entries.count();
  return place_of_warp<Pass>(out, row, n, n);
}

template <RowPass Pass>
__global__ void __launch_bounds__(threads)
    columns_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int lanes, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  const ColumnFlags entries = flagged_row(factors, batch.facts, row, lanes, slice_of_warp(slice));
  const offset_t place = place_of_entries<Pass>(entries, out, row);
  if (place == no_place) return;
  for_each_entry(entries, [&](int i, index_t at) { out.columns[place + i] = entries.first_column + at; });
}

template <RowPass Pass, class V>
__global__ void __launch_bounds__(threads)
    values_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, unsigned slice) {
  if (row_of_warp() >= static_cast<unsigned>(batch.count)) return;
  const index_t row = row_of(batch, static_cast<index_t>(row_of_warp()));
  unsigned char* const memory = slice_of_warp(slice);
  auto* const values = reinterpret_cast<V*>(memory + stage_bytes(sizeof(V)));
  const DenseSums<V> sums{ColumnFlags(memory + slice - aligned_bytes(batch.widest), batch.facts, row), values};
  const ColumnFlags& entries = sums.entries;
  entries.clear();
  for (index_t at = lane_of_warp(); at < entries.width; at += warp_size) values[at] = sum_begin<V>;
  __syncwarp();
  RowLists<V> lists(factors, row, reinterpret_cast<List<V>*>(memory));
  add_products(factors, lists, sums);
  const offset_t place = place_of_entries<Pass>(entries, out, row);
  if (place == no_place) return;
  for_each_entry(entries, [&](int i, index_t at) {
    out.columns[place + i] = entries.first_column + at;
    out.values[place + i] = values[at];
  });
}

template <RowPass Pass, class V>
void launch_rows(const Context& context, const Factors<V>& factors, const RowBatch& batch, const RowOutput<V>& out) {
  if constexpr (has_values<V>) {
    launch_slices("rows of C by column", context, batch.count, dense_bytes(batch.widest, sizeof(V)),
                  values_kernel<Pass, V>, factors, batch, out);
  } else {
    launch_slices("columns of C by column", context, batch.count, dense_bytes(batch.widest, 0), columns_kernel<Pass>,
                  factors, batch, out, lanes_of_list(batch.mean_list));
  }
}

}  // namespace

template <class V>
void enqueue_dense(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                   const RowOutput<V>& out) {
  switch (pass) {
    case RowPass::count:
      return launch_slices("counting rows of C by column", context, batch.count, dense_bytes(batch.widest, 0),
                           count_kernel, positions_of(factors), batch, out.counts, lanes_of_list(batch.mean_list));
    case RowPass::place:
      return launch_rows<RowPass::place>(context, factors, batch, out);
    case RowPass::claim:
      return launch_rows<RowPass::claim>(context, factors, batch, out);
  }
}

template void enqueue_dense(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_dense(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_dense(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&,
                            const RowOutput<NoValue>&);

}  // namespace tessera::cuda
