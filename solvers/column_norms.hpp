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
    const double norm = std::sqrt(squares + fused::rounded_product(damping, damping));
    const T inverse = norm == 0.0 ? T{1} : static_cast<T>(1.0 / norm);
    scaling[row] = inverse;
    if (!std::isfinite(inverse) || inverse == T{0}) first += FirstIndex{row};
  }
};

}  // namespace tessera::detail
