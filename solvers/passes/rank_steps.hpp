/// \file
/// The fused steps of PageRank.
#pragma once

#include "spmv/pagerank_iteration.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::passes {

/// x = v, or uniform where there is none; y = x / out weight.
template <class T>
struct PagerankStart {
  using Sums = detail::RankSums;
  double uniform;
  const T* teleport;  ///< null: uniform
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::RankSums& sums) const {
    x[i] = teleport == nullptr ? static_cast<T>(uniform) : teleport[i];
    y[i] = x[i] * out_inverse[i];
    sums.total.add(static_cast<double>(x[i]));
    sums.dangling.add(out_inverse[i] == T{0} ? static_cast<double>(x[i]) : 0.0);
  }
};

/// One step of the power method after the product.
template <class T>
struct PagerankUpdate {
  using Sums = detail::RankSums;
  detail::RankWeights weight;
  const T* product;
  const T* teleport;  ///< never null: any vector may stand in where its weight is 0
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::RankSums& sums) const {
    const auto old = static_cast<double>(x[i]);
    const double self = out_inverse[i] == T{0} ? weight.self * old : 0.0;
    const double rank = weight.links * static_cast<double>(product[i]) +
                        weight.teleport * static_cast<double>(teleport[i]) + weight.constant + self;
    x[i] = static_cast<T>(rank);
    const auto kept = static_cast<double>(x[i]);
    y[i] = x[i] * out_inverse[i];
    sums.total.add(kept);
    sums.dangling.add(out_inverse[i] == T{0} ? kept : 0.0);
    const double difference = std::abs(kept - old);
    sums.l1 += difference;
    sums.squares += difference * difference;
    sums.largest += detail::Largest{difference};
  }
};

/// x *= scale with Σ x.
template <class T>
struct PagerankScale {
  using Sums = detail::CompensatedSum;
  double scale;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(x[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

}  // namespace tessera::passes
