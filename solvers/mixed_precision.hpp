/// \file
/// Operations between the two precisions of a solve (tessera/mixed_precision.hpp).
#pragma once

#include "core/csr_pointers.hpp"
#include "core/power_of_two.hpp"
#include "solvers/amg/row_ops.hpp"
#include "solvers/fused/ops.hpp"
#include "solvers/fused/preconditioner.hpp"

#include <cstdint>

namespace tessera::detail {

/// x' = 2^-e x + 2^-s c: the solution with a correction, in the units of the correction's residual.
struct CorrectedSolution {
  using Sums = NoSum;
  const double* x;
  const float* c;
  host::PowerOfTwo<double> scaled_x;
  host::PowerOfTwo<double> scaled_c;
  double* corrected;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    corrected[i] = scaled_x(x[i]) + scaled_c(static_cast<double>(c[i]));
  }
};

/// x = 2^e x',  c = 0
struct TakeCorrection {
  using Sums = NoSum;
  const double* corrected;
  host::PowerOfTwo<double> scaled;
  double* x;
  float* c;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    x[i] = scaled(corrected[i]);
    c[i] = 0.0F;
  }
};

/// to = from, rounded
struct RoundToSingle {
  using Sums = NoSum;
  const double* from;
  float* to;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { to[i] = static_cast<float>(from[i]); }
};

/// y = α x + β y; the old y is not read when β = 0.
struct AxpbyWidened {
  using Sums = NoSum;
  double alpha;
  double beta;
  const float* x;
  double* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const double product = fused::rounded_product(alpha, static_cast<double>(x[i]));
    y[i] = beta == 0.0 ? product : product + fused::rounded_product(beta, y[i]);
  }
};

/// y = α A x + β y with A in single precision, vectors and sums in double; the old y is not read when β = 0.
struct WidenedProductRow {
  using Sums = double;
  using Total = NoSum;
  CsrPointers<float> a;
  double alpha;
  double beta;
  const double* x;
  double* y;

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return a.offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, double& sum) const {
    sum += fused::rounded_product(static_cast<double>(value_at(a, k)), x[a.columns[k]]);
  }
  TESSERA_HOST_DEVICE void finish(index_t row, double sum, NoSum& /*total*/) const {
    const double product = fused::rounded_product(alpha, sum);
    y[row] = beta == 0.0 ? product : product + fused::rounded_product(beta, y[row]);
  }
};

}  // namespace tessera::detail
