/// \file
/// The products a_ij x_j of a matrix, by number of the nonzero. Weighted and pattern matrices are two types, so that no
/// loop asks which it has.
#pragma once

#include "spmv/common/gather_access.hpp"
#include "tessera/csr.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

namespace tessera::host {

template <class T>
struct WeightedTerms {
  const T* values;
  const index_t* columns;
  const T* x;
  offset_t count;  ///< nonzeros of the matrix
  [[nodiscard]] T operator[](offset_t k) const noexcept { return values[k] * x[columns[k]]; }
  /// Prefetches the matrix at nonzero k, or at the last.
  void prefetch_matrix(offset_t k) const noexcept {
    k = std::min(k, count - 1);
    __builtin_prefetch(values + k);
    __builtin_prefetch(columns + k);
  }
};

template <class T>
struct PatternTerms {
  const index_t* columns;
  const T* x;
  offset_t count;  ///< nonzeros of the matrix
  [[nodiscard]] T operator[](offset_t k) const noexcept { return x[columns[k]]; }
  /// Prefetches the matrix at nonzero k, or at the last.
  void prefetch_matrix(offset_t k) const noexcept { __builtin_prefetch(columns + std::min(k, count - 1)); }
};

/// The same terms; each access prefetches the x of a later one.
template <class Terms>
struct PrefetchedTerms {
  Terms terms;
  offset_t count = terms.count;
  [[nodiscard]] auto operator[](offset_t k) const noexcept {
    __builtin_prefetch(terms.x + terms.columns[std::min(k + gather_distance, count - 1)]);
    return terms[k];
  }
  void prefetch_matrix(offset_t k) const noexcept { terms.prefetch_matrix(k); }
};

/// The terms without prefetching, for x that is in a cache already.
template <class Terms>
[[nodiscard]] const Terms& cached(const Terms& terms) noexcept {
  return terms;
}
template <class Terms>
[[nodiscard]] const Terms& cached(const PrefetchedTerms<Terms>& prefetched) noexcept {
  return prefetched.terms;
}

/// function(terms) with the type of terms that the matrix has.
template <class T, class Function>
auto with_terms(const CsrView<T>& a, std::span<const T> x, Function&& function) {
  if (a.is_pattern()) return function(PatternTerms<T>{a.columns.data(), x.data(), a.nnz()});
  return function(WeightedTerms<T>{a.values.data(), a.columns.data(), x.data(), a.nnz()});
}

/// The same, with prefetching where reads of x are scattered.
template <class T, class Function>
auto with_terms(const CsrView<T>& a, std::span<const T> x, GatherAccess access, Function&& function) {
  if (access == GatherAccess::streamed) return with_terms(a, x, function);
  return with_terms(
      a, x, [&](const auto& terms) { return function(PrefetchedTerms<std::remove_cvref_t<decltype(terms)>>{terms}); });
}

/// Nonzeros between a term and the prefetch of values and columns: about a page, at whose end hardware prefetching
/// stops.
inline constexpr offset_t stream_distance = 512;

/// Terms from which sum_terms() adds in four partial sums. Below, two are faster.
inline constexpr offset_t long_sum = 96;

/// Sum of many terms; four partial sums hide the latency of the additions. Prefetches continue at `next`, where the
/// following sum begins.
template <class T, class Terms>
[[nodiscard, gnu::noinline]] T sum_many_terms(Terms terms, offset_t begin, offset_t end, offset_t next) noexcept {
  const offset_t jump = next - end;
  T partial[4] = {};
  offset_t k = begin;
  for (; k + 8 <= end; k += 8) {
    const offset_t ahead = k + stream_distance;
    terms.prefetch_matrix(ahead < end ? ahead : ahead + jump);
    for (offset_t j = k; j < k + 8; j += 4) {
      partial[0] += terms[j];
      partial[1] += terms[j + 1];
      partial[2] += terms[j + 2];
      partial[3] += terms[j + 3];
    }
  }
  for (; k < end; ++k) partial[0] += terms[k];
  return (partial[0] + partial[1]) + (partial[2] + partial[3]);
}

/// Rows of at most so many terms are summed without a branch, since a processor cannot predict their lengths.
inline constexpr offset_t short_sum = 4;

/// Masks of the first 0 to 4 of four terms. In memory, since a compiler that could compute them would branch.
template <class Bits>
inline constexpr std::array<std::array<Bits, 4>, 5> few_terms_mask{{{0, 0, 0, 0},
                                                                    {~Bits{0}, 0, 0, 0},
                                                                    {~Bits{0}, ~Bits{0}, 0, 0},
                                                                    {~Bits{0}, ~Bits{0}, ~Bits{0}, 0},
                                                                    {~Bits{0}, ~Bits{0}, ~Bits{0}, ~Bits{0}}}};

/// Sum of `count` <= 4 terms from k on; four can be read. The others become zero, also NaN.
template <class T, class Terms>
[[nodiscard]] inline T sum_few_terms(const Terms& terms, offset_t k, offset_t count) noexcept {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  const auto& mask = few_terms_mask<Bits>[static_cast<std::size_t>(count)];
  std::array<T, 4> kept;
  for (std::size_t j = 0; j < 4; ++j) {
    kept[j] = std::bit_cast<T>(std::bit_cast<Bits>(terms[k + static_cast<offset_t>(j)]) & mask[j]);
  }
  return (kept[0] + kept[2]) + (kept[1] + kept[3]);
}

/// Sum of the terms [begin, end), in an order that depends on their number, and for the last few of the matrix also on
/// their position.
template <class T, class Terms>
[[nodiscard]] inline T sum_terms(const Terms& terms, offset_t begin, offset_t end) noexcept {
  if (end - begin <= short_sum && begin + short_sum <= terms.count) {
    return sum_few_terms<T>(terms, begin, end - begin);
  }
  if (end - begin >= long_sum) return sum_many_terms<T>(terms, begin, end, end);
  if (begin == end) return T{0};  // perhaps of a matrix without any
  terms.prefetch_matrix(begin + stream_distance);
  T even{0};
  T odd{0};
  offset_t k = begin;
  for (; k + 2 <= end; k += 2) {
    even += terms[k];
    odd += terms[k + 1];
  }
  if (k < end) even += terms[k];
  return even + odd;
}

/// The same bits, all inline, since a call would keep the loop's numbers out of registers, and without the masks of
/// sum_few_terms(): faster where x comes from a cache. \tparam prefetches the matrix does not
template <class T, bool prefetches, class Terms>
[[nodiscard]] inline T sum_inline_terms(const Terms& terms, offset_t begin, offset_t end) noexcept {
  T partial[4] = {};
  offset_t k = begin;
  if constexpr (prefetches) terms.prefetch_matrix(begin + stream_distance);
  if (end - begin >= long_sum) [[unlikely]] {
    for (; k + 8 <= end; k += 8) {
      if constexpr (prefetches) terms.prefetch_matrix(k + stream_distance);
      for (offset_t j = k; j < k + 8; j += 4) {
        for (offset_t lane = 0; lane < 4; ++lane) partial[lane] += terms[j + lane];
      }
    }
    for (; k < end; ++k) partial[0] += terms[k];
    return (partial[0] + partial[1]) + (partial[2] + partial[3]);
  }
  for (; k + 2 <= end; k += 2) {
    partial[0] += terms[k];
    partial[1] += terms[k + 1];
  }
  if (k < end) partial[0] += terms[k];
  return partial[0] + partial[1];
}

/// The same bits for rows of few terms, or of lengths that a processor cannot predict: the partial sums change places,
/// so that the only branch is the end of the row. \tparam prefetches the matrix does not
template <class T, bool prefetches, class Terms>
[[nodiscard]] inline T sum_short_terms(const Terms& terms, offset_t begin, offset_t end) noexcept {
  if (end - begin >= long_sum) [[unlikely]]
    return sum_many_terms<T>(terms, begin, end, end);
  if (begin == end) return T{0};
  if constexpr (prefetches) terms.prefetch_matrix(begin + stream_distance);
  T even{0};
  T odd{0};
  for (offset_t k = begin; k < end; ++k) {
    const T sum = even + terms[k];
    even = odd;
    odd = sum;
  }
  return even + odd;
}

}  // namespace tessera::host
