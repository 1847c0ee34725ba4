// Expansion, sorting, contraction of a row of C by one warp (Dalton, Olson & Bell, TOMS 2015).
#include "core/cuda/launch.cuh"
#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/accumulators/block_output.cuh"
#include "spgemm/cuda/accumulators/esc_levels.hpp"
#include "spgemm/cuda/accumulators/launch.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"
#include "spgemm/cuda/accumulators/sort.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

namespace {

/// Means "no product"; above all other keys (short_keys).
inline constexpr std::uint32_t no_key = 0xffffffff;

/// Shared memory of a warp that sorts up to 32 E products. \tparam W type of the products, or NoValue
template <int E, class W>
struct ProductBuffer {
  static constexpr int offsets = warp_size * E;
  static constexpr std::size_t value_bytes = has_values<W> ? offsets * sizeof(W) : 0;
  static constexpr std::size_t bytes = value_bytes + offsets * (sizeof(std::uint32_t) + sizeof(std::uint16_t));

  W* values = nullptr;             ///< by offset
  std::uint32_t* keys = nullptr;   ///< by offset, then sorted
  std::uint16_t* heads = nullptr;  ///< of each entry of the row: the first of its sorted keys

  __device__ static ProductBuffer of_warp() {
    unsigned char* const begin = dynamic_shared_memory() + threadIdx.x / warp_size * bytes;
    return {reinterpret_cast<W*>(begin), reinterpret_cast<std::uint32_t*>(begin + value_bytes),
            reinterpret_cast<std::uint16_t*>(begin + value_bytes + offsets * sizeof(std::uint32_t))};
  }
};

/// How the products of a row are numbered.
using ProductKeys = OffsetKeys<std::uint32_t>;

/// \param products of the row
[[nodiscard]] __device__ inline ProductKeys keys_of_row(index_t first_column, std::uint32_t products) {
  return {first_column, products < 2 ? 0 : warp_size - __clz(static_cast<int>(products - 1))};
}

/// The row of B of an entry of A, and that entry. Positions have 32 bits: B has fewer than 2^32 entries.
template <class W>
struct ScaledBRow {
  std::uint32_t begin = 0;
  int length = 0;
  int offset = 0;  ///< of its first product
  W scale{};       ///< value of A's entry

  /// The one of another lane; empty when there is no such lane. All lanes must call.
  [[nodiscard]] __device__ ScaledBRow of_lane(int lane) const {
    ScaledBRow result;
    result.begin = __shfl_sync(full_warp, begin, lane);
    result.length = __shfl_sync(full_warp, length, lane);
    result.offset = __shfl_sync(full_warp, offset, lane);
    if constexpr (has_values<W>) result.scale = __shfl_sync(full_warp, scale, lane);
    if (lane >= warp_size) result.length = 0;
    return result;
  }
};

/// The row of B of entry k of A, without an offset.
template <class W, class V>
[[nodiscard]] __device__ ScaledBRow<W> b_row_of(const Factors<V>& factors, offset_t k) {
  const index_t row = __ldg(factors.a_columns + k);
  ScaledBRow<W> b_row;
  b_row.begin = static_cast<std::uint32_t>(__ldg(factors.b_offsets + row));
  b_row.length = static_cast<int>(static_cast<std::uint32_t>(__ldg(factors.b_offsets + row + 1)) - b_row.begin);
  if constexpr (has_values<W>) b_row.scale = value_at(factors.a_values, k);
  return b_row;
}

/// Writes the products of rows of B. \tparam V of the factors \tparam W V, or NoValue when values do not matter
template <int E, class W, class V>
class Expansion {
 public:
  /// \param log_lanes lanes that take a row of B together, as a power of two
  __device__ Expansion(const Factors<V>& factors, const ProductKeys& keys, const ProductBuffer<E, W>& buffer,
                       int log_lanes)
      : factors_(factors), keys_(keys), buffer_(buffer), log_lanes_(log_lanes) {}

