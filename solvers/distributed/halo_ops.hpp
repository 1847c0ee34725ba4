/// \file
/// Products on several devices: the element operations on halo and boundary rows.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/power_of_two.hpp"
#include "solvers/fused/ops.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// out_k = x[rows_k]: elements that other devices need.
template <class T>
struct PackHalo {
  using Sums = NoSum;
  const index_t* rows;
  const T* x;
  T* out;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, NoSum& /*sum*/) const { out[k] = x[rows[k]]; }
};

/// y = y + α z in the boundary rows, whose z are the products with the halo; what that adds to <w, y> and <y, y>.
template <class T>
struct AddHaloProduct {
  using Sums = TwoSums;
  T alpha;
  const index_t* rows;
  const T* z;
  const T* w;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t k, TwoSums& sums) const {
    const index_t row = rows[k];
    const auto before = static_cast<double>(y[row]);
    y[row] += alpha * z[k];
    const auto after = static_cast<double>(y[row]);
    sums.first += static_cast<double>(w[row]) * (after - before);
    sums.second += (after - before) * (after + before);
  }
};

/// t = 2^e b - A x, in double.
template <class T>
struct WideResidual {
  using Sums = NoSum;
  host::PowerOfTwo<double> scaled;
  const T* b;
  CsrPointers<T> a;
  const T* x;
  double* t;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    double sum = scaled(static_cast<double>(b[i]));
    for (offset_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      sum -= static_cast<double>(value_at(a, k)) * static_cast<double>(x[a.columns[k]]);
    }
    t[i] = sum;
  }
};

/// t = t - A_halo halo in the boundary rows.
template <class T>
struct WideHaloResidual {
  using Sums = NoSum;
  const index_t* rows;
  CsrPointers<T> a;
  const T* halo;
  double* t;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    double sum = t[rows[i]];
    for (offset_t k = a.offsets[i]; k < a.offsets[i + 1]; ++k) {
      sum -= static_cast<double>(value_at(a, k)) * static_cast<double>(halo[a.columns[k]]);
    }
    t[rows[i]] = sum;
  }
};

/// r = t, with the squares of t.
template <class T>
struct RoundResidual {
  using Sums = double;
  const double* t;
  T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    r[i] = static_cast<T>(t[i]);
    sum += t[i] * t[i];
  }
};

/// Of an element type in which a residual would be hidden by the rounding of products.
template <class T>
using WideResidualOps = fused::OpList<WideResidual<T>, WideHaloResidual<T>, RoundResidual<T>>;

template <class T>
using HaloOps = fused::OpList<PackHalo<T>, AddHaloProduct<T>>;

}  // namespace tessera::detail
