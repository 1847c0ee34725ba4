/// \file
/// A row of C by the threads of a team, a warp or a block: its products are expanded into shared memory, as many by
/// each thread, sorted, and contracted (optimized-esc-spgemm.txt).
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/accumulate/sort_team.cuh"
#include "spgemm/cuda/rows.cuh"
#include "spgemm/esc/place_key.cuh"

#include <cstddef>
#include <cstdint>

namespace tessera::cuda {

/// Sum over the threads of a team before this one. Every thread must call. \param total over all
/// \param of_warps in shared memory, a number a warp
template <int Threads>
[[nodiscard]] __device__ unsigned sum_before_in_team(unsigned value, unsigned& total, unsigned* of_warps) {
  if constexpr (Team<Threads>::is_warp) {
    const unsigned up_to = sum_up_to_lane(value);
    total = __shfl_sync(full_warp, up_to, warp_size - 1);
    return up_to - value;
  } else {
    const BlockSum<unsigned> sum = running_sum_in_block<Threads, true>(value, of_warps);
    total = sum.total;
    return sum.before;
  }
}

/// Shared memory of a team. \tparam Each keys of a thread
template <int Threads, int Each, class Key, class V>
struct TeamMemory {
  static constexpr unsigned places = Threads * Each;
  static constexpr std::size_t key_bytes = (places + places / warp_size) * sizeof(Key);
  static constexpr std::size_t list_bytes = Threads * (has_values<V> ? sizeof(V) : 0);
  static constexpr std::size_t fixed_bytes =
      key_bytes + list_bytes + 2 * Threads * sizeof(std::uint32_t) + (Threads / warp_size + 4) * sizeof(offset_t);

  /// \param products of the largest row
  [[nodiscard]] __host__ __device__ static constexpr std::size_t bytes(std::uint32_t products) {
    const std::size_t of_products = products * ((has_values<V> ? sizeof(V) : 0) + sizeof(std::uint16_t));
    return (fixed_bytes + of_products + 15) / 16 * 16;
  }

  Key* keys = nullptr;              ///< of the products, at spread() places
  V* values = nullptr;              ///< of the products, by place
  V* scales = nullptr;              ///< entries of A at hand
  offset_t* place = nullptr;        ///< of the row
  std::uint32_t* starts = nullptr;  ///< of the rows of B at hand: products of those before
  std::uint32_t* begins = nullptr;  ///< of the rows of B at hand: first entry
  unsigned* of_warps = nullptr;     ///< see sum_before_in_team
  std::uint16_t* heads = nullptr;   ///< of each entry of the row: the first of its sorted keys

  __device__ TeamMemory(unsigned char* at, std::uint32_t products) {
    keys = take<Key>(at, places + places / warp_size);
    if constexpr (has_values<V>) {
      values = take<V>(at, products);
      scales = take<V>(at, Threads);
      // A float may be the last one of an odd number.
      at += sizeof(V) < sizeof(offset_t) ? products % 2 * sizeof(V) : 0;
    }
    place = take<offset_t>(at, 1);
    starts = take<std::uint32_t>(at, Threads);
    begins = take<std::uint32_t>(at, Threads);
    of_warps = take<unsigned>(at, Threads / warp_size);
    heads = take<std::uint16_t>(at, products);
  }

 private:
  template <class X>
  [[nodiscard]] __device__ static X* take(unsigned char*& at, std::uint32_t count) {
    auto* const first = reinterpret_cast<X*>(at);
    at += count * sizeof(X);
    return first;
  }
};

/// \tparam V of the factors
template <int Threads, int Each, class Key, class V>
class TeamRow {
 public:
  using All = Team<Threads>;
  using Memory = TeamMemory<Threads, Each, Key, V>;

  __device__ TeamRow(const Factors<V>& factors, const PlaceKeys<Key>& numbering, const Memory& memory)
      : factors_(factors), numbering_(numbering), memory_(memory) {}

  /// Writes the products of A's row, as many lists at once as the team has threads, and each thread as many products.
  __device__ void expand(offset_t begin, offset_t end) {
    for (offset_t first = begin; first < end; first += Threads) {
      const unsigned total = stage_lists(first, end);
      for (unsigned base = 0; base < total; base += Threads) {
        const unsigned q = base + All::thread();
        if (q < total) expand_product(q);
      }
      products_ += total;
    }
    All::meet();
  }

