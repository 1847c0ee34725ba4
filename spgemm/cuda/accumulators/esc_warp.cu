// A row of C by expansion, sorting and contraction in one warp (optimized-esc-spgemm.txt).
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

/// Key of a place without a product; above all others (short_keys).
inline constexpr std::uint32_t no_key = 0xffffffff;

/// Shared memory of a warp that sorts up to 32 E products. \tparam W type of the products, or NoValue
template <int E, class W>
struct ProductBuffer {
  static constexpr int places = warp_size * E;
  static constexpr std::size_t value_bytes = has_values<W> ? places * sizeof(W) : 0;
  static constexpr std::size_t bytes = value_bytes + places * (sizeof(std::uint32_t) + sizeof(std::uint16_t));

  W* values = nullptr;             ///< by place
  std::uint32_t* keys = nullptr;   ///< by place, then sorted
  std::uint16_t* heads = nullptr;  ///< of each entry of the row: the first of its sorted keys

  __device__ static ProductBuffer of_warp() {
    unsigned char* const begin = dynamic_shared_memory() + threadIdx.x / warp_size * bytes;
    return {reinterpret_cast<W*>(begin), reinterpret_cast<std::uint32_t*>(begin + value_bytes),
            reinterpret_cast<std::uint16_t*>(begin + value_bytes + places * sizeof(std::uint32_t))};
  }
};

/// How the products of a row are numbered.
using ProductKeys = PlaceKeys<std::uint32_t>;

/// \param products of the row
[[nodiscard]] __device__ inline ProductKeys keys_of_row(index_t first_column, std::uint32_t products) {
  return {first_column, products < 2 ? 0 : warp_size - __clz(static_cast<int>(products - 1))};
}

/// A row of B that an entry of A asks for. Positions have 32 bits: B has fewer than 2^32 entries.
template <class W>
struct ScaledList {
  std::uint32_t begin = 0;
  int length = 0;
  int place = 0;  ///< of its first product
  W scale{};      ///< value of A's entry

  /// What another lane holds; nothing when there is no such lane. All lanes must call.
  [[nodiscard]] __device__ ScaledList of_lane(int lane) const {
    ScaledList result;
    result.begin = __shfl_sync(full_warp, begin, lane);
    result.length = __shfl_sync(full_warp, length, lane);
    result.place = __shfl_sync(full_warp, place, lane);
    if constexpr (has_values<W>) result.scale = __shfl_sync(full_warp, scale, lane);
    if (lane >= warp_size) result.length = 0;
    return result;
  }
};

