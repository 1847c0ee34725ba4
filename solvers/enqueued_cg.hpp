/// \file
/// Conjugate gradients without the host: operations of a whole solve in rounds. The scalars are in
/// enqueued_cg_state.hpp, the iteration is that of cg_iteration.hpp, the loops are in enqueued_cg.cpp. A round is
///   settle     what the iteration left to do; or x goes back to the kept one
///   residual   r = b' - A x', and what follows from it: the end, a restart, or another round
///   restart    z = M r, ρ = <r, z>, p = z + β p
///   iterate    until the iteration halts
/// As in krylov.hpp, b' = 2^-e b with ‖b'‖₂ in [1, 2), and x' = 2^-e x.
#pragma once

#include "core/power_of_two.hpp"
#include "solvers/enqueued_cg_state.hpp"
#include "solvers/fused/enqueued_loops.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

struct TwoLargest {
  Largest b, x;
  TESSERA_HOST_DEVICE TwoLargest& operator+=(const TwoLargest& other) noexcept {
    b += other.b;
    x += other.x;
    return *this;
  }
};

struct NoScalars {};

/// The state before a solve.
struct CgReset {
  using State = EnqueuedCgState;
  State initial;
  TESSERA_HOST_DEVICE void operator()(State& s) const { s = initial; }
};

/// max |b_i|, max |x_i|
template <class T>
struct CgMeasureLargest {
  using State = EnqueuedCgState;
  using Sums = TwoLargest;
  using Scalars = NoScalars;
  struct Loaded {
    T b, x;
  };
  const T* b;
  const T* x;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {b[i], x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t /*i*/, const Loaded& old, const Scalars& /*none*/, Sums& sums) const {
    sums.b += Largest{std::abs(static_cast<double>(old.b))};
    sums.x += Largest{std::abs(static_cast<double>(old.x))};
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, const Sums& sums) const {
    s.b_largest = sums.b.value;
    s.x_largest = sums.x.value;
    if (!std::isfinite(s.b_largest) || !std::isfinite(s.x_largest)) {
      s.outcome.b_norm = unknown;
      return s.refuse();
    }
    if (s.b_largest > 0.0) return;
    s.x_is_zero = s.writes_x = true;
    s.outcome.target = s.tolerances.absolute;
    s.finish(Status::converged);
  }
};

