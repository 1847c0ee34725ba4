#include "core/cuda/launch.cuh"
#include "spgemm/cuda/workflows/one_phase.hpp"

namespace tessera::cuda {

namespace {

constexpr int compaction_threads = 256;

/// `Lanes` neighbouring lanes per row.
template <int Lanes, class V>
__global__ void __launch_bounds__(compaction_threads)
    compaction_kernel(index_t rows, const offset_t* buffer_offsets, const offset_t* offsets,
                      const index_t* from_columns, const V* from_values, index_t* columns, V* values) {
  const std::int64_t row = (std::int64_t{blockIdx.x} * compaction_threads + threadIdx.x) / Lanes;
  if (row >= rows) return;
  const offset_t offset = buffer_offsets[row];
  if (offset == no_offset) return;
  const offset_t begin = offsets[row];
  const offset_t count = offsets[row + 1] - begin;
  for (offset_t k = threadIdx.x % Lanes; k < count; k += Lanes) {
    columns[begin + k] = __ldcs(from_columns + offset + k);
    if constexpr (has_values<V>) values[begin + k] = __ldcs(from_values + offset + k);
  }
}

template <int Lanes, class V>
void compact_by(const Context& context, index_t rows, const offset_t* buffer_offsets, const offset_t* offsets,
                const index_t* from_columns, const V* from_values, index_t* columns, V* values) {
  const Grid grid{blocks_for(std::int64_t{rows} * Lanes, compaction_threads), compaction_threads};
  launch("compaction of a sparse product", context, grid, compaction_kernel<Lanes, V>, rows, buffer_offsets, offsets,
         from_columns, from_values, columns, values);
}

}  // namespace

template <class V>
void enqueue_compaction(const Context& context, index_t rows, double mean_entries, const offset_t* buffer_offsets,
                        const offset_t* offsets, const index_t* from_columns, const V* from_values, index_t* columns,
                        V* values) {
  if (mean_entries < 12) {
    compact_by<4>(context, rows, buffer_offsets, offsets, from_columns, from_values, columns, values);
  } else {
    compact_by<warp_size>(context, rows, buffer_offsets, offsets, from_columns, from_values, columns, values);
  }
}

template void enqueue_compaction(const Context&, index_t, double, const offset_t*, const offset_t*, const index_t*,
                                 const NoValue*, index_t*, NoValue*);
template void enqueue_compaction(const Context&, index_t, double, const offset_t*, const offset_t*, const index_t*,
                                 const float*, index_t*, float*);
template void enqueue_compaction(const Context&, index_t, double, const offset_t*, const offset_t*, const index_t*,
                                 const double*, index_t*, double*);

}  // namespace tessera::cuda