  /// The products of A's row. \returns how many these are; the same in all lanes, which must all call
  __device__ int row(offset_t begin, offset_t end) const {
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    int products = 0;
    for (; begin < end; begin += warp_size) {
      ScaledBRow<W> mine;
      if (lane < end - begin) mine = b_row_of<W>(factors_, begin + lane);
      const int up_to = sum_up_to_lane(mine.length);
      mine.offset = products + up_to - mine.length;
      products += __shfl_sync(full_warp, up_to, warp_size - 1);
      b_rows(mine, end - begin < warp_size ? static_cast<int>(end - begin) : warp_size);
    }
    return products;
  }

 private:
  /// Rows of B per group of lanes whose loads are in flight at once.
  static constexpr int batch = 2;

  /// \param count lanes that hold a row of B
  __device__ void b_rows(const ScaledBRow<W>& mine, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const int groups = warp_size >> log_lanes_;
    const int group = lane >> log_lanes_;
    const int k = lane & ((1 << log_lanes_) - 1);
    for (int first = 0; first < count; first += batch * groups) {
      ScaledBRow<W> b_row[batch];
      index_t column[batch];
      W value[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        b_row[b] = mine.of_lane(first + b * groups + group);
        if (k < b_row[b].length) load(b_row[b], k, column[b], value[b]);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (k < b_row[b].length) store(b_row[b], k, column[b], value[b]);
        rest(b_row[b], k + (1 << log_lanes_));
      }
    }
  }

  /// The rest of a row of B after one round of its lanes.
  __device__ void rest(const ScaledBRow<W>& b_row, int k) const {
#pragma unroll 1
    for (; k < b_row.length; k += 1 << log_lanes_) {
      index_t column;
      W value;
      load(b_row, k, column, value);
      store(b_row, k, column, value);
    }
  }

  __device__ void load(const ScaledBRow<W>& b_row, int k, index_t& column, [[maybe_unused]] W& value) const {
    const std::uint32_t at = b_row.begin + static_cast<std::uint32_t>(k);
    column = __ldg(factors_.b_columns + at);
    if constexpr (has_values<W>) value = value_at(factors_.b_values, at);
  }

  __device__ void store(const ScaledBRow<W>& b_row, int k, index_t column, [[maybe_unused]] W value) const {
    const int offset = b_row.offset + k;
    buffer_.keys[offset] = keys_.key(column, offset);
    if constexpr (has_values<W>) buffer_.values[offset] = product_of(b_row.scale, value);
  }

  const Factors<V>& factors_;
  const ProductKeys& keys_;
  const ProductBuffer<E, W>& buffer_;
  int log_lanes_;
};

/// Takes the keys out of shared memory and sorts them; lane l gets keys l E ... l E + E - 1.
template <int E, class W>
__device__ void sort_products(const ProductBuffer<E, W>& buffer, int products, std::uint32_t (&keys)[E]) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < E; ++i) {
    const int offset = lane + warp_size * i;
    keys[i] = offset < products ? buffer.keys[offset] : no_key;
  }
  if (products > 0) sort_in_warp(keys);
}

/// Bit i: key i of this lane is the first one of its column. All lanes must call.
template <int E>
[[nodiscard]] __device__ unsigned heads_of_lane(const ProductKeys& numbering, const std::uint32_t (&keys)[E]) {
  std::uint32_t before = __shfl_up_sync(full_warp, keys[E - 1], 1);
  if (threadIdx.x % warp_size == 0) before = no_key;  // whose column no row has (short_keys)
  unsigned heads = 0;
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if (keys[i] != no_key && numbering.column_part(keys[i]) != numbering.column_part(before)) heads |= 1U << i;
    before = keys[i];
  }
  return heads;
}