  /// Sorts the keys, and finds where entries begin.
  __device__ void sort() {
    const unsigned first = All::thread() * Each;
    Key keys[Each];
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      keys[i] = first + i < products_ ? memory_.keys[spread(first + i)] : PlaceKeys<Key>::none;
    }
    unsigned size = Each;
    while (size < products_) size *= 2;
    sort_team<Each, Threads>(keys, size, memory_.keys);
    All::meet();  // all have what they exchanged
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) memory_.keys[spread(first + i)] = keys[i];
    All::meet();
    find_heads(keys, first == 0 ? PlaceKeys<Key>::none : memory_.keys[spread(first - 1)]);
  }

  [[nodiscard]] __device__ unsigned entries() const { return entries_; }

  /// Writes the row, a thread an entry, whose products are added in the order of their places.
  __device__ void contract(const RowOutput<V>& out, offset_t place) const {
    for (unsigned e = All::thread(); e < entries_; e += Threads) {
      const unsigned first = memory_.heads[e];
      const Key key = memory_.keys[spread(first)];
      out.columns[place + e] = numbering_.column(key);
      if constexpr (has_values<V>) {
        const unsigned end = e + 1 < entries_ ? memory_.heads[e + 1] : products_;
        V sum = memory_.values[numbering_.place(key)];
#pragma unroll 1
        for (unsigned i = first + 1; i < end; ++i) {
          sum = sum_of(sum, memory_.values[numbering_.place(memory_.keys[spread(i)])]);
        }
        out.values[place + e] = sum;
      }
    }
  }

 private:
  /// The next lists, a thread each. \returns their products
  [[nodiscard]] __device__ unsigned stage_lists(offset_t first, offset_t end) {
    const unsigned thread = All::thread();
    const offset_t k = first + thread;
    All::meet();  // nobody reads the lists before these any more
    unsigned length = 0;
    if (k < end) {
      const index_t list = __ldg(factors_.a_columns + k);
      const auto begin = static_cast<std::uint32_t>(__ldg(factors_.b_offsets + list));
      length = static_cast<std::uint32_t>(__ldg(factors_.b_offsets + list + 1)) - begin;
      memory_.begins[thread] = begin;
      if constexpr (has_values<V>) memory_.scales[thread] = value_at(factors_.a_values, k);
    }
    unsigned total = 0;
    memory_.starts[thread] = sum_before_in_team<Threads>(length, total, memory_.of_warps);
    All::meet();
    return total;
  }

  /// Product q of the lists at hand.
  __device__ void expand_product(unsigned q) {
    unsigned list = 0;  // the last one that begins at q or before: those without products end there, too
#pragma unroll
    for (unsigned step = Threads / 2; step > 0; step /= 2) {
      if (memory_.starts[list + step] <= q) list += step;
    }
    const std::uint32_t at = memory_.begins[list] + (q - memory_.starts[list]);
    const unsigned place = products_ + q;
    memory_.keys[spread(place)] = numbering_.key(__ldg(factors_.b_columns + at), static_cast<int>(place));
    if constexpr (has_values<V>) {
      memory_.values[place] = product_of(memory_.scales[list], value_at(factors_.b_values, at));
    }
  }

  /// \param before the key before this thread's first one
  __device__ void find_heads(const Key (&keys)[Each], Key before) {
    const unsigned first = All::thread() * Each;
    unsigned heads = 0;
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      const bool differs = numbering_.column_part(keys[i]) != numbering_.column_part(before);
      if (first + i < products_ && (first + i == 0 || differs)) heads |= 1u << i;
      before = keys[i];
    }
    unsigned entry = sum_before_in_team<Threads>(static_cast<unsigned>(__popc(heads)), entries_, memory_.of_warps);
#pragma unroll
    for (unsigned i = 0; i < Each; ++i) {
      if ((heads >> i & 1) != 0) memory_.heads[entry++] = static_cast<std::uint16_t>(first + i);
    }
    All::meet();
  }

  const Factors<V>& factors_;
  const PlaceKeys<Key>& numbering_;
  const Memory& memory_;
  unsigned products_ = 0;
  unsigned entries_ = 0;
};

}  // namespace tessera::cuda
