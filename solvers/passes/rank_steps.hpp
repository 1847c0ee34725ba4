/// \file
/// The fused steps of PageRank.
#pragma once

#include "solvers/passes/sums.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::passes {

/// What one pass over the ranks finds.
struct RankSums {
  CompensatedSum total;     ///< Σ x'
  CompensatedSum dangling;  ///< Σ x' over vertices without out-links
  double l1 = 0.0;          ///< Σ |x' - x|
  double squares = 0.0;     ///< Σ (x' - x)²
  Largest largest;          ///< max |x' - x|

  TESSERA_HOST_DEVICE RankSums& operator+=(const RankSums& other) noexcept {
    total += other.total;
    dangling += other.dangling;
    l1 += other.l1;
    squares += other.squares;
    largest += other.largest;
    return *this;
  }
};

/// x' = links * product + constant + teleport * v (+ self * x for a dangling vertex). Aligned so that a GPU reads the
/// first two at once.
struct alignas(16) RankWeights {
  double links = 0.0;
  double constant = 0.0;
  double teleport = 0.0;
  double self = 0.0;
};

/// x = v, or uniform where there is none; y = x / out weight.
template <class T>
struct RankStart {
  using Sums = RankSums;
  double uniform;
  const T* teleport;  ///< null: uniform
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
    x[i] = teleport == nullptr ? static_cast<T>(uniform) : teleport[i];
    y[i] = x[i] * out_inverse[i];
    sums.total.add(static_cast<double>(x[i]));
    sums.dangling.add(out_inverse[i] == T{0} ? static_cast<double>(x[i]) : 0.0);
  }
};

/// One step of the power method after the product.
template <class T>
struct RankStep {
  using Sums = RankSums;
  RankWeights weight;
  const T* product;
  const T* teleport;  ///< never null: any vector may stand in where its weight is 0
  const T* out_inverse;
  T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, RankSums& sums) const {
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
    sums.largest += Largest{difference};
  }
};

/// x *= scale with Σ x.
template <class T>
struct RankScale {
  using Sums = CompensatedSum;
  double scale;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, CompensatedSum& total) const {
    x[i] = static_cast<T>(static_cast<double>(x[i]) * scale);
    total.add(static_cast<double>(x[i]));
  }
};

}  // namespace tessera::passes
