/// \file
/// Column scaling: the row operation that forms it from Aᵀ.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/preconditioner.hpp"

#include <cmath>

namespace tessera::detail {

/// d_j = 1 / sqrt(‖row j‖² + λ²), 1 where both are 0. \returns the first row without a finite d_j
template <class T>
struct ColumnScaling {
  using Sums = double;
  using Total = FirstIndex;
  CsrPointers<T> transposed;
  double damping;
  T* scaling;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return transposed.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, double& squares) const {
    const auto value = static_cast<double>(value_at(transposed, k));
    squares += fused::rounded_product(value, value);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const double& squares, FirstIndex& first) const {
    const double sum = squares + fused::rounded_product(damping, damping);
    const double norm = sum > 1e-280 && sum < 1e300 ? std::sqrt(sum) : norm_by_largest(row);
    const T inverse = norm == 0.0 ? T{1} : static_cast<T>(1.0 / norm);
    scaling[row] = inverse;
    if (!std::isfinite(inverse) || inverse == T{0}) first += FirstIndex{row};
  }

  /// The root where squares leave the range of double: of terms divided by a power of two near the largest.
  [[nodiscard]] TESSERA_HOST_DEVICE double norm_by_largest(index_t row) const {
    double largest = damping;
    for (offset_t k = transposed.offsets[row]; k < transposed.offsets[row + 1]; ++k) {
      const double size = std::abs(static_cast<double>(value_at(transposed, k)));
      if (!(size <= largest)) largest = size;
    }
    if (largest == 0.0 || !std::isfinite(largest)) return largest;
    const int exponent = std::ilogb(largest);
    double squares = 0.0;
    for (offset_t k = transposed.offsets[row]; k < transposed.offsets[row + 1]; ++k) {
      const double scaled = std::ldexp(static_cast<double>(value_at(transposed, k)), -exponent);
      squares += fused::rounded_product(scaled, scaled);
    }
    const double scaled = std::ldexp(damping, -exponent);
    return std::ldexp(std::sqrt(squares + fused::rounded_product(scaled, scaled)), exponent);
  }
};

}  // namespace tessera::detail
