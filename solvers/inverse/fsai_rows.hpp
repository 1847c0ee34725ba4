/// \file
/// Rows of a factorized sparse approximate inverse (L. Yu. Kolotilina, A. Yu. Yeremin, SIAM J. Matrix Anal. Appl.
/// 14(1), 1993). With the pattern S of row i, i its last column, and A[S, S] = L Lᵀ: the row solves Lᵀ g = e_last, so
/// that A[S, S] g = e_last / g_last and (G A Gᵀ)_ii = 1. All is done in A scaled to a diagonal of ones.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/inverse/dense_cholesky.hpp"
#include "solvers/inverse/thread_group.hpp"

#include <cmath>

namespace tessera::detail {

/// s_i = a_ii^(-1/2). Reports rows whose diagonal entry is not positive, or that hold what is not finite or has no
/// mirror image.
template <class T>
struct FsaiCheck {
  static constexpr bool solves = false;
  CsrPointers<T> a;
  double* scale;
  RowReport* report;

  [[nodiscard]] TESSERA_HOST_DEVICE bool is_good(index_t row, offset_t k) const {
    const T value = value_at(a, k);
    if (!std::isfinite(value)) return false;
    const offset_t mirror = position_of(a, a.columns[k], row);
    return mirror >= 0 && value_at(a, mirror) == value;
  }

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const offset_t end = a.offsets[row + 1];
    for (offset_t k = a.offsets[row] + group.rank(); k < end; k += group.size()) {
      if (!is_good(row, k)) lower_to(&report->first_bad, row);
    }
    if (group.rank() != 0) return;
    const offset_t k = diagonal_position(a, row);
    const double diagonal = k < 0 ? 0.0 : static_cast<double>(value_at(a, k));
    scale[row] = diagonal > 0.0 ? 1.0 / std::sqrt(diagonal) : 0.0;
    if (!(diagonal > 0.0)) lower_to(&report->first_bad, row);
  }
};

/// â_ij = s_i a_ij s_j, and exactly 1 on the diagonal.
template <class T>
struct FsaiScale {
  static constexpr bool solves = false;
  CsrPointers<T> a;
  const double* scale;
  double* values;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const offset_t end = a.offsets[row + 1];
    for (offset_t k = a.offsets[row] + group.rank(); k < end; k += group.size()) {
      const index_t j = a.columns[k];
      values[k] = j == row ? 1.0 : static_cast<double>(value_at(a, k)) * scale[row] * scale[j];
    }
  }
};

/// Row r of A[S, S], by a walk along row S_r of A and S, or by a search per column where that row is long.
TESSERA_HOST_DEVICE inline void gather_row(const CsrPointers<double>& a, const index_t* s, const PackedLower& l,
                                           int r) {
  constexpr offset_t long_row = 16;
  const offset_t end = a.offsets[s[r] + 1];
  offset_t k = a.offsets[s[r]];
  const bool searches = end - k > long_row * l.size;
  for (int c = 0; c <= r; ++c) {
    if (searches) {
      k = position_of(a, s[r], s[c]);
      l.column(c)[r] = k < 0 ? 0.0 : a.values[k];
    } else {
      while (k < end && a.columns[k] < s[c]) ++k;
      l.column(c)[r] = k < end && a.columns[k] == s[c] ? a.values[k] : 0.0;
    }
  }
}

/// The row ĝ with the pattern S, into scratch memory behind its triangle. All lanes call, and return the same.
/// \param a scaled to a diagonal of ones \param s ascending, the last is the row \returns false where A[S, S] is not
/// positive definite
template <class Group>
[[nodiscard]] TESSERA_HOST_DEVICE bool solve_fsai_row(const Group& group, const CsrPointers<double>& a,
                                                      const index_t* s, int size, double* scratch) {
  const PackedLower l{scratch, size};
  double* const g = scratch + size * (size + 1) / 2;
  for (int r = group.rank(); r < size; r += group.size()) {
    gather_row(a, s, l, r);
    g[r] = r + 1 == size ? 1.0 : 0.0;
  }
  group.sync();
  if (!factorize(group, l, SmallPivot::stop)) return false;
  solve_lower_transposed(group, l, g);
  return true;
}

/// ĝ: the rows of G for the scaled matrix. Reports rows whose submatrix is not positive definite.
struct FsaiSolve {
  static constexpr bool solves = true;
  CsrPointers<double> a;
  const offset_t* offsets;
  const index_t* columns;
  double* values;
  RowReport* report;

  [[nodiscard]] TESSERA_HOST_DEVICE int unknowns(index_t row) const noexcept {
    return static_cast<int>(offsets[row + 1] - offsets[row]);
  }

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* scratch) const {
    const offset_t begin = offsets[row];
    const int size = unknowns(row);
    if (!solve_fsai_row(group, a, columns + begin, size, scratch)) {
      if (group.rank() == 0) lower_to(&report->first_bad, row);
      return;
    }
    const double* const g = scratch + size * (size + 1) / 2;
    for (int r = group.rank(); r < size; r += group.size()) values[begin + r] = g[r];
  }
};

/// g_ij = ĝ_ij s_j.
template <class T>
struct FsaiUnscale {
  static constexpr bool solves = false;
  CsrPointers<double> g;
  const double* scale;
  T* values;

  template <class Group>
  TESSERA_HOST_DEVICE void run(const Group& group, index_t row, double* /*scratch*/) const {
    const offset_t end = g.offsets[row + 1];
    for (offset_t k = g.offsets[row] + group.rank(); k < end; k += group.size()) {
      values[k] = static_cast<T>(g.values[k] * scale[g.columns[k]]);
    }
  }
};

}  // namespace tessera::detail
