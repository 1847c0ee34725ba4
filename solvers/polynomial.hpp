/// \file
/// Polynomials in D⁻¹ A by their recurrence, z_(k+1) = z_k + α_k (z_k - z_(k-1)) + β_k D⁻¹ (r - A z_k) from z_0 = 0:
/// coefficients, the spectrum that they rest on, and the operations of a step. The explicit polynomial
/// (explicit_polynomial.hpp) follows the same recurrence with matrices.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"
#include "tessera/array.hpp"
#include "tessera/polynomial.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera::detail {

/// What a pass over the rows of A finds out about all of them.
struct DiagonalTotals {
  FirstIndex unfit;           ///< first row without a finite inverse of its diagonal entry, or which is not finite
  std::int64_t negative = 0;  ///< negative diagonal entries
  double gershgorin = 0.0;    ///< max_i Σ_j |a_ij| / |a_ii|
  TESSERA_HOST_DEVICE DiagonalTotals& operator+=(const DiagonalTotals& other) noexcept {
    unfit += other.unfit;
    negative += other.negative;
    if (other.gershgorin > gershgorin) gershgorin = other.gershgorin;
    return *this;
  }
};

/// d_i = a_ii, 1 / d_i, and Gershgorin's bound.
template <class T>
struct MeasureDiagonal {
  struct Sums {
    T diagonal{}, absolute{};
    TESSERA_HOST_DEVICE Sums& operator+=(const Sums& other) noexcept {
      diagonal += other.diagonal;
      absolute += other.absolute;
      return *this;
    }
  };
  using Total = DiagonalTotals;

  CsrPointers<T> a;
  T* diagonal;
  T* inverse;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t row, offset_t k, Sums& sums) const {
    const T value = value_at(a, k);
    if (a.columns[k] == row) sums.diagonal += value;
    sums.absolute += std::abs(value);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const Sums& sums, DiagonalTotals& total) const {
    const T magnitude = std::abs(sums.diagonal);
    const T reciprocal = T{1} / sums.diagonal;
    if (magnitude == T{0} || !std::isfinite(reciprocal) || !std::isfinite(sums.absolute))
      total.unfit += FirstIndex{row};
    if (sums.diagonal < T{0}) ++total.negative;
    const auto bound = static_cast<double>(sums.absolute / magnitude);
    if (bound > total.gershgorin) total.gershgorin = bound;
    diagonal[row] = sums.diagonal;
    inverse[row] = reciprocal;
  }
};

/// z_1 = β D⁻¹ r
template <class T>
struct PolynomialStart {
  using Sums = NoSum;
  T beta;
  const T* inverse;
  const T* r;
  T* z;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    z[i] = fused::rounded_product(beta, fused::rounded_product(inverse[i], r[i]));
  }
};

/// next = z + α (z - before) + β D⁻¹ (r - A z)
template <class T>
struct PolynomialStep {
  using Sums = NoSum;
  T alpha;
  T beta;
  const T* inverse;
  const T* r;
  const T* product;  ///< A z
  const T* z;
  const T* before;  ///< null: 0
  T* next;          ///< may be `before` or `z`
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const T here = z[i];
    const T change = before == nullptr ? here : here - before[i];
    const T correction = fused::rounded_product(inverse[i], r[i] - product[i]);
    next[i] = here + fused::rounded_product(alpha, change) + fused::rounded_product(beta, correction);
  }
};

template <class T>
using PolynomialOps = fused::OpList<PolynomialStart<T>, PolynomialStep<T>>;

/// α_k and β_k of a step; α_0 has no meaning.
struct PolynomialStepWeights {
  double alpha = 0.0;
  double beta = 0.0;
};

/// One per step: their number is one more than the products with A. \param info with lambda_max; receives the interval
/// or ω
[[nodiscard]] std::vector<PolynomialStepWeights> polynomial_weights(const PolynomialOptions& options,
                                                                    PolynomialInfo& info);

/// D⁻¹ and what is known of the eigenvalues of D⁻¹ A.
template <class T>
struct DiagonalSpectrum {
  Array<T> inverse;
  bool is_symmetric = false;  ///< A is, to rounding, as far as two random vectors can tell
};

/// \param info receives gershgorin and lambda_max \throws InvalidMatrix naming the first row that does not fit
template <class T>
[[nodiscard]] DiagonalSpectrum<T> diagonal_spectrum(const Device& device, const CsrView<T>& a,
                                                    const PolynomialOptions& options, PolynomialInfo& info);

}  // namespace tessera::detail
