/// \file
/// Scaling of a square system by diagonal matrices: Â = R A C with R = diag(row), C = diag(column).
#pragma once

#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <vector>

namespace tessera {

/// Positive factors: â_ij = row[i] a_ij column[j], multiplied in this order, which does not overflow where |â_ij| <= 1.
/// All lie between 2^-1022 and 2^1022.
struct Scaling {
  std::vector<double> row;     ///< rows entries, positive and finite
  std::vector<double> column;  ///< cols entries, positive and finite
};

/// Equilibration in the maximum norm (D. Ruiz, "A scaling algorithm to equilibrate both rows and columns norms in
/// matrices", RAL-TR-2001-034): every sweep divides each row and each column by the square root of its largest
/// magnitude, so that all tend to 1. Symmetric factors for a symmetric matrix. Empty rows and columns keep the
/// factor 1. \param matrix on the host; explicit zeros count as no entry \param sweeps at least 0; six bring all maxima
/// close to 1 \throws InvalidMatrix naming the first row that holds NaN or infinity; InvalidArgument for sweeps < 0
/// O(sweeps nnz).
template <class T>
[[nodiscard]] Scaling ruiz_scaling(const CsrView<T>& matrix, int sweeps = 6);

/// Unit diagonal by symmetric factors: row[i] = column[i] = 1 / sqrt|a_ii|; 1 where a_ii is missing or zero.
/// \throws DimensionError for a matrix that is not square; InvalidMatrix for a diagonal entry that is not finite
/// O(nnz).
template <class T>
[[nodiscard]] Scaling symmetric_scaling(const CsrView<T>& matrix);

extern template Scaling ruiz_scaling(const CsrView<float>&, int);
extern template Scaling ruiz_scaling(const CsrView<double>&, int);
extern template Scaling symmetric_scaling(const CsrView<float>&);
extern template Scaling symmetric_scaling(const CsrView<double>&);

}  // namespace tessera
