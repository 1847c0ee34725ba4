// Rows of C in small hash tables: counted, or counted, summed and written, by some lanes of a warp each.
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/small_hash_tables.hpp"
#include "spgemm/cuda/accumulators/small_table.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

constexpr int threads = small_hash_threads;

template <int Lanes>
__device__ LaneGroupRow row_of_group(const RowBatch& batch, const offset_t* a_offsets) {
  LaneGroupRow row;
  const std::int64_t i = std::int64_t{blockIdx.x} * LaneGroup<Lanes>::of_block + LaneGroup<Lanes>::number();
  row.exists = i < batch.count;
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.end = __ldg(a_offsets + row.number + 1);
  return row;
}

/// Entries of a row that its table is too small for, in parts of the columns, twice as many until each fits. Every lane
/// of the warp must call. \param wanted whether to count the row of this group; else its table is left alone
template <int Lanes, int Slots>
__device__ unsigned count_in_parts(const Factors<NoValue>& factors, const LaneGroupRow& row, bool wanted,
                                   SmallTable<NoValue, Lanes, Slots>& table) {
  unsigned entries = 0;
  for (unsigned bits = 1; __ballot_sync(full_warp, wanted) != 0; ++bits) {
    unsigned sum = 0;
    bool again = false;
    for (unsigned part = 0; part < 1U << bits; ++part) {
      const bool counts = wanted && !again;
      table.clear(counts);
      again |= table.add_row(factors, row.begin, counts ? row.end : row.begin, {bits, part});
      sum += table.entries();
    }
    if (wanted && !again) entries = sum;
    wanted = again;
  }
  return entries;
}

/// Entries of a row of any size, by a table of columns alone. Every lane of the warp must call.
template <int Lanes, int Slots>
__device__ unsigned count_entries(const Factors<NoValue>& factors, const LaneGroupRow& row,
                                  SmallTable<NoValue, Lanes, Slots>& table) {
  table.clear();
  const bool beyond = table.add_row(factors, row.begin, row.end);
  const unsigned entries = table.entries();
  const unsigned in_parts = count_in_parts(factors, row, beyond, table);
  return beyond ? in_parts : entries;
}

template <int Lanes, int Slots>
__global__ void __launch_bounds__(threads)
    small_hash_count_kernel(Factors<NoValue> factors, RowBatch batch, offset_t* counts) {
  const LaneGroupRow row = row_of_group<Lanes>(batch, factors.a_offsets);
  SmallTable<NoValue, Lanes, Slots> table(dynamic_shared_memory());
  const unsigned entries = count_entries(factors, row, table);
  if (row.exists && LaneGroup<Lanes>::lane() == 0) counts[row.number] = entries;
}

/// Allocates the rows of a block one after the other in the output buffer. Every thread must call.
/// \param beyond whether the row does not fit into its table, so that it must have no offset
/// \returns first entry of the group's row, or no_offset
template <int Lanes, class V>
__device__ offset_t allocate_in_block(const RowOutput<V>& out, const LaneGroupRow& row, unsigned entries, bool beyond) {
  using Group = LaneGroup<Lanes>;
  __shared__ unsigned of_group[Group::of_block];
  __shared__ unsigned of_warps[threads / warp_size];
  __shared__ offset_t begin;
  const bool leads = row.exists && Group::lane() == 0;
  if (out.starts != nullptr) {
    offset_t offset = no_offset;
    if (leads && !beyond) offset = allocate_row(out, row.number, entries);
    if (leads && beyond) {
      out.counts[row.number] = entries;
      out.buffer_offsets[row.number] = no_offset;
    }
    return __shfl_sync(full_warp, offset, 0, Lanes);
  }
  if (Group::lane() == 0) of_group[Group::number()] = row.exists && !beyond ? entries : 0;
  __syncthreads();
  const unsigned own = threadIdx.x < Group::of_block ? of_group[threadIdx.x] : 0;
  const BlockSum<unsigned> sum = running_sum_in_block<threads>(own, of_warps);
  if (threadIdx.x < Group::of_block) of_group[threadIdx.x] = sum.before;
  if (threadIdx.x == 0) {
    begin =
        sum.total == 0 ? 0 : static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(sum.total)));
  }
  __syncthreads();
  offset_t offset = begin + of_group[Group::number()];
  if (entries == 0) offset = 0;
  if (beyond || offset + entries > out.capacity) offset = no_offset;
  if (leads) {
    out.counts[row.number] = entries;
    out.buffer_offsets[row.number] = offset;
  }
  return offset;
}

