/// \file
/// The fused steps of the Krylov methods. Those of their loops load first, without a look at the scalars, and store
/// then, so that a caller may have the loads of several indices under way, before the scalars are known too. M is what
/// becomes of entry i under a preconditioner that needs no pass of its own: IdentityEntry or DiagonalEntry.
#pragma once

#include "core/random.hpp"
#include "core/sums.hpp"

#include <cstdint>

namespace tessera::passes {

/// On a GPU never contracted with a sum behind it: which of two products a compiler contracts may differ from kernel to
/// kernel, and with it the bits.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE T rounded_product(T a, T b) noexcept {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == sizeof(double)) {
    return __dmul_rn(a, b);
  } else {
    return __fmul_rn(a, b);
  }
#else
  return a * b;
#endif
}

template <class T>
struct IdentityEntry {
  struct Factor {};
  [[nodiscard]] TESSERA_HOST_DEVICE Factor load(std::int64_t /*i*/) const noexcept { return {}; }
  TESSERA_HOST_DEVICE T operator()(Factor /*factor*/, T r) const noexcept { return r; }
};
template <class T>
struct DiagonalEntry {
  using Factor = T;
  const T* diagonal;
  [[nodiscard]] TESSERA_HOST_DEVICE Factor load(std::int64_t i) const noexcept { return diagonal[i]; }
  TESSERA_HOST_DEVICE T operator()(Factor factor, T r) const noexcept { return rounded_product(factor, r); }
};

/// <r, M r>
template <class T, class M>
struct PreconditionedDot {
  using Sums = double;
  M m;
  const T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& rz) const {
    rz += static_cast<double>(r[i]) * static_cast<double>(m(m.load(i), r[i]));
  }
};

/// CG: r -= α q with <r, r> and <r, M r>.
template <class T, class M>
struct ConjugateResidual {
  using Sums = detail::TwoSums;
  M m;
  T alpha;
  const T* q;
  T* r;
  struct Loaded {
    T q, r;
    typename M::Factor factor;
  };
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {q[i], r[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, const Loaded& old, detail::TwoSums& sums) const {
    const T residual = old.r - alpha * old.q;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * static_cast<double>(m(old.factor, residual));
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::TwoSums& sums) const { (*this)(i, load(i), sums); }
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
  struct Loaded {
    T z, x, p;
    typename M::Factor factor;
  };
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {z[i], x[i], p[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, const Loaded& old, double& pp) const {
    const T solution = old.x + alpha * old.p;
    const T direction = m(old.factor, old.z) + beta * old.p;
    x[i] = solution;
    if (keep) kept[i] = solution;
    p[i] = direction;
    pp += static_cast<double>(direction) * static_cast<double>(direction);
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& pp) const { (*this)(i, load(i), pp); }
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
    const T preconditioned = m(m.load(i), z[i]);
    p[i] = beta == T{0} ? preconditioned : preconditioned + beta * p[i];
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
    shadow[i] = random ? static_cast<T>(2.0 * detail::SplitMix64(seed, own).uniform() - 1.0) : r[i];
    sum += static_cast<double>(shadow[i]) * static_cast<double>(shadow[i]);
  }
};

/// BiCGSTAB: p = r + β (p - ω v), p̂ = M p with <p̂, p̂>; the old p and v do not matter when β = 0.
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
  struct Loaded {
    T r, p, v;
    typename M::Factor factor;
  };
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {r[i], p[i], v[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, const Loaded& old, double& sum) const {
    const T direction = beta == T{0} ? old.r : old.r + beta * (old.p - omega * old.v);
    const T preconditioned = m(old.factor, direction);
    p[i] = direction;
    if (hat != p) hat[i] = preconditioned;
    sum += static_cast<double>(preconditioned) * static_cast<double>(preconditioned);
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const { (*this)(i, load(i), sum); }
};

/// BiCGSTAB: s = r - α v in the place of r, ŝ = M s with <s, s> and <ŝ, ŝ>.
template <class T, class M>
struct HalfResidual {
  using Sums = detail::TwoSums;
  M m;
  T alpha;
  const T* v;
  T* s;
  T* hat;
  struct Loaded {
    T v, s;
    typename M::Factor factor;
  };
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {v[i], s[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, const Loaded& old, detail::TwoSums& sums) const {
    const T residual = old.s - alpha * old.v;
    const T preconditioned = m(old.factor, residual);
    s[i] = residual;
    if (hat != s) hat[i] = preconditioned;
    const auto value = static_cast<double>(residual);
    const auto hat_value = static_cast<double>(preconditioned);
    sums.first += value * value;
    sums.second += hat_value * hat_value;
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::TwoSums& sums) const { (*this)(i, load(i), sums); }
};

/// BiCGSTAB: x += α p̂ + ω ŝ, r = s - ω t with <r, r> and <r̂, r>; the old x is kept too if asked for.
template <class T>
struct StabilisedStep {
  using Sums = detail::TwoSums;
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
  struct Loaded {
    T p_hat, s_hat, shadow, t, x, r;
  };
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const {
    return {p_hat[i], s_hat[i], shadow[i], t[i], x[i], r[i]};
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, const Loaded& old, detail::TwoSums& sums) const {
    if (keep) kept[i] = old.x;
    const T solution = old.x + (rounded_product(alpha, old.p_hat) + omega * old.s_hat);
    const T residual = old.r - omega * old.t;
    x[i] = solution;
    r[i] = residual;
    const auto value = static_cast<double>(residual);
    sums.first += value * value;
    sums.second += value * static_cast<double>(old.shadow);
  }
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, detail::TwoSums& sums) const { (*this)(i, load(i), sums); }
};

}  // namespace tessera::passes
