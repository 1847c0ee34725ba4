/// \file
/// Products on several devices: the element operations on halo and boundary rows.
#pragma once

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

template <class T>
using HaloOps = fused::OpList<PackHalo<T>, AddHaloProduct<T>>;

}  // namespace tessera::detail
