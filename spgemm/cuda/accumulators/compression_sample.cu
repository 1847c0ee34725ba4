// A sample of the rows of C, or all of them, counted by small hash tables: whether small_hash pays, and for what.
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"
#include "spgemm/cuda/accumulators/small_table.cuh"

#include <cstdint>

namespace tessera::cuda {

namespace {

/// Slots that are looked at for a column of a sampled row: more of them show that it is too long.
constexpr unsigned sample_tries = 96;

/// Sums over the sampled rows, one by each group. \param counts entries of all rows go here, which are the sample then,
/// and 0 at their end; null: of some rows
template <int Lanes, int Slots>
__global__ void __launch_bounds__(small_hash_threads)
    compression_sample_kernel(Factors<NoValue> factors, index_t rows, offset_t* counts, CompressionSample* sample) {
  using Group = LaneGroup<Lanes>;
  LaneGroupRow row;
  const auto k = static_cast<index_t>(blockIdx.x * Group::of_block + Group::number());
  row.exists = k < (counts == nullptr ? sample_size(rows) : rows);
  if (row.exists) {
    row.number = counts == nullptr ? sampled_row(rows, k) : k;
    row.begin = __ldg(factors.a_offsets + row.number);
    row.end = __ldg(factors.a_offsets + row.number + 1);
  }
  unsigned long long products = 0;
  for (offset_t at = row.begin + Group::lane(); at < row.end; at += Lanes) {
    const index_t b_row = __ldg(factors.a_columns + at);
    products +=
        static_cast<unsigned long long>(__ldg(factors.b_offsets + b_row + 1) - __ldg(factors.b_offsets + b_row));
  }
  products = sum_over_lanes(products, Lanes);
  bool is_long = products > sampled_row_products;
  if (is_long) row.end = row.begin;
  SmallTable<NoValue, Lanes, Slots> table(dynamic_shared_memory(), sample_tries);
  table.clear();
  is_long |= table.add_row(factors, row.begin, row.end);
  const unsigned entries = table.entries();
  if (counts != nullptr && row.exists && Group::lane() == 0) counts[row.number] = entries;
  if (counts != nullptr && blockIdx.x == 0 && threadIdx.x == 0) counts[rows] = 0;
  const bool is_counted = Group::lane() == 0 && products > 0 && !is_long;
  const auto n = is_counted ? static_cast<unsigned long long>(entries) : 0;
  const unsigned counted = __reduce_add_sync(full_warp, is_counted ? 1U : 0U);
  const unsigned long_rows = __reduce_add_sync(full_warp, Group::lane() == 0 && is_long ? 1U : 0U);
  const unsigned most = __reduce_max_sync(full_warp, static_cast<unsigned>(n));
  const unsigned long long all_products = sum_over_lanes(is_counted ? products : 0ULL);
  const unsigned long long all_entries = sum_over_lanes(n);
  const unsigned long long squares = sum_over_lanes(n * n);
  if (threadIdx.x % warp_size != 0) return;
  atomicAdd(&sample->rows, static_cast<unsigned long long>(counted));
  atomicAdd(&sample->products, all_products);
  atomicAdd(&sample->entries, all_entries);
  atomicAdd(&sample->squares, squares);
  atomicMax(&sample->most_entries, most);
  if (long_rows != 0) atomicAdd(&sample->long_rows, long_rows);
}

template <int Lanes>
void sample_by(const Context& context, const Factors<NoValue>& factors, index_t rows, offset_t* counts,
               CompressionSample* sample) {
  const index_t size = counts == nullptr ? sample_size(rows) : rows;
  launch_tables("sample of a sparse product", context, size, Lanes, SmallTableLayout<Lanes, 256>::bytes(0),
                compression_sample_kernel<Lanes, 256>, factors, rows, counts, sample);
}

}  // namespace

void enqueue_compression_sample(const Context& context, const Factors<NoValue>& factors, index_t rows,
                                double mean_b_row_nnz, CompressionSample* sample, offset_t* counts) {
  if (small_hash_lanes(mean_b_row_nnz) == 16) return sample_by<16>(context, factors, rows, counts, sample);
  sample_by<8>(context, factors, rows, counts, sample);
}

}  // namespace tessera::cuda
