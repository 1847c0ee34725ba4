/// \file
/// The fused steps of the Krylov methods. M is what becomes of entry i under a preconditioner that needs no pass of its
/// own: IdentityEntry or DiagonalEntry.
#pragma once

#include "core/random.hpp"
#include "solvers/passes/sums.hpp"

#include <cstdint>

namespace tessera::passes {

template <class T>
struct IdentityEntry {
  TESSERA_HOST_DEVICE T operator()(std::int64_t /*i*/, T r) const noexcept { return r; }
};
template <class T>
struct DiagonalEntry {
  const T* diagonal;
  TESSERA_HOST_DEVICE T operator()(std::int64_t i, T r) const noexcept { return diagonal[i] * r; }
};

/// <r, M r>
template <class T, class M>
struct PreconditionedDot {
  using Sums = double;
  M m;
  const T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& rz) const {
    rz += static_cast<double>(r[i]) * static_cast<double>(m(i, r[i]));
  }
};

/// CG: r -= α q with <r, r> and <r, M r>.
template <class T, class M>
struct ConjugateResidual {
  using Sums = TwoSums;
  M m;
  T alpha;
  const T* q;
  T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T residual = r[i] - alpha * q[i];
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * static_cast<double>(m(i, residual));
  }
};

/// CG: x += α p, then p = M z + β p with <p, p>; the new x is kept too if asked for.
template <class T, class M>
struct ConjugateDirections {
  using Sums = double;
  M m;
  T alpha;
  T beta;
  bool keep;
  const T* z;
  T* x;
  T* p;
  T* kept;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& pp) const {
    const T old = p[i];
    const T solution = x[i] + alpha * old;
    const T direction = m(i, z[i]) + beta * old;
    x[i] = solution;
    if (keep) kept[i] = solution;
    p[i] = direction;
    pp += static_cast<double>(direction) * static_cast<double>(direction);
  }
};

/// CG: p = M z + β p with <p, p>; the old p is not read when β = 0.
template <class T, class M>
struct ConjugateDirection {
  using Sums = double;
  M m;
  T beta;
  const T* z;
  T* p;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& pp) const {
    p[i] = beta == T{0} ? m(i, z[i]) : m(i, z[i]) + beta * p[i];
    pp += static_cast<double>(p[i]) * static_cast<double>(p[i]);
  }
};

/// BiCGSTAB: r̂ = r, or uniform in [-1, 1), with <r̂, r̂>.
template <class T>
struct ShadowVector {
  using Sums = double;
  bool random;
  std::uint64_t seed;
  std::uint64_t stream;  ///< of element 0
  const T* r;
  T* shadow;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const std::uint64_t own = stream + static_cast<std::uint64_t>(i);
    shadow[i] = random ? static_cast<T>(2.0 * io::SplitMix64(seed, own).uniform() - 1.0) : r[i];
    sum += static_cast<double>(shadow[i]) * static_cast<double>(shadow[i]);
  }
};

/// BiCGSTAB: p = r + β (p - ω v), p̂ = M p with <p̂, p̂>; the old p and v are not read when β = 0.
template <class T, class M>
struct StabilisedDirection {
  using Sums = double;
  M m;
  T beta;
  T omega;
  const T* r;
  const T* v;
  T* p;
  T* hat;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const T direction = beta == T{0} ? r[i] : r[i] + beta * (p[i] - omega * v[i]);
    p[i] = direction;
    hat[i] = m(i, direction);
    sum += static_cast<double>(hat[i]) * static_cast<double>(hat[i]);
  }
};

/// BiCGSTAB: s = r - α v in the place of r, ŝ = M s with <s, s> and <ŝ, ŝ>.
template <class T, class M>
struct HalfResidual {
  using Sums = TwoSums;
  M m;
  T alpha;
  const T* v;
  T* s;
  T* hat;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T residual = s[i] - alpha * v[i];
    s[i] = residual;
    hat[i] = m(i, residual);
    const auto value = static_cast<double>(residual);
    const auto preconditioned = static_cast<double>(hat[i]);
    sums.first += value * value;
    sums.second += preconditioned * preconditioned;
  }
};

/// BiCGSTAB: x += α p̂ + ω ŝ, r = s - ω t with <r, r> and <r̂, r>; the old x is kept too if asked for.
template <class T>
struct StabilisedStep {
  using Sums = TwoSums;
  T alpha;
  T omega;
  const T* p_hat;
  const T* s_hat;
  const T* shadow;
  const T* t;
  T* x;
  T* r;
  T* kept;
  bool keep;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, TwoSums& sums) const {
    const T old = x[i];
    if (keep) kept[i] = old;
    const T solution = old + (alpha * p_hat[i] + omega * s_hat[i]);
    const T residual = r[i] - omega * t[i];
    const auto against = static_cast<double>(shadow[i]);
    x[i] = solution;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * against;
  }
};

}  // namespace tessera::passes
