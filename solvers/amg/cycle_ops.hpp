/// \file
/// Operations of the multigrid cycle: what happens to row i once its row sum s is known, (A x)_i, (R r)_i, (P x)_i or
/// (A⁻¹ b)_i. Written once for the host and the GPU.
///
/// A row operation is a small value:
///   using Sums;                                            of core/sums.hpp, or one below
///   Constants constants(i) const;                          what no kernel of the cycle writes: loaded before the
///                                                          kernel before it has ended
///   Loaded    load(i) const;                               element i of vectors
///   void      apply(i, s, Constants, Loaded, Sums&) const; writes element i, and adds its terms to the sums
/// An element operation has no row sum: apply(i, Constants, Loaded).
/// A gather gives the vector that the matrix is multiplied by: at(j).
///
/// V is the element type of the cycle, T that of its operands.
#pragma once

#include "core/host_device.hpp"
#include "core/sums.hpp"
#include "tessera/types.hpp"

#include <type_traits>

namespace tessera::detail {

/// Of an operation that loads nothing.
struct AmgNothing {};

/// x
template <class V>
struct AmgVector {
  const V* x;
  [[nodiscard]] TESSERA_HOST_DEVICE V at(index_t j) const noexcept { return x[j]; }
};

/// The first sweep from the guess 0, ω diag(m) r, formed where it is needed.
template <class T, class V>
struct AmgFirstSweep {
  const T* r;
  const V* m;
  const V* weight;
  [[nodiscard]] TESSERA_HOST_DEVICE V at(index_t j) const noexcept { return *weight * m[j] * static_cast<V>(r[j]); }
};

/// ω m_i of one row.
template <class V>
struct AmgSweep {
  const V* m;
  const V* weight;  ///< ω of the sweep: in memory, so that a recorded graph sees that of the latest refresh
  [[nodiscard]] TESSERA_HOST_DEVICE V factor(index_t i) const noexcept { return *weight * m[i]; }
};

/// b = r in V,  x = ω diag(m) b
template <class T, class V>
struct AmgBegin {
  using Constants = V;
  using Loaded = T;
  const T* r;
  AmgSweep<V> sweep;
  V* b;  ///< null where r itself serves
  V* x;  ///< null where no sweep follows
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return x == nullptr ? V{0} : sweep.factor(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE T load(index_t i) const { return r[i]; }
  TESSERA_HOST_DEVICE void apply(index_t i, V factor, T loaded) const {
    const auto value = static_cast<V>(loaded);
    if (b != nullptr) b[i] = value;
    if (x != nullptr) x[i] = factor * value;
  }
};

/// The same together with the residual, s being that of A ω diag(m) r.
template <class T, class V>
struct AmgBeginResidual {
  using Sums = NoSum;
  using Constants = V;
  using Loaded = T;
  const T* r;
  AmgSweep<V> sweep;
  V* b;  ///< null where r itself serves
  V* x;
  V* residual;
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return sweep.factor(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE T load(index_t i) const { return r[i]; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, V factor, T loaded, NoSum& /*sums*/) const {
    const auto value = static_cast<V>(loaded);
    if (b != nullptr) b[i] = value;
    x[i] = factor * value;
    residual[i] = value - sum;
  }
};

/// r = b - s
template <class V>
struct AmgResidual {
  using Sums = NoSum;
  using Constants = AmgNothing;
  using Loaded = V;
  const V* b;
  V* r;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE V load(index_t i) const { return b[i]; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, AmgNothing /*none*/, V loaded, NoSum& /*sums*/) const {
    r[i] = loaded - sum;
  }
};

/// Of the coarser level: b = s,  x = ω diag(m) b
template <class V>
struct AmgRestrict {
  using Sums = NoSum;
  using Constants = V;
  using Loaded = AmgNothing;
  AmgSweep<V> sweep;
  V* b;
  V* x;  ///< null where no sweep follows
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return x == nullptr ? V{0} : sweep.factor(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing load(index_t /*i*/) const { return {}; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, V factor, AmgNothing /*none*/, NoSum& /*sums*/) const {
    b[i] = sum;
    if (x != nullptr) x[i] = factor * sum;
  }
};

/// x = x + s
template <class V>
struct AmgProlong {
  using Sums = NoSum;
  using Constants = AmgNothing;
  using Loaded = V;
  V* x;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE V load(index_t i) const { return x[i]; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, AmgNothing /*none*/, V loaded, NoSum& /*sums*/) const {
    x[i] = loaded + sum;
  }
};

/// out = x + ω m (b - s)
template <class V>
struct AmgSmooth {
  using Sums = NoSum;
  using Constants = V;
  struct Loaded {
    V x;
    V b;
  };
  const V* x;
  const V* b;
  AmgSweep<V> sweep;
  V* out;
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return sweep.factor(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const { return {x[i], b[i]}; }
  [[nodiscard]] static TESSERA_HOST_DEVICE V smoothed(V sum, V factor, const Loaded& loaded) {
    return loaded.x + factor * (loaded.b - sum);
  }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, V factor, const Loaded& loaded, NoSum& /*sums*/) const {
    out[i] = smoothed(sum, factor, loaded);
  }
};

/// x = s
template <class V>
struct AmgSolveDense {
  using Sums = NoSum;
  using Constants = AmgNothing;
  using Loaded = AmgNothing;
  V* x;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing load(index_t /*i*/) const { return {}; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, AmgNothing /*none*/, AmgNothing /*nothing*/, NoSum& /*sums*/) const {
    x[i] = sum;
  }
};

/// What the cycle hands out: z.
template <class T>
struct AmgOutput {
  using Sums = NoSum;
  using Loaded = AmgNothing;
  T* z;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing load(index_t /*i*/) const { return {}; }
  TESSERA_HOST_DEVICE void store(index_t i, T value, AmgNothing /*none*/, NoSum& /*sums*/) const { z[i] = value; }
};

/// The same with <w, z> and <z, z>.
template <class T>
struct AmgOutputAndDots {
  using Sums = TwoSums;
  using Loaded = T;
  T* z;
  const T* w;
  [[nodiscard]] TESSERA_HOST_DEVICE T load(index_t i) const { return w[i]; }
  TESSERA_HOST_DEVICE void store(index_t i, T value, T weight, TwoSums& sums) const {
    const auto wide = static_cast<double>(value);
    z[i] = value;
    sums.first += static_cast<double>(weight) * wide;
    sums.second += wide * wide;
  }
};

/// The last sweep of the finest level. \tparam Output one of the two above
template <class V, class Output>
struct AmgSmoothLast {
  using Sums = typename Output::Sums;
  using Constants = V;
  struct Loaded {
    typename AmgSmooth<V>::Loaded level;
    typename Output::Loaded output;
  };
  AmgSmooth<V> smooth;  ///< its `out` is not used
  Output output;
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return smooth.constants(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const { return {smooth.load(i), output.load(i)}; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, V factor, const Loaded& loaded, Sums& sums) const {
    using T = std::remove_pointer_t<decltype(output.z)>;
    output.store(i, static_cast<T>(AmgSmooth<V>::smoothed(sum, factor, loaded.level)), loaded.output, sums);
  }
};

/// A finest level that is solved by its dense inverse.
template <class V, class Output>
struct AmgSolveDenseLast {
  using Sums = typename Output::Sums;
  using Constants = AmgNothing;
  using Loaded = typename Output::Loaded;
  Output output;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const { return output.load(i); }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, AmgNothing /*none*/, const Loaded& loaded, Sums& sums) const {
    using T = std::remove_pointer_t<decltype(output.z)>;
    output.store(i, static_cast<T>(sum), loaded, sums);
  }
};

// K-cycle: two steps of flexible CG on a coarser level (Y. Notay, P. S. Vassilevski, Recursive Krylov-based multigrid
// cycles, Numer. Linear Algebra Appl. 15, 2008, algorithm 3.1, without its test on the residual after the first step).

/// Of the first step: v = A c with <c, v> and <c, b>.
struct AmgFirstStepSums {
  double cv = 0.0;
  double cb = 0.0;
  TESSERA_HOST_DEVICE AmgFirstStepSums& operator+=(const AmgFirstStepSums& other) noexcept {
    cv += other.cv;
    cb += other.cb;
    return *this;
  }
};

/// Of the second step: <d, v>, <d, A d> and <d, b>, where b is the residual after the first.
struct AmgSecondStepSums {
  double dv = 0.0;
  double dw = 0.0;
  double db = 0.0;
  TESSERA_HOST_DEVICE AmgSecondStepSums& operator+=(const AmgSecondStepSums& other) noexcept {
    dv += other.dv;
    dw += other.dw;
    db += other.db;
    return *this;
  }
};

/// Coefficients of x = first c + second d.
struct AmgKrylovScalars {
  double rho = 0.0;    ///< <c, A c>
  double alpha = 0.0;  ///< of the first step
  double first = 0.0;
  double second = 0.0;