/// ‖b‖₂ and from it the units.
template <class T>
struct CgMeasureNorm {
  using State = EnqueuedCgState;
  using Sums = double;
  struct Scalars {
    host::PowerOfTwo<double> down;
  };
  struct Loaded {
    T b;
  };
  const T* b;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& s) const {
    return {host::PowerOfTwo<double>(-std::ilogb(s.b_largest))};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {b[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t /*i*/, const Loaded& old, const Scalars& scalar, double& sum) const {
    const double value = scalar.down(static_cast<double>(old.b));
    sum += value * value;
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, double sum) const { s.choose_units(std::ilogb(s.b_largest), sum); }
};

/// b' = 2^-e b, x' = 2^-e x
template <class T>
struct CgEnterUnits {
  using State = EnqueuedCgState;
  using Sums = NoSum;
  struct Scalars {
    host::PowerOfTwo<T> down;
  };
  struct Loaded {
    T b, x;
  };
  const T* user_b;
  const T* user_x;
  T* b;
  T* x;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& s) const { return {host::PowerOfTwo<T>(-s.exponent)}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {user_b[i], user_x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, NoSum& /*sum*/) const {
    b[i] = scalar.down(old.b);
    x[i] = scalar.down(old.x);
  }
  TESSERA_HOST_DEVICE void scalars_after(State& /*s*/, NoSum /*sum*/) const {}
};

struct CgEnterRound {
  using State = EnqueuedCgState;
  TESSERA_HOST_DEVICE void operator()(State& s) const {
    if (s.halt == fused::Halt::done) return;
    if (!s.goes_back) s.cause = s.halt;
    s.halt = fused::Halt::none;
  }
};

/// x' = x' + α p where x is behind, and is kept where that is due; or the kept x.
template <class T>
struct CgSettle {
  using State = EnqueuedCgState;
  using Sums = NoSum;
  struct Scalars {
    T alpha;
    bool is_behind, keep, goes_back;
  };
  struct Loaded {
    T x, p, kept;
  };
  T* x;
  const T* p;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& s) const {
    return {static_cast<T>(s.alpha), s.x_is_behind, s.keep, s.goes_back};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {x[i], p[i], kept[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, NoSum& /*sum*/) const {
    if (scalar.goes_back) {
      x[i] = old.kept;
      return;
    }
    const T value = scalar.is_behind ? old.x + scalar.alpha * old.p : old.x;
    if (scalar.is_behind) x[i] = value;
    if (scalar.keep) kept[i] = value;
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, NoSum /*sum*/) const { s.x_is_behind = s.keep = false; }
};

/// After q = A x': r = b' - q, and what follows.
template <class T>
struct CgTrueResidual {
  using State = EnqueuedCgState;
  using Sums = double;
  using Scalars = NoScalars;
  struct Loaded {
    T b, q;
  };
  const T* b;
  const T* q;
  T* r;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {b[i], q[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& /*none*/, double& sum) const {
    const T residual = old.b - old.q;
    r[i] = residual;
    sum += static_cast<double>(residual) * static_cast<double>(residual);
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, double sum) const { s.judge_round(std::sqrt(sum)); }
};

/// ρ' = <r, M r>, where M is not fused from the product before; β = ρ' / ρ or 0.
template <class T, class M>
struct CgRestart {
  using State = EnqueuedCgState;
  using Sums = double;
  using Scalars = NoScalars;
  struct Loaded {
    T r;
    typename M::Loaded m;
  };
  bool is_fused;
  bool counts;  ///< as an application of M
  M m;
  const T* r;

  TESSERA_HOST_DEVICE void scalars_before(State& s) const {
    if (!is_fused) s.next_rho = s.dots.wy;
    if (counts) ++s.preconditionings;
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& /*s*/) const { return {}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {r[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t /*i*/, const Loaded& old, const Scalars& /*none*/, double& sum) const {
    sum += static_cast<double>(old.r) * static_cast<double>(m(old.m, old.r));
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, double sum) const {
    if (is_fused) s.next_rho = sum;
    s.beta = s.keeps_direction ? s.next_rho / s.rho : 0.0;
    s.keeps_direction = false;
    s.rho = s.next_rho;
    if (!s.fits(s.beta)) s.break_down(Breakdown::not_finite, s.beta);
  }
};

/// p = z + β p with <p, p>, where the old p counts for nothing if β = 0; x is kept where that is due.
template <class T, class M>
struct CgRestartDirection {
  using State = EnqueuedCgState;
  using Sums = double;
  struct Scalars {
    T beta;
    bool keep;
  };
  struct Loaded {
    T z, x, p;
    typename M::Loaded m;
  };
  M m;
  const T* z;  ///< r where M is fused
  const T* x;
  T* p;
  T* kept;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& s) const { return {static_cast<T>(s.beta), s.keep}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {z[i], x[i], p[i], m.load(i)}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& pp) const {
    const T preconditioned = m(old.m, old.z);
    const T direction = scalar.beta == T{0} ? preconditioned : preconditioned + scalar.beta * old.p;
    p[i] = direction;
    if (scalar.keep) kept[i] = old.x;
    pp += static_cast<double>(direction) * static_cast<double>(direction);
  }
  TESSERA_HOST_DEVICE void scalars_after(State& s, double pp) const {
    s.keep = false;
    s.p_norm = std::sqrt(pp);
    s.test_direction();
  }
};

/// Lets x be written where the solve has a result.
struct CgLeaveRounds {
  using State = EnqueuedCgState;
  TESSERA_HOST_DEVICE void operator()(State& s) const { s.halt = s.writes_x ? fused::Halt::none : fused::Halt::done; }
};

/// x = 2^e x', counting elements that lost digits.
template <class T>
struct CgLeaveUnits {
  using State = EnqueuedCgState;
  using Sums = std::int64_t;
  struct Scalars {
    host::PowerOfTwo<T> up, down;
    bool is_zero;
  };
  struct Loaded {
    T x;
  };
  const T* x;
  T* user_x;

  TESSERA_HOST_DEVICE void scalars_before(State& /*s*/) const {}
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const State& s) const {
    return {host::PowerOfTwo<T>(s.exponent), host::PowerOfTwo<T>(-s.exponent), s.x_is_zero};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, std::int64_t& lost) const {
    user_x[i] = scalar.is_zero ? T{0} : scalar.up(old.x);
    lost += scalar.is_zero || scalar.down(user_x[i]) == old.x ? 0 : 1;
  }
  /// The residual is no longer that of x.
  TESSERA_HOST_DEVICE void scalars_after(State& s, std::int64_t lost) const {
    if (lost > 0 && s.outcome.status == Status::converged) s.outcome.status = Status::stagnated;
  }
};

struct CgWriteOutcome {
  using State = EnqueuedCgState;
  SolveOutcome* to;
  TESSERA_HOST_DEVICE void operator()(State& s) const {
    *to = s.outcome;
    to->iterations = s.iteration;
    to->spmv_count = s.products;
    to->preconditioner_count = s.preconditionings;
  }
};

template <class T>
using EnqueuedCgOps = fused::OpList<CgMeasureLargest<T>, CgMeasureNorm<T>, CgEnterUnits<T>, CgSettle<T>,
                                    CgTrueResidual<T>, CgLeaveUnits<T>>;
template <class T, class M>
using EnqueuedCgRestartOps = fused::OpList<CgRestart<T, M>, CgRestartDirection<T, M>>;
using EnqueuedCgStateOps = fused::OpList<CgReset, CgEnterRound, CgLeaveRounds, CgWriteOutcome>;

}  // namespace tessera::detail