/// Stores the keys of a lane by 16 bytes, where there are so many.
template <int E>
__device__ void store_keys(std::uint32_t* to, const std::uint32_t (&keys)[E]) {
  if constexpr (E % 4 == 0) {
#pragma unroll
    for (int i = 0; i < E; i += 4) {
      *reinterpret_cast<uint4*>(to + i) = make_uint4(keys[i], keys[i + 1], keys[i + 2], keys[i + 3]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < E; ++i) to[i] = keys[i];
  }
}

/// Puts sorted keys and the beginnings of the row's entries into shared memory, for all lanes to see.
/// \param before entries that begin in earlier lanes
template <int E, class W>
__device__ void store_sorted(const ProductBuffer<E, W>& buffer, const std::uint32_t (&keys)[E], unsigned heads,
                             int before) {
  const int first = static_cast<int>(threadIdx.x % warp_size) * E;
  store_keys(buffer.keys + first, keys);
  int entry = before;
#pragma unroll
  for (int i = 0; i < E; ++i) {
    if ((heads >> i & 1) != 0) buffer.heads[entry++] = static_cast<std::uint16_t>(first + i);
  }
  __syncwarp();
}

/// Writes the row, one lane per entry: neighbouring lanes write neighbouring entries, and each adds its products in the
/// order of their offsets.
template <int E, class V>
__device__ void contract(const ProductBuffer<E, V>& buffer, const ProductKeys& numbering, int products, int entries,
                         const RowOutput<V>& out, offset_t offset) {
  for (int e = static_cast<int>(threadIdx.x % warp_size); e < entries; e += warp_size) {
    const int first = buffer.heads[e];
    const std::uint32_t key = buffer.keys[first];
    out.columns[offset + e] = numbering.column(key);
    if constexpr (has_values<V>) {
      const int end = e + 1 < entries ? buffer.heads[e + 1] : products;
      V sum = buffer.values[numbering.offset(key)];
#pragma unroll 1
      for (int i = first + 1; i < end; ++i) sum = sum_of(sum, buffer.values[numbering.offset(buffer.keys[i])]);
      out.values[offset + e] = sum;
    }
  }
}

constexpr int threads = 128;
constexpr int warps = threads / warp_size;
/// Blocks that an SM should hold at once.
constexpr int resident_blocks = 8;

/// The row of this warp; one without entries when the batch has no such row.
struct WarpRow {
  bool exists = false;
  index_t number = 0;
  offset_t begin = 0;  ///< of A's row
  offset_t end = 0;
  ProductKeys keys;
};

__device__ WarpRow row_of_warp(const RowBatch& batch, const offset_t* a_offsets) {
  WarpRow row;
  const offset_t i = offset_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  row.exists = i < batch.count;
  if (!row.exists) return row;
  row.number = row_of(batch, static_cast<index_t>(i));
  row.begin = __ldg(a_offsets + row.number);
  row.end = __ldg(a_offsets + row.number + 1);
  row.keys = keys_of_row(__ldg(batch.facts.first_columns + row.number), __ldg(batch.facts.products + row.number));
  return row;
}

/// Sorted products of a row; the same in all lanes except where it says "of this lane".
template <int E>
struct SortedRow {
  std::uint32_t keys[E];  ///< of this lane
  unsigned heads = 0;     ///< of this lane: keys that begin an entry
  int before = 0;         ///< entries that begin in earlier lanes
  int entries = 0;
  int products = 0;
};

template <int E, class W>
__device__ void expand_and_sort(const Factors<W>& factors, const WarpRow& row, int log_lanes,
                                const ProductBuffer<E, W>& buffer, SortedRow<E>& sorted) {
  sorted.products = Expansion<E, W, W>(factors, row.keys, buffer, log_lanes).row(row.begin, row.end);
  sort_products(buffer, sorted.products, sorted.keys);
  sorted.heads = heads_of_lane(row.keys, sorted.keys);
  const int own = __popc(sorted.heads);
  const int up_to = sum_up_to_lane(own);
  sorted.before = up_to - own;
  sorted.entries = __shfl_sync(full_warp, up_to, warp_size - 1);
}

template <int E>
__global__ void __launch_bounds__(threads, resident_blocks)
    esc_count_kernel(Factors<NoValue> factors, RowBatch batch, RowOutput<NoValue> out, int log_lanes) {
  const WarpRow row = row_of_warp(batch, factors.a_offsets);
  SortedRow<E> sorted;
  expand_and_sort(factors, row, log_lanes, ProductBuffer<E, NoValue>::of_warp(), sorted);
  if (row.exists && threadIdx.x % warp_size == 0) out.counts[row.number] = sorted.entries;
}

/// First entry of the row of this warp in its output. All threads of the block must call.
template <Phase P, class V>
__device__ offset_t output_offset_of_warp(const RowOutput<V>& out, const WarpRow& row, int entries) {
  const bool speaks = row.exists && threadIdx.x % warp_size == 0;
  offset_t offset = no_offset;
  if (P == Phase::numeric || out.starts != nullptr) {
    if (speaks) offset = output_offset_of<P>(out, row.number, entries);
  } else {
    const BlockEntries in_block = entries_in_block<threads>(speaks ? entries : 0);
    const offset_t first = block_allocate(out, in_block.total);
    if (speaks) offset = allocate_row_in_block(out, row.number, entries, first, in_block.before);
  }
  return __shfl_sync(full_warp, offset, 0);
}

template <Phase P, int E, class V>
__global__ void __launch_bounds__(threads, resident_blocks)
    esc_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int log_lanes) {
  const auto buffer = ProductBuffer<E, V>::of_warp();
  const WarpRow row = row_of_warp(batch, factors.a_offsets);
  SortedRow<E> sorted;
  expand_and_sort(factors, row, log_lanes, buffer, sorted);
  __syncwarp();  // all keys have been read
  store_sorted(buffer, sorted.keys, sorted.heads, sorted.before);
  const offset_t offset = output_offset_of_warp<P>(out, row, sorted.entries);
  if (offset != no_offset) contract(buffer, row.keys, sorted.products, sorted.entries, out, offset);
}

