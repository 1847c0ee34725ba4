/// \file
/// The products a_ij x_j of a matrix on a GPU, by number of the nonzero, and the epilogue of a row sum. Weighted and
/// pattern matrices, and values kept in lower precision, are different types, so that loops contain no branch.
#pragma once

#include "tessera/csr.hpp"

#include <cstdint>
#include <span>
#include <type_traits>

namespace tessera::cuda {

/// When the cache line of a load is used again.
enum class NextUse {
  never,  ///< it bypasses the caches, which are left to x
  soon,   ///< by another load of this thread or of its neighbours
};

template <NextUse Use, class E>
__device__ E load_entry(const E* from) {
  if constexpr (Use == NextUse::never) {
    return __ldcs(from);
  } else {
    return __ldg(from);
  }
}

/// from + count as an address: the compiler keeps it and adds 32-bit indices, instead of forming a 64-bit index for
/// every load.
template <class E>
__device__ const E* base_at(const E* from, offset_t count) {
  return reinterpret_cast<const E*>(reinterpret_cast<std::uintptr_t>(from) +
                                    static_cast<std::uintptr_t>(count) * sizeof(E));
}

/// Formed in S, from values stored as V and a vector of X.
template <class S, class V, class X = S>
struct DeviceWeightedTerms {
  using Sum = S;
  /// The part of a term that the matrix holds.
  struct Nonzero {
    V value;
    index_t column;
  };
  const V* values;
  const index_t* columns;
  const X* x;

  /// These terms numbered from nonzero `first` on.
  __device__ DeviceWeightedTerms from(offset_t first) const {
    return {base_at(values, first), base_at(columns, first), x};
  }
  template <NextUse Use>
  __device__ Nonzero entry(offset_t k) const {
    return {load_entry<Use>(values + k), load_entry<Use>(columns + k)};
  }
  __device__ S product(const Nonzero& entry) const {
    return static_cast<S>(entry.value) * static_cast<S>(__ldg(x + entry.column));
  }
  __device__ S operator[](offset_t k) const { return product(entry<NextUse::never>(k)); }
};

/// The same where every value is 1.
template <class S, class X = S>
struct DevicePatternTerms {
  using Sum = S;
  using Nonzero = index_t;
  const index_t* columns;
  const X* x;

  __device__ DevicePatternTerms from(offset_t first) const { return {base_at(columns, first), x}; }
  template <NextUse Use>
  __device__ Nonzero entry(offset_t k) const {
    return load_entry<Use>(columns + k);
  }
  __device__ S product(Nonzero column) const { return static_cast<S>(__ldg(x + column)); }
  __device__ S operator[](offset_t k) const { return product(entry<NextUse::never>(k)); }
};

/// function(terms) with the type of terms that the matrix has.
/// \param floats values to take in place of those of `a`, where that is not empty
template <class T, class Function>
void with_terms(const CsrView<T>& a, std::span<const float> floats, std::span<const T> x, Function&& function) {
  if (a.is_pattern()) return function(DevicePatternTerms<T>{a.columns.data(), x.data()});
  if constexpr (std::is_same_v<T, double>) {
    if (!floats.empty()) return function(DeviceWeightedTerms<T, float>{floats.data(), a.columns.data(), x.data()});
  }
  function(DeviceWeightedTerms<T, T>{a.values.data(), a.columns.data(), x.data()});
}

/// Epilogue y = α s + β y; the old y is not read when β = 0. Later parts of a row are added.
template <class T>
struct UpdateEpilogue {
  T* y;
  T alpha;
  T beta;
  __device__ void store(index_t row, T sum) const { y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row]; }
  /// \param old 0 when β = 0
  __device__ void store(index_t row, T sum, T old) const {
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * old;
  }
  __device__ void add(index_t row, T sum) const { y[row] += alpha * sum; }
};

/// Sum of the first terms 0, Stride, 2 Stride, ... below `count`, at most Batch of them. All loads of the matrix are in
/// flight before the first load of x.
template <int Batch, int Stride, NextUse Use, class Terms>
__device__ typename Terms::Sum batch_sum(const Terms& terms, int count) {
  static_assert(Batch % 2 == 0);
  typename Terms::Nonzero entry[Batch];
  typename Terms::Sum term[Batch];
#pragma unroll
  for (int i = 0; i < Batch; ++i) {
    if (i * Stride < count) entry[i] = terms.template entry<Use>(i * Stride);
  }
#pragma unroll
  for (int i = 0; i < Batch; ++i) {
    term[i] = i * Stride < count ? terms.product(entry[i]) : typename Terms::Sum{0};
  }
  typename Terms::Sum sum{0};
#pragma unroll
  for (int i = 0; i < Batch; i += 2) sum += term[i] + term[i + 1];
  return sum;
}

/// Sum of the terms 0, Stride, 2 Stride, ... below `count`, batch by batch.
template <int Batch, int Stride, NextUse Use, class Terms>
__device__ typename Terms::Sum strided_sum(Terms terms, int count) {
  typename Terms::Sum sum{0};
#pragma unroll 1
  for (; count > 0; count -= Batch * Stride) {
    sum += batch_sum<Batch, Stride, Use>(terms, count);
    terms = terms.from(Batch * Stride);
  }
  return sum;
}

}  // namespace tessera::cuda