/// \param phase numeric or numeric_allocating
template <class V, int Lanes, int Slots>
__global__ void __launch_bounds__(threads, small_hash_resident_blocks)
    small_hash_kernel(Phase phase, Factors<V> factors, RowBatch batch, RowOutput<V> out) {
  const LaneGroupRow row = row_of_group<Lanes>(batch, factors.a_offsets);
  SmallTable<V, Lanes, Slots> table(dynamic_shared_memory());
  table.clear();
  const bool beyond = table.add_row(factors, row.begin, row.end);
  unsigned entries = table.pack();
  offset_t offset = no_offset;
  if (phase == Phase::numeric) {
    if (row.exists && !beyond) offset = out.starts[row.number];
  } else {
    SmallTable<NoValue, Lanes, Slots> columns(dynamic_shared_memory() +
                                              SmallTableLayout<Lanes, Slots>::sums_bytes(value_bytes<V>));
    const unsigned in_parts = count_in_parts(positions_of(factors), row, beyond, columns);
    if (beyond) entries = in_parts;
    offset = allocate_in_block<Lanes>(out, row, entries, beyond);
  }
  if (row.exists && offset != no_offset) {
    table.write(entries, out.columns + offset, has_values<V> ? out.values + offset : nullptr);
  }
}

template <int Lanes, int Slots>
void count_rows(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  launch_tables("entries of rows by small hash tables", context, batch.count, Lanes,
                SmallTableLayout<Lanes, Slots>::bytes(0), small_hash_count_kernel<Lanes, Slots>, factors, batch,
                counts);
}

template <int Lanes>
void count_rows_by(const Context& context, const Factors<NoValue>& factors, const RowBatch& batch, offset_t* counts) {
  if (small_hash_slots(batch.most_entries, false) == 64) return count_rows<Lanes, 64>(context, factors, batch, counts);
  count_rows<Lanes, 256>(context, factors, batch, counts);
}

template <int Lanes, int Slots, class V>
void sum_rows(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
              const RowOutput<V>& out) {
  launch_tables("rows of a product in small hash tables", context, batch.count, Lanes,
                SmallTableLayout<Lanes, Slots>::bytes(value_bytes<V>), small_hash_kernel<V, Lanes, Slots>, phase,
                factors, batch, out);
}

template <class V>
void sum_rows_by(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  const int slots = small_hash_slots(batch.most_entries, true);
  const int lanes = small_hash_lanes(batch.mean_b_row_nnz);
  if (slots == 256) return sum_rows<16, 256>(context, phase, factors, batch, out);
  if (lanes == 16) {
    if (slots <= 64) return sum_rows<16, 64>(context, phase, factors, batch, out);
    return sum_rows<16, 128>(context, phase, factors, batch, out);
  }
  if (slots == 128) return sum_rows<8, 128>(context, phase, factors, batch, out);
  if (lanes == 8) {
    if (slots == 32) return sum_rows<8, 32>(context, phase, factors, batch, out);
    return sum_rows<8, 64>(context, phase, factors, batch, out);
  }
  if (slots == 32) return sum_rows<4, 32>(context, phase, factors, batch, out);
  sum_rows<4, 64>(context, phase, factors, batch, out);
}

}  // namespace

template <class V>
void enqueue_small_hash(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                        const RowOutput<V>& out) {
  if (batch.count == 0) return;
  if (phase != Phase::symbolic) return sum_rows_by(context, phase, factors, batch, out);
  const Factors<NoValue> positions = positions_of(factors);
  const int lanes = small_hash_lanes(batch.mean_b_row_nnz);
  if (lanes == 4) return count_rows_by<4>(context, positions, batch, out.counts);
  if (lanes == 8) return count_rows_by<8>(context, positions, batch, out.counts);
  count_rows_by<16>(context, positions, batch, out.counts);
}

template void enqueue_small_hash(const Context&, Phase, const Factors<double>&, const RowBatch&,
                                 const RowOutput<double>&);
template void enqueue_small_hash(const Context&, Phase, const Factors<float>&, const RowBatch&,
                                 const RowOutput<float>&);
template void enqueue_small_hash(const Context&, Phase, const Factors<NoValue>&, const RowBatch&,
                                 const RowOutput<NoValue>&);

}  // namespace tessera::cuda
