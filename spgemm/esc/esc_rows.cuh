/// \file
/// A row of C by expansion, sorting and contraction in one warp (optimized-esc-spgemm.txt).
#pragma once

#include "core/cuda/shared_memory.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/rows.cuh"
#include "spgemm/esc/place_key.cuh"
#include "spgemm/esc/warp_sort.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

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

}  // namespace tessera::cuda