/// The list of entry k of A, without a place.
template <class W, class V>
[[nodiscard]] __device__ ScaledList<W> list_of(const Factors<V>& factors, offset_t k) {
  const index_t row = __ldg(factors.a_columns + k);
  ScaledList<W> list;
  list.begin = static_cast<std::uint32_t>(__ldg(factors.b_offsets + row));
  list.length = static_cast<int>(static_cast<std::uint32_t>(__ldg(factors.b_offsets + row + 1)) - list.begin);
  if constexpr (has_values<W>) list.scale = value_at(factors.a_values, k);
  return list;
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
      ScaledList<W> mine;
      if (lane < end - begin) mine = list_of<W>(factors_, begin + lane);
      const int up_to = sum_up_to_lane(mine.length);
      mine.place = products + up_to - mine.length;
      products += __shfl_sync(full_warp, up_to, warp_size - 1);
      lists(mine, end - begin < warp_size ? static_cast<int>(end - begin) : warp_size);
    }
    return products;
  }

 private:
  /// Groups of lanes whose loads are under way at once.
  static constexpr int batch = 2;

  /// \param count lanes that hold a list
  __device__ void lists(const ScaledList<W>& mine, int count) const {
    const int lane = static_cast<int>(threadIdx.x % warp_size);
    const int groups = warp_size >> log_lanes_;
    const int group = lane >> log_lanes_;
    const int k = lane & ((1 << log_lanes_) - 1);
    for (int first = 0; first < count; first += batch * groups) {
      ScaledList<W> list[batch];
      index_t column[batch];
      W value[batch];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        list[b] = mine.of_lane(first + b * groups + group);
        if (k < list[b].length) load(list[b], k, column[b], value[b]);
      }
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        if (k < list[b].length) store(list[b], k, column[b], value[b]);
        rest(list[b], k + (1 << log_lanes_));
      }
    }
  }

  /// What the first round of its lanes has left of a list.
  __device__ void rest(const ScaledList<W>& list, int k) const {
#pragma unroll 1
    for (; k < list.length; k += 1 << log_lanes_) {
      index_t column;
      W value;
      load(list, k, column, value);
      store(list, k, column, value);
    }
  }

  __device__ void load(const ScaledList<W>& list, int k, index_t& column, [[maybe_unused]] W& value) const {
    const std::uint32_t at = list.begin + static_cast<std::uint32_t>(k);
    column = __ldg(factors_.b_columns + at);
    if constexpr (has_values<W>) value = value_at(factors_.b_values, at);
  }

  __device__ void store(const ScaledList<W>& list, int k, index_t column, [[maybe_unused]] W value) const {
    const int place = list.place + k;
    buffer_.keys[place] = keys_.key(column, place);
    if constexpr (has_values<W>) buffer_.values[place] = product_of(list.scale, value);
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
    const int place = lane + warp_size * i;
    keys[i] = place < products ? buffer.keys[place] : no_key;
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

/// Writes the row, a lane an entry: neighbouring lanes write neighbouring entries, and each adds its products in the
/// order of their places.
template <int E, class V>
__device__ void contract(const ProductBuffer<E, V>& buffer, const ProductKeys& numbering, int products, int entries,
                         const RowOutput<V>& out, offset_t place) {
  for (int e = static_cast<int>(threadIdx.x % warp_size); e < entries; e += warp_size) {
    const int first = buffer.heads[e];
    const std::uint32_t key = buffer.keys[first];
    out.columns[place + e] = numbering.column(key);
    if constexpr (has_values<V>) {
      const int end = e + 1 < entries ? buffer.heads[e + 1] : products;
      V sum = buffer.values[numbering.place(key)];
#pragma unroll 1
      for (int i = first + 1; i < end; ++i) sum = sum_of(sum, buffer.values[numbering.place(buffer.keys[i])]);
      out.values[place + e] = sum;
    }
  }
}

constexpr int threads = 128;
constexpr int warps = threads / warp_size;
/// Blocks that a multiprocessor should hold at once.
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

/// Sorted products of a row. All lanes have the same, but for what is said to be a lane's.
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

/// Where the row of this warp goes. All threads of the block must call.
template <RowPass Pass, class V>
__device__ offset_t place_of_warp(const RowOutput<V>& out, const WarpRow& row, int entries) {
  const bool speaks = row.exists && threadIdx.x % warp_size == 0;
  offset_t place = no_place;
  if (Pass == RowPass::place || out.starts != nullptr) {
    if (speaks) place = place_of<Pass>(out, row.number, entries);
  } else {
    const BlockEntries in_block = entries_in_block<threads>(speaks ? entries : 0);
    const offset_t first = claim_for_block(out, in_block.total);
    if (speaks) place = take_of_block(out, row.number, entries, first, in_block.before);
  }
  return __shfl_sync(full_warp, place, 0);
}

template <RowPass Pass, int E, class V>
__global__ void __launch_bounds__(threads, resident_blocks)
    esc_kernel(Factors<V> factors, RowBatch batch, RowOutput<V> out, int log_lanes) {
  const auto buffer = ProductBuffer<E, V>::of_warp();
  const WarpRow row = row_of_warp(batch, factors.a_offsets);
  SortedRow<E> sorted;
  expand_and_sort(factors, row, log_lanes, buffer, sorted);
  __syncwarp();  // all keys have been read
  store_sorted(buffer, sorted.keys, sorted.heads, sorted.before);
  const offset_t place = place_of_warp<Pass>(out, row, sorted.entries);
  if (place != no_place) contract(buffer, row.keys, sorted.products, sorted.entries, out, place);
}

/// Lanes that expand a row of B together, as a power of two: the fewest that take three quarters of a mean row at once.
int log_lanes_for(double mean_list) {
  int log_lanes = 0;
  while (log_lanes < 5 && (1 << log_lanes) < 0.75 * mean_list) ++log_lanes;
  return log_lanes;
}

/// \tparam W V, or NoValue for a pass that only counts
template <int E, class W, class Kernel>
void launch_kernel(const Context& context, Kernel kernel, const Factors<W>& factors, const RowBatch& batch,
                   const RowOutput<W>& out) {
  const std::size_t shared_bytes = warps * ProductBuffer<E, W>::bytes;
  set_carve_out(kernel, shared_bytes, resident_blocks, context.limits());
  launch("sorting the products of rows", context, Grid{blocks_for(batch.count, warps), threads, shared_bytes}, kernel,
         factors, batch, out, log_lanes_for(batch.mean_list));
}

template <int E, class V>
void launch_pass(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (pass == RowPass::place) {
    launch_kernel<E>(context, esc_kernel<RowPass::place, E, V>, factors, batch, out);
  } else if (pass == RowPass::claim) {
    launch_kernel<E>(context, esc_kernel<RowPass::claim, E, V>, factors, batch, out);
  } else {
    RowOutput<NoValue> counts;
    counts.counts = out.counts;
    launch_kernel<E>(context, esc_count_kernel<E>, positions_of(factors), batch, counts);
  }
}

}  // namespace

template <class V>
void enqueue_esc(const Context& context, RowPass pass, const Factors<V>& factors, const RowBatch& batch,
                 const RowOutput<V>& out) {
  if (batch.count == 0) return;
  const std::uint32_t products = batch.most_products;
  if (products <= 64) return launch_pass<2>(context, pass, factors, batch, out);
  if (products <= 128) return launch_pass<4>(context, pass, factors, batch, out);
  if (products <= 256) return launch_pass<8>(context, pass, factors, batch, out);
  launch_pass<esc_products / warp_size>(context, pass, factors, batch, out);
}

template void enqueue_esc(const Context&, RowPass, const Factors<double>&, const RowBatch&, const RowOutput<double>&);
template void enqueue_esc(const Context&, RowPass, const Factors<float>&, const RowBatch&, const RowOutput<float>&);
template void enqueue_esc(const Context&, RowPass, const Factors<NoValue>&, const RowBatch&, const RowOutput<NoValue>&);

}  // namespace tessera::cuda