/// Lanes that expand a row of B together, as a power of two: the fewest that take three quarters of a mean row at once.
int log_lanes_for(double mean_b_row_nnz) {
  int log_lanes = 0;
  while (log_lanes < 5 && (1 << log_lanes) < 0.75 * mean_b_row_nnz) ++log_lanes;
  return log_lanes;
}

/// \tparam W V, or NoValue for a phase that only counts
template <int E, class W, class Kernel>
void launch_kernel(const Context& context, Kernel kernel, const Factors<W>& factors, const RowBatch& batch,
                   const RowOutput<W>& out) {
  const std::size_t shared_bytes = warps * ProductBuffer<E, W>::bytes;
  set_carve_out(kernel, shared_bytes, resident_blocks, context.limits());
  launch("sorting the products of rows", context, Grid{blocks_for(batch.count, warps), threads, shared_bytes}, kernel,
         factors, batch, out, log_lanes_for(batch.mean_b_row_nnz));
}

template <int E, class V>
void launch_phase(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                  const RowOutput<V>& out) {
  if (phase == Phase::numeric) {
    launch_kernel<E>(context, esc_kernel<Phase::numeric, E, V>, factors, batch, out);
  } else if (phase == Phase::numeric_allocating) {
    launch_kernel<E>(context, esc_kernel<Phase::numeric_allocating, E, V>, factors, batch, out);
  } else {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    launch_kernel<E>(context, esc_count_kernel<E>, positions_of(factors), batch, counts);
  }
}

}  // namespace

template <class V>
void enqueue_esc(const Context& context, Phase phase, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const std::uint32_t products = batch.most_products;
  if (products <= 64) return launch_phase<2>(context, phase, factors, batch, out);
  if (products <= 128) return launch_phase<4>(context, phase, factors, batch, out);
  if (products <= 256) return launch_phase<8>(context, phase, factors, batch, out);
  launch_phase<esc_products / warp_size>(context, phase, factors, batch, out);
}

template void enqueue_esc(const Context&, Phase, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc(const Context&, Phase, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc(const Context&, Phase, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
