/// \file
/// Dense inverse of the coarsest matrix by Gauss-Jordan elimination without exchanges. A pivot that is 0 to rounding
/// leaves its row and column 0: the result is then a generalised inverse, which is what a semidefinite matrix needs.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"

#include <cmath>

namespace tessera::detail {

/// Most rows of a level that is inverted, whatever the options: O(n³) operations on one block of threads.
inline constexpr index_t most_inverted_rows = 1000;

/// 0 for a pivot that elimination has cancelled: the rounding errors of all coarser matrices are in it, while that of a
/// regular coarsest matrix, whose condition is mild, is far larger. \param diagonal the entry before elimination; 0: it
/// was 0 but for rounding
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T inverse_of_pivot(T pivot, T diagonal) {
  const T relative = sizeof(T) == sizeof(double) ? static_cast<T>(1e-10) : static_cast<T>(1e-4);
  const T least = fused::rounded_product(relative, std::abs(diagonal));
  return diagonal != T{0} && std::abs(pivot) > least ? T{1} / pivot : T{0};
}

/// Element (i, j) after the elimination of pivot p. \param inverse of the pivot \param column_i element (i, p) before,
/// row_j element (p, j) times `inverse`
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T eliminated(int i, int j, int p, T inverse, T element, T column_i, T row_j) {
  if (i == p) return j == p ? inverse : row_j;
  if (j == p) return -fused::rounded_product(column_i, inverse);
  return element - fused::rounded_product(column_i, row_j);
}

}  // namespace tessera::detail

namespace tessera::host {
/// Row-major. O(n³) \param diagonal of A; 0 for rows whose diagonal is 0 but for rounding
template <class T>
[[nodiscard]] Array<T> dense_inverse(const CsrView<T>& a, const T* diagonal);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
[[nodiscard]] Array<T> dense_inverse(const Device& device, const CsrView<T>& a, const T* diagonal);
}  // namespace tessera::cuda
