/// \file
/// A row of C by merging a few rows of B at once, in one thread.
#pragma once

#include "spgemm/cuda/rows.cuh"

#include <cstdint>

namespace tessera::cuda {

/// Column of a list that has ended: no matrix has it, for columns are fewer than 2^31.
inline constexpr index_t no_column = 0x7fffffff;

/// Up to K rows of B and how far they have been read. All indices are known when it is compiled, so that everything
/// lies in registers. An entry's column and value are asked for as soon as the one before it is taken, those of all
/// lists at once. Positions have 32 bits: B has fewer than 2^32 entries. \tparam W type of the values, or NoValue
/// \tparam Weights whether B has values
template <int K, class W, bool Weights>
class ListHeads {
 public:
  /// \param begin first entry of A's row \param lists entries of A's row, at most K
  template <class V>
  __device__ ListHeads(const Factors<V>& factors, offset_t begin, int lists) {
#pragma unroll
    for (int u = 0; u < K; ++u) {
      next_[u] = 0;
      end_[u] = 0;
      scale_[u] = W{};
      if (u < lists) open(u, factors, begin + u);
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

  /// Sum of the products at a column, in the order of A's row. Without branches: lanes of a warp take different lists.
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

  /// Goes on to the next entry in all lists that are at a column.
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
__device__ void merge_row(const Factors<V>& factors, offset_t begin, int lists, Write&& write) {
  ListHeads<K, W, Weights> heads(factors, begin, lists);
  for (index_t column = heads.column(); column != no_column; column = heads.column()) {
    write(column, heads.sum_at(column));
    heads.step_over(factors, column);
  }
}

/// Entries of a row of C.
template <int K, class V>
[[nodiscard]] __device__ offset_t count_merged(const Factors<V>& factors, offset_t begin, int lists) {
  std::uint32_t n = 0;
  merge_row<K, NoValue, false>(factors, begin, lists, [&](index_t, NoValue) { ++n; });
  return n;
}

}  // namespace tessera::cuda
