/// \file
/// The products a_ij x_j of a matrix on a GPU, by number of the nonzero, and what becomes of a row's sum. Weighted and
/// pattern matrices, and values kept in less precision, are different types of terms, so that no loop asks which it
/// has.
#pragma once

#include "tessera/csr.hpp"

#include <span>
#include <type_traits>

namespace tessera::cuda {

/// Formed in S, from values stored as V and a vector of X. What a product reads once is streamed past the caches, which
/// stay for x.
template <class S, class V, class X = S>
struct WeightedTerms {
  using Sum = S;
  const V* values;
  const index_t* columns;
  const X* x;
  __device__ S operator[](offset_t k) const {
    return static_cast<S>(__ldcs(values + k)) * static_cast<S>(__ldg(x + __ldcs(columns + k)));
  }
};

/// The same where every value is 1.
template <class S, class X = S>
struct PatternTerms {
  using Sum = S;
  const index_t* columns;
  const X* x;
  __device__ S operator[](offset_t k) const { return static_cast<S>(__ldg(x + __ldcs(columns + k))); }
};

/// function(terms) with the type of terms that the matrix has.
/// \param floats values to take in place of those of `a`, where that is not empty
template <class T, class Function>
void with_terms(const CsrView<T>& a, std::span<const float> floats, std::span<const T> x, Function&& function) {
  if (a.is_pattern()) return function(PatternTerms<T>{a.columns.data(), x.data()});
  if constexpr (std::is_same_v<T, double>) {
    if (!floats.empty()) return function(WeightedTerms<T, float>{floats.data(), a.columns.data(), x.data()});
  }
  function(WeightedTerms<T, T>{a.values.data(), a.columns.data(), x.data()});
}

/// y = α s + β y, where the old y is not read when β = 0; later parts of a row are added.
template <class T>
struct Update {
  T* y;
  T alpha;
  T beta;
  __device__ void store(index_t row, T sum) const { y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row]; }
  __device__ void add(index_t row, T sum) const { y[row] += alpha * sum; }
};

/// Sum of the terms begin, begin + stride, ... below end. Four loads are under way at a time.
template <class Terms>
__device__ typename Terms::Sum strided_sum(const Terms& terms, offset_t begin, offset_t end, int stride) {
  typename Terms::Sum sum{0};
  offset_t k = begin;
  for (; k + 3 * stride < end; k += 4 * stride) {
    const auto first = terms[k];
    const auto second = terms[k + stride];
    const auto third = terms[k + 2 * stride];
    const auto fourth = terms[k + 3 * stride];
    sum += (first + second) + (third + fourth);
  }
  for (; k < end; k += stride) sum += terms[k];
  return sum;
}

}  // namespace tessera::cuda
