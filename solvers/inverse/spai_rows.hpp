/// \file
/// Rows of a sparse approximate inverse (M. J. Grote, T. Huckle, SIAM J. Sci. Comput. 18(3), 1997): row i of M
/// minimizes ‖m_iᵀ A - e_iᵀ‖₂ over its pattern J. The normal equations of the rows of A scaled to norm 1, N = A[J, :]
/// A[J, :]ᵀ, are solved by Cholesky; an unknown whose row of A is, to 1e-5 of its norm, a combination of rows before it
/// becomes 0.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/inverse/dense_cholesky.hpp"
#include "solvers/inverse/kept_rows.hpp"
#include "solvers/inverse/thread_group.hpp"

#include <cmath>

namespace tessera::detail {

/// Rows of norm 1, u_i = a_i s_i with s_i = 1 / ‖a_i‖₂; a row of zeros stays one, s_i = 0. Reports rows that hold what
/// is not finite, or whose norm has no finite inverse.
template <class T>
struct SpaiUnitRows {
  static constexpr bool solves = false;
  CsrPointers<T> a;
  double* scale;
  double* values;
  RowReport* report;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const offset_t begin = a.offsets[row];
    const offset_t end = a.offsets[row + 1];
    double largest = 0.0;
    for (offset_t k = begin + group.rank(); k < end; k += group.size()) {
      const auto value = static_cast<double>(value_at(a, k));
      if (!std::isfinite(value)) lower_to(&report->first_bad, row);
      if (largest < magnitude(value)) largest = magnitude(value);
    }
    largest = group.largest(largest);
    const double squares = group.sum_terms(begin, end, [&](offset_t k) {
      const double ratio = static_cast<double>(value_at(a, k)) / largest;
      return fused::rounded_product(ratio, ratio);
    });
    const bool is_zero = largest == 0.0;
    const double inverse = is_zero ? 0.0 : 1.0 / std::sqrt(squares);
    for (offset_t k = begin + group.rank(); k < end; k += group.size()) {
      values[k] = is_zero ? 0.0 : static_cast<double>(value_at(a, k)) / largest * inverse;
    }
    if (group.rank() != 0) return;
    scale[row] = is_zero ? 0.0 : inverse / largest;
    if (!std::isfinite(scale[row])) lower_to(&report->first_bad, row);
  }
};

/// m_i = a_ii / ‖a_i‖₂². Reports rows where that is 0 or not finite.
template <class T>
struct SpaiDiagonal {
  static constexpr bool solves = false;
  CsrPointers<double> unit;
  const double* scale;
  T* diagonal;
  RowReport* report;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    if (group.rank() != 0) return;
    const offset_t k = diagonal_position(unit, row);
    const T value = k < 0 ? T{0} : static_cast<T>(unit.values[k] * scale[row]);
    diagonal[row] = value;
    if (value == T{0} || !std::isfinite(value)) lower_to(&report->first_bad, row);
  }
};

/// The rows of M. Reports rows of zeros, and what no T holds.
template <class T>
struct SpaiSolve {
  static constexpr bool solves = true;
  CsrPointers<double> unit;
  const double* scale;
  const offset_t* offsets;
  const index_t* columns;
  T* values;
  RowReport* report;

  [[nodiscard]] TESSERA_HOST_DEVICE int unknowns(index_t row) const noexcept {
    return static_cast<int>(offsets[row + 1] - offsets[row]);
  }

  /// <u_p, u_q>, terms by ascending columns: by a walk along both, or searches in one that is much longer.
  [[nodiscard]] TESSERA_HOST_DEVICE double inner_product(index_t p, index_t q) const {
    constexpr offset_t much_longer = 16;
    const offset_t p_size = unit.offsets[p + 1] - unit.offsets[p];
    const offset_t q_size = unit.offsets[q + 1] - unit.offsets[q];
    const bool swaps = p_size > q_size;
    const index_t few = swaps ? q : p;
    const index_t many = swaps ? p : q;
    const bool searches = (swaps ? p_size : q_size) > much_longer * (swaps ? q_size : p_size);
    const offset_t end = unit.offsets[many + 1];
    offset_t other = unit.offsets[many];
    double sum = 0.0;
    for (offset_t k = unit.offsets[few]; k < unit.offsets[few + 1]; ++k) {
      const index_t column = unit.columns[k];
      if (searches) {
        other = position_of(unit, many, column);
        if (other < 0) continue;
      } else {
        while (other < end && unit.columns[other] < column) ++other;
        if (other == end) break;
        if (unit.columns[other] != column) continue;
      }
      sum += fused::rounded_product(unit.values[k], unit.values[other]);
    }
    return sum;
  }

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* scratch) const {
    const offset_t begin = offsets[row];
    const index_t* const j = columns + begin;
    const int size = unknowns(row);
    const PackedLower n{scratch, size};
    double* const m = scratch + size * (size + 1) / 2;
    for (int c = 0; c < size; ++c) {
      for (int r = c + group.rank(); r < size; r += group.size()) {
        n.column(c)[r] = r == c ? (scale[j[r]] > 0.0 ? 1.0 : 0.0) : inner_product(j[r], j[c]);
      }
    }
    for (int r = group.rank(); r < size; r += group.size()) {
      const offset_t k = position_of(unit, j[r], row);
      m[r] = k < 0 ? 0.0 : unit.values[k];
    }
    group.sync();
    static_cast<void>(factorize(group, n, SmallPivot::skip));
    solve_lower(group, n, m);
    solve_lower_transposed(group, n, m);
    for (int r = group.rank(); r < size; r += group.size()) {
      values[begin + r] = static_cast<T>(fused::rounded_product(m[r], scale[j[r]]));
      if (!std::isfinite(values[begin + r])) lower_to(&report->first_bad, row);
    }
    if (group.rank() == 0 && is_zero(m, size)) lower_to(&report->first_bad, row);
  }

  [[nodiscard]] TESSERA_HOST_DEVICE static bool is_zero(const double* m, int size) {
    for (int r = 0; r < size; ++r) {
      if (m[r] != 0.0) return false;
    }
    return true;
  }
};

}  // namespace tessera::detail
