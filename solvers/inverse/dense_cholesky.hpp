/// \file
/// Cholesky factorization of a small dense matrix by one group of lanes (G. H. Golub, C. F. Van Loan, Matrix
/// Computations, 4th ed., §4.2). The lower triangle lies packed by columns; of a factor the diagonal holds 1 / l_cc.
/// Entry (r, c) loses l_rk l_ck for k = 0, 1, ..., c - 1 in that order, whatever the group.
#pragma once

#include "core/host_device.hpp"
#include "solvers/factors/pivot.hpp"
#include "solvers/inverse/thread_group.hpp"

#include <cmath>

namespace tessera::detail {

/// A packed lower triangle; column(c)[r] is entry (r, c), r >= c.
struct PackedLower {
  double* data;
  int size;

  [[nodiscard]] TESSERA_HOST_DEVICE double* column(int c) const noexcept {
    return data + (c * size - c * (c - 1) / 2 - c);
  }
};

/// Subtracts the products of the columns before it from column c.
template <class Group>
TESSERA_HOST_DEVICE void update_column(const Group& group, const PackedLower& l, int c) {
  double* const target = l.column(c);
  if constexpr (Group::is_serial) {
    // Columns contiguously: the compiler vectorizes over r.
    for (int k = 0; k < c; ++k) {
      const double* const source = l.column(k);
      const double factor = source[c];
      for (int r = c; r < l.size; ++r) target[r] -= fused::rounded_product(source[r], factor);
    }
  } else {
    for (int r = c + group.rank(); r < l.size; r += group.size()) {
      double left = target[r];
      for (int k = 0; k < c; ++k) {
        const double* const source = l.column(k);
        left -= fused::rounded_product(source[r], source[c]);
      }
      target[r] = left;
    }
  }
}

/// What becomes of a pivot that is too small.
enum class SmallPivot {
  stop,  ///< at rounding: the matrix is not positive definite
  skip,  ///< its unknown becomes 0: a basic solution of a semidefinite system
};

/// The smallest pivot of normal equations that is no rounding: their entries are right to 1e-16, so that the squared
/// norm of a residual is right to 1e-6.
inline constexpr double least_normal_pivot = 1e-10;

/// A = L Lᵀ in place, for a matrix with a diagonal of ones. All lanes call, and return the same.
/// \returns false where it stopped, and L is not to be used
template <class Group>
[[nodiscard]] TESSERA_HOST_DEVICE bool factorize(const Group& group, const PackedLower& l, SmallPivot small) {
  for (int c = 0; c < l.size; ++c) {
    update_column(group, l, c);
    group.sync();
    double* const column = l.column(c);
    const double pivot = column[c];
    const bool is_good = small == SmallPivot::stop ? is_good_pivot(pivot, 1.0) : pivot > least_normal_pivot;
    if (!is_good && small == SmallPivot::stop) return false;
    const double inverse = is_good ? 1.0 / std::sqrt(pivot) : 0.0;
    group.sync();
    for (int r = c + 1 + group.rank(); r < l.size; r += group.size()) {
      column[r] = fused::rounded_product(column[r], inverse);
    }
    if (group.rank() == 0) column[c] = inverse;
    group.sync();
  }
  return true;
}

/// Solves L y = x in place.
template <class Group>
TESSERA_HOST_DEVICE void solve_lower(const Group& group, const PackedLower& l, double* x) {
  for (int k = 0; k < l.size; ++k) {
    const double* const column = l.column(k);
    const double value = fused::rounded_product(x[k], column[k]);
    group.sync();
    if (group.rank() == 0) x[k] = value;
    for (int r = k + 1 + group.rank(); r < l.size; r += group.size()) {
      x[r] -= fused::rounded_product(column[r], value);
    }
    group.sync();
  }
}

/// Solves Lᵀ y = x in place.
template <class Group>
TESSERA_HOST_DEVICE void solve_lower_transposed(const Group& group, const PackedLower& l, double* x) {
  for (int k = l.size - 1; k >= 0; --k) {
    const double value = fused::rounded_product(x[k], l.column(k)[k]);
    group.sync();
    if (group.rank() == 0) x[k] = value;
    for (int j = group.rank(); j < k; j += group.size()) x[j] -= fused::rounded_product(l.column(j)[k], value);
    group.sync();
  }
}

}  // namespace tessera::detail
