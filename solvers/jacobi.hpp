/// \file
/// Jacobi preconditioner: its element operations. One thread finds the diagonal entry of one row by binary search.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/fused/ops.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace tessera::detail {

/// The first row whose diagonal entry is missing, zero, not finite, or without a finite inverse.
template <class T>
struct JacobiFirstUnfit {
  using Sums = FirstIndex;
  CsrPointers<T> a;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, FirstIndex& first) const {
    const offset_t k = diagonal_position(a, row);
    if (k >= 0) {
      const T entry = value_at(a, k);
      if (std::isfinite(entry) && entry != T{0} && std::isfinite(T{1} / entry)) return;
    }
    first += FirstIndex{row};
  }
};

/// d_i = 1 / a_ii
template <class T>
struct JacobiInvert {
  using Sums = NoSum;
  CsrPointers<T> a;
  T* inverse;
  TESSERA_HOST_DEVICE void operator()(std::int64_t row, NoSum& /*sum*/) const {
    inverse[row] = T{1} / value_at(a, diagonal_position(a, row));
  }
};

/// y = α D x + β y; the old y is not read when β = 0.
template <class T>
struct JacobiProduct {
  using Sums = NoSum;
  T alpha;
  T beta;
  const T* diagonal;
  const T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const T product = alpha * (diagonal[i] * x[i]);
    y[i] = beta == T{0} ? product : product + beta * y[i];
  }
};

template <class T>
using JacobiOps = fused::OpList<JacobiFirstUnfit<T>, JacobiInvert<T>, JacobiProduct<T>>;

// What every preconditioner that divides by the diagonal asks of a matrix. \param who begins the messages

/// \throws InvalidMatrix naming the first row whose diagonal entry is missing or has no finite inverse
template <class T>
void require_invertible_diagonal(const CsrView<T>& a, const Device& device, std::string_view who);
/// \throws InvalidArgument for a matrix on a GPU and the host as device, or the other way round
template <class T>
void require_same_place(const CsrView<T>& a, const Device& device, std::string_view who);
/// \throws DimensionError
template <class T>
void require_square(const CsrView<T>& a, std::string_view who);

}  // namespace tessera::detail
