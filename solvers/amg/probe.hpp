/// \file
/// Element operations of Amg itself: vectors that probe the cycle, and α M x + β y.
#pragma once

#include "solvers/amg/aggregation.hpp"
#include "solvers/fused/ops.hpp"

#include <cstdint>

namespace tessera::detail {

/// u and v uniform in [-1, 1).
template <class T>
struct ProbeVectors {
  using Sums = NoSum;
  T* u;
  T* v;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    const auto number = static_cast<std::uint32_t>(i);
    u[i] = static_cast<T>(static_cast<double>(mis_key(number, 0x1001U)) / (1 << 29) - 1.0);
    v[i] = static_cast<T>(static_cast<double>(mis_key(number, 0x2002U)) / (1 << 29) - 1.0);
  }
};

struct ProbeSums {
  double mu_v = 0.0;
  double u_mv = 0.0;
  double mu_mu = 0.0;
  double mv_mv = 0.0;
  TESSERA_HOST_DEVICE ProbeSums& operator+=(const ProbeSums& other) noexcept {
    mu_v += other.mu_v;
    u_mv += other.u_mv;
    mu_mu += other.mu_mu;
    mv_mv += other.mv_mv;
    return *this;
  }
};

template <class T>
struct ProbeProducts {
  using Sums = ProbeSums;
  const T* u;
  const T* v;
  const T* mu;
  const T* mv;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, ProbeSums& sums) const {
    const auto a = static_cast<double>(mu[i]);
    const auto b = static_cast<double>(mv[i]);
    sums += ProbeSums{a * static_cast<double>(v[i]), static_cast<double>(u[i]) * b, a * a, b * b};
  }
};

/// y = α x + β y; the old y is not read when β = 0.
template <class T>
struct Combine {
  using Sums = NoSum;
  T alpha;
  T beta;
  const T* x;
  T* y;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const {
    y[i] = beta == T{0} ? alpha * x[i] : alpha * x[i] + beta * y[i];
  }
};

}  // namespace tessera::detail
