/// \file
/// Triangular factors of a scaled and permuted matrix, and the operator M that is made of them on the host or a GPU.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/incomplete_factors.hpp"

#include <memory>

namespace tessera::detail {

/// One triangular matrix T = D + S.
template <class T>
struct TriangularFactor {
  Csr<T> strict;              ///< S: the entries off the diagonal, columns ascending
  Array<T> inverse_diagonal;  ///< 1 / d_i; empty where all are 1
};

/// M = C Q U⁻¹ L⁻¹ P R: w_k = row_scale_k r_{row_from_k},  L y = w,  U w = y,  z_{column_to_k} = column_scale_k w_k.
/// All arrays lie on one device. Empty arrays stand for the identity.
template <class T>
struct PreparedFactors {
  TriangularFactor<T> lower;
  TriangularFactor<T> upper;
  Array<index_t> row_from;
  Array<T> row_scale;  ///< in the order of the new rows
  Array<index_t> column_to;
  Array<T> column_scale;  ///< in the order of the new columns
};

/// M as an operator; on a GPU it can be enqueued. Products are not concurrent: it has one set of vectors.
template <class T>
class FactorSolve : public FusedOperator<T> {
 public:
  [[nodiscard]] virtual TriangularSolve kind() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
  [[nodiscard]] virtual index_t lower_levels() const noexcept = 0;
  [[nodiscard]] virtual index_t upper_levels() const noexcept = 0;
};

}  // namespace tessera::detail

namespace tessera::host {

/// \param factors on the host
/// \param device  the host, with the threads to use; they do not change the result
template <class T>
[[nodiscard]] std::unique_ptr<detail::FactorSolve<T>> make_factor_solve(detail::PreparedFactors<T> factors,
                                                                        const Device& device = Device{});

}  // namespace tessera::host

namespace tessera::cuda {

/// \param factors on `device`
/// \param wanted `automatic` measures both kinds and takes the faster one
template <class T>
[[nodiscard]] std::unique_ptr<detail::FactorSolve<T>> make_factor_solve(detail::PreparedFactors<T> factors,
                                                                        TriangularSolve wanted, const Device& device);

/// ILU(0) or, with `cholesky`, IC(0) of a matrix on a GPU, with its order of rows.
template <class T>
struct DeviceFactors {
  detail::TriangularFactor<T> lower;
  detail::TriangularFactor<T> upper;
  index_t zero_pivots = 0;  ///< of ILU(0), replaced as on the host
  bool positive = true;     ///< IC(0): all pivots were positive; else the factors are not to be used
};

/// \param shift added to the diagonal, relative to it (IC(0))
template <class T>
[[nodiscard]] DeviceFactors<T> factor_on_device(const CsrView<T>& matrix, bool cholesky, double shift,
                                                const Device& device);

}  // namespace tessera::cuda
