/// \file
/// The first and the last step of an iteration on scaled ranks (solvers/rank/scaled_rank.hpp). Element i of y and of v
/// is at i * stride: several vectors may be interleaved.
#pragma once

#include "solvers/passes/rank_steps.hpp"
#include "spmv/pagerank_iteration.hpp"

#include <cstdint>

namespace tessera::passes {

/// y = v / divisor, uniform where there is no v.
template <class T>
struct PagerankStartScaled {
  using Sums = detail::RankSums;
  double uniform;
  const T* teleport;  ///< null: uniform
  const index_t* degrees;
  T* y;
  std::int64_t stride = 1;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::RankSums& sums) const {
    const double divisor = detail::rank_divisor(degrees[i]);
    const double v = teleport == nullptr ? uniform : static_cast<double>(teleport[i * stride]);
    const T scaled = static_cast<T>(v * detail::inverse_divisor(divisor));
    y[i * stride] = scaled;
    const double kept = static_cast<double>(scaled) * divisor;
    sums.total.add(kept);
    sums.dangling.add(degrees[i] == 0 ? kept : 0.0);
  }
};

/// x = scale y divisor with Σ x.
template <class T>
struct PagerankUnscale {
  using Sums = detail::CompensatedSum;
  double scale;
  const T* y;
  const index_t* degrees;
  T* x;
  std::int64_t stride = 1;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(y[i * stride]) * detail::rank_divisor(degrees[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

}  // namespace tessera::passes
