/// \file
/// The products a_ij x_j of a matrix, by number of the nonzero. Weighted and pattern matrices are two types, so that no
/// loop asks which it has.
#pragma once

#include "tessera/csr.hpp"

#include <span>

namespace tessera::host {

template <class T>
struct WeightedTerms {
  const T* values;
  const index_t* columns;
  const T* x;
  [[nodiscard]] T operator[](offset_t k) const noexcept { return values[k] * x[columns[k]]; }
};

template <class T>
struct PatternTerms {
  const index_t* columns;
  const T* x;
  [[nodiscard]] T operator[](offset_t k) const noexcept { return x[columns[k]]; }
};

/// function(terms) with the type of terms that the matrix has.
template <class T, class Function>
auto with_terms(const CsrView<T>& a, std::span<const T> x, Function&& function) {
  if (a.is_pattern()) return function(PatternTerms<T>{a.columns.data(), x.data()});
  return function(WeightedTerms<T>{a.values.data(), a.columns.data(), x.data()});
}

/// Terms from which sum_terms() adds in four partial sums. Below, the plain loop is faster: its only hard branch is its
/// end.
inline constexpr offset_t long_sum = 256;

/// Sum of many terms; four partial sums hide the latency of the additions.
template <class T, class Terms>
[[nodiscard, gnu::noinline]] T sum_many_terms(const Terms& terms, offset_t begin, offset_t end) noexcept {
  T partial[4] = {};
  offset_t k = begin;
  for (; k + 4 <= end; k += 4) {
    partial[0] += terms[k];
    partial[1] += terms[k + 1];
    partial[2] += terms[k + 2];
    partial[3] += terms[k + 3];
  }
  for (; k < end; ++k) partial[0] += terms[k];
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

/// Sum of the terms [begin, end), in an order that depends on their number alone.
template <class T, class Terms>
[[nodiscard]] inline T sum_terms(const Terms& terms, offset_t begin, offset_t end) noexcept {
  if (end - begin >= long_sum) return sum_many_terms<T>(terms, begin, end);
  T sum{0};
  for (offset_t k = begin; k < end; ++k) sum += terms[k];
  return sum;
}

}  // namespace tessera::host
