/// \file
/// Pivots of incomplete factors: those of L U that vanish are replaced, those of L Lᵀ that do are refused (Y. Saad,
/// Iterative Methods for Sparse Linear Systems, 2nd ed., §10.8). For the host and kernels.
#pragma once

#include "core/host_device.hpp"

#include <limits>

namespace tessera::detail {

/// A pivot, and whether it stands in for another.
template <class T>
struct Pivot {
  T value;
  bool is_replaced;
};

/// Constants, because kernels cannot call std::numeric_limits.
template <class T>
inline constexpr T pivot_eps = std::numeric_limits<T>::epsilon();
template <class T>
inline constexpr T largest_pivot = std::numeric_limits<T>::max();

/// u itself; or, where |u| <= eps max_k |a_ik| or u is not finite, sqrt(eps) max_k |a_ik| with the sign of u, and 1 for
/// a row without entries other than 0.
/// \param u what elimination left on the diagonal \param row_max max_k |a_ik|, finite
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE Pivot<T> safe_pivot(T u, T row_max) noexcept {
  constexpr T root_of_eps = sizeof(T) == sizeof(double) ? T(1.4901161193847656e-8) : T(3.4526698300124393e-4);
  const T magnitude = u < T{0} ? -u : u;
  if (magnitude > pivot_eps<T> * row_max && magnitude <= largest_pivot<T>) return {u, false};
  const T replaced = root_of_eps * row_max;
  const T value = replaced > T{0} ? replaced : T{1};
  return {u < T{0} ? -value : value, true};
}

/// Whether a pivot of an incomplete Cholesky factorization may have its root taken. Below some rounding errors of its
/// diagonal entry it is nothing else; NaN and infinity are no good pivots either.
/// \param diagonal the entry of the matrix, with its shift
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE bool is_good_pivot(T pivot, T diagonal) noexcept {
  return pivot > 16 * pivot_eps<T> * diagonal && pivot <= largest_pivot<T>;
}

}  // namespace tessera::detail