  /// c that A does not see, or that lost its digits, is left out.
  TESSERA_HOST_DEVICE void after(const AmgFirstStepSums& sums) noexcept {
    rho = sums.cv;
    alpha = rho > 0.0 ? sums.cb / rho : 0.0;
  }
  /// d is made A-orthogonal to c. Where hardly anything is left of it, only rounding errors are.
  TESSERA_HOST_DEVICE void after(const AmgSecondStepSums& sums) noexcept {
    constexpr double least = 1e-6;
    const double along = rho > 0.0 ? sums.dv / rho : 0.0;
    const double rest = sums.dw - along * sums.dv;
    second = rest > least * sums.dw ? sums.db / rest : 0.0;
    first = alpha - along * second;
  }
};

template <class V>
struct AmgFirstStep {
  using Sums = AmgFirstStepSums;
  using Constants = AmgNothing;
  struct Loaded {
    V c;
    V b;
  };
  const V* c;
  const V* b;
  V* v;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const { return {c[i], b[i]}; }
  TESSERA_HOST_DEVICE void apply(index_t i, V sum, AmgNothing /*none*/, const Loaded& loaded, Sums& sums) const {
    v[i] = sum;
    sums.cv += static_cast<double>(loaded.c) * static_cast<double>(sum);
    sums.cb += static_cast<double>(loaded.c) * static_cast<double>(loaded.b);
  }
};

/// b = b - α v,  x = ω diag(m) b
template <class V>
struct AmgSecondBegin {
  using Constants = V;
  struct Loaded {
    V b;
    V v;
    V alpha;
  };
  AmgSweep<V> sweep;
  const AmgKrylovScalars* scalars;
  const V* v;
  V* b;
  V* x;
  [[nodiscard]] TESSERA_HOST_DEVICE V constants(index_t i) const { return sweep.factor(i); }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const {
    return {b[i], v[i], static_cast<V>(scalars->alpha)};
  }
  TESSERA_HOST_DEVICE void apply(index_t i, V factor, const Loaded& loaded) const {
    const V rest = loaded.b - loaded.alpha * loaded.v;
    b[i] = rest;
    x[i] = factor * rest;
  }
};

template <class V>
struct AmgSecondStep {
  using Sums = AmgSecondStepSums;
  using Constants = AmgNothing;
  struct Loaded {
    V d;
    V v;
    V b;
  };
  const V* d;
  const V* v;
  const V* b;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const { return {d[i], v[i], b[i]}; }
  TESSERA_HOST_DEVICE void apply(index_t /*i*/, V sum, AmgNothing /*none*/, const Loaded& loaded, Sums& sums) const {
    const auto d_i = static_cast<double>(loaded.d);
    sums.dv += d_i * static_cast<double>(loaded.v);
    sums.dw += d_i * static_cast<double>(sum);
    sums.db += d_i * static_cast<double>(loaded.b);
  }
};

/// x = first c + second x
template <class V>
struct AmgCombine {
  using Constants = AmgNothing;
  struct Loaded {
    V c;
    V d;
    V first;
    V second;
  };
  const AmgKrylovScalars* scalars;
  const V* c;
  V* x;
  [[nodiscard]] TESSERA_HOST_DEVICE AmgNothing constants(index_t /*i*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(index_t i) const {
    return {c[i], x[i], static_cast<V>(scalars->first), static_cast<V>(scalars->second)};
  }
  TESSERA_HOST_DEVICE void apply(index_t i, AmgNothing /*none*/, const Loaded& loaded) const {
    x[i] = loaded.first * loaded.c + loaded.second * loaded.d;
  }
};

}  // namespace tessera::detail
