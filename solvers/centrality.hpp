/// \file
/// HITS and Katz centrality: their states and operations (fused/ops.hpp), and what both need around their loops. The
/// iterations are in hits.cpp and katz.cpp.
#pragma once

#include "core/history.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/loop.hpp"
#include "tessera/centrality.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace tessera::detail {

/// Common part of the states: LoopControl::norm is what the tolerance is compared with.
struct CentralityState : fused::LoopControl {
  // Set before the loop.
  double tolerance = 0.0;
  std::int64_t max_iterations = 0;

  Status status = Status::max_iterations;  ///< why it halted
  std::int64_t products = 0;

  TESSERA_HOST_DEVICE void stop(Status why) noexcept {
    halt = fused::Halt::limit;
    status = why;
  }
};

/// Stagnation as in PageRank: the change has not fallen within this many iterations, and rounding alone can cause it.
inline constexpr std::int64_t hits_stagnation_window = 50;

struct HitsState : CentralityState {
  double rounding = 0.0;  ///< change that rounding alone may cause
  bool has_no_links = false;
  double authority_change = 0.0;
  double previous = 0.0;  ///< change of the iteration before
  double lowest = std::numeric_limits<double>::infinity();
  std::int64_t lowest_iteration = 0;

  /// Ends an iteration. \param hub_change ‖h' - h‖₁
  TESSERA_HOST_DEVICE void after_iteration(double hub_change) noexcept {
    ++iteration;
    previous = norm;
    // Written so that NaN wins.
    norm = hub_change <= authority_change ? authority_change : hub_change;
    if (!std::isfinite(norm)) return stop(Status::not_finite);
    if (norm < lowest) {
      lowest = norm;
      lowest_iteration = iteration;
    }
    if (norm <= tolerance) {
      halt = fused::Halt::check;
    } else if (norm <= rounding && iteration - lowest_iteration >= hits_stagnation_window) {
      stop(Status::stagnated);
    } else if (iteration >= max_iterations) {
      stop(Status::max_iterations);
    }
  }
};

/// x = product / Σ product with the change of x in the 1-norm. The product was formed with <1, product>.
template <class T>
struct HitsScale {
  using State = HitsState;
  using Sums = double;
  struct Scalars {
    double scale;
  };
  struct Loaded {
    T product, x;
  };

  bool ends_iteration;  ///< x is h, else a
  const T* product;
  T* x;

  TESSERA_HOST_DEVICE void scalars_before(HitsState& s) const {
    ++s.products;
    if (s.dots.wy == 0.0) {
      s.has_no_links = true;
      s.stop(Status::converged);
    } else if (!std::isfinite(s.dots.wy) || !std::isfinite(1.0 / s.dots.wy)) {
      s.stop(Status::not_finite);
    }
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const HitsState& s) const { return {1.0 / s.dots.wy}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {product[i], x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, double& change) const {
    const T value = static_cast<T>(static_cast<double>(old.product) * scalar.scale);
    x[i] = value;
    change += std::abs(static_cast<double>(value) - static_cast<double>(old.x));
  }
  TESSERA_HOST_DEVICE void scalars_after(HitsState& s, double change) const {
    if (ends_iteration) {
      s.after_iteration(change);
    } else {
      s.authority_change = change;
    }
  }
};

/// ‖scale * product - x‖₁, rounded as HitsScale does: the change that it would make.
template <class T>
struct HitsResidual {
  using Sums = double;
  double scale;
  const T* product;
  const T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, double& sum) const {
    const T value = static_cast<T>(static_cast<double>(product[i]) * scale);
    sum += std::abs(static_cast<double>(value) - static_cast<double>(x[i]));
  }
};

/// A term of the series above this multiple of β ends it as diverged.
inline constexpr double katz_growth_limit = 1e8;

struct KatzState : CentralityState {
  double alpha = 0.0;

  /// \param largest element of the new term
  TESSERA_HOST_DEVICE void after_iteration(double largest) noexcept {
    ++iteration;
    norm = largest;
    if (!std::isfinite(largest)) return stop(Status::not_finite);
    if (largest <= tolerance) {
      halt = fused::Halt::check;
    } else if (largest > katz_growth_limit) {
      stop(Status::diverged);
    } else if (iteration >= max_iterations) {
      stop(Status::max_iterations);
    }
  }
};

/// term = α product, x = x + term, with the largest element of the term.
template <class T>
struct KatzTerm {
  using State = KatzState;
  using Sums = Largest;
  struct Scalars {
    double alpha;
  };
  struct Loaded {
    T product, x;
  };

  const T* product;
  T* term;
  T* x;

  TESSERA_HOST_DEVICE void scalars_before(KatzState& s) const { ++s.products; }
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const KatzState& s) const { return {s.alpha}; }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {product[i], x[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, Largest& largest) const {
    const T next = static_cast<T>(scalar.alpha * static_cast<double>(old.product));
    term[i] = next;
    x[i] = old.x + next;
    // A correction has terms of both signs.
    largest += Largest{std::abs(static_cast<double>(next))};
  }
  TESSERA_HOST_DEVICE void scalars_after(KatzState& s, const Largest& largest) const {
    s.after_iteration(largest.value);
  }
};

/// r = 1 + α product - x, with the largest |r_i|.
template <class T>
struct KatzResidual {
  using Sums = Largest;
  double alpha;
  const T* product;
  const T* x;
  T* r;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, Largest& largest) const {
    const double residual = 1.0 + (alpha * static_cast<double>(product[i]) - static_cast<double>(x[i]));
    r[i] = static_cast<T>(residual);
    largest += Largest{std::abs(residual)};
  }
};

/// x = value
template <class T>
struct FillValue {
  using Sums = NoSum;
  T value;
  T* x;
  TESSERA_HOST_DEVICE void operator()(std::int64_t i, NoSum& /*sum*/) const { x[i] = value; }
};

/// Steps of the bound of ρ(A): at most, and without a bound that is lower by this factor.
inline constexpr std::int64_t bound_steps = 64;
inline constexpr std::int64_t bound_patience = 8;
inline constexpr double bound_progress = 0.999;
/// w stays above this, so that every quotient exists; Σ w is n.
inline constexpr double least_weight = 1e-30;

struct BoundState : CentralityState {
  double sum = 0.0;  ///< Σ w
  double bound = std::numeric_limits<double>::infinity();
  std::int64_t latest_progress = 0;
};

/// Quotients of one step and Σ w'.
struct BoundSums {
  Largest quotient;
  double sum = 0.0;
  TESSERA_HOST_DEVICE BoundSums& operator+=(const BoundSums& other) noexcept {
    quotient += other.quotient;
    sum += other.sum;
    return *this;
  }
};

/// w' = (product + shift w) / (growth + shift), with max product_i / w_i. The product was formed with <1, product>.
template <class T>
struct BoundStep {
  using State = BoundState;
  using Sums = BoundSums;
  struct Scalars {
    double shift;
    double scale;
  };
  struct Loaded {
    T product, w;
  };

  const T* product;
  T* w;

  TESSERA_HOST_DEVICE void scalars_before(BoundState& s) const {
    ++s.products;
    if (s.dots.wy == 0.0) s.bound = 0.0;
    if (!(s.dots.wy > 0.0) || !std::isfinite(s.dots.wy)) s.stop(Status::max_iterations);
  }
  /// Half the mean growth: a third of the speed at most, and eigenvalues of one modulus are told apart.
  [[nodiscard]] TESSERA_HOST_DEVICE Scalars scalars(const BoundState& s) const {
    const double growth = s.dots.wy / s.sum;
    return {0.5 * growth, 1.0 / (1.5 * growth)};
  }
  [[nodiscard]] TESSERA_HOST_DEVICE Loaded load(std::int64_t i) const { return {product[i], w[i]}; }
  TESSERA_HOST_DEVICE void apply(std::int64_t i, const Loaded& old, const Scalars& scalar, BoundSums& sums) const {
    const auto image = static_cast<double>(old.product);
    const auto weight = static_cast<double>(old.w);
    sums.quotient += Largest{image / weight};
    const double next = (image + scalar.shift * weight) * scalar.scale;
    const T kept = static_cast<T>(next < least_weight ? least_weight : next);
    w[i] = kept;
    sums.sum += static_cast<double>(kept);
  }
  TESSERA_HOST_DEVICE void scalars_after(BoundState& s, const BoundSums& sums) const {
    ++s.iteration;
    if (sums.quotient.value < bound_progress * s.bound) s.latest_progress = s.iteration;
    if (sums.quotient.value < s.bound) s.bound = sums.quotient.value;
    s.norm = s.bound;
    s.sum = sums.sum;
    if (s.iteration >= bound_steps || s.iteration - s.latest_progress >= bound_patience) s.stop(Status::max_iterations);
  }
};

template <class T>
using CentralityOps =
    fused::OpList<HitsScale<T>, HitsResidual<T>, KatzTerm<T>, KatzResidual<T>, FillValue<T>, BoundStep<T>>;

// Around the loops.

/// \throws InvalidArgument for options out of range
void check_centrality_options(const CentralityOptions& options);

/// \param name of the vector, for messages \throws DimensionError, InvalidArgument
template <class T>
void check_scores(const Device& device, const char* name, std::span<const T> scores, std::int64_t elements);

/// x = value
template <class T>
void fill(const Device& device, std::span<T> x, double value) {
  fused::transform_reduce(device, static_cast<std::int64_t>(x.size()),
                          FillValue<T>{.value = static_cast<T>(value), .x = x.data()});
}

/// History, observer and limits of time of a loop, whose report grows.
class CentralityProgress {
 public:
  /// \param options, report outlive this
  CentralityProgress(const CentralityOptions& options, CentralityReport& report);

  /// \returns whether to go on
  bool note(const fused::LoopEntry& entry);
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  [[nodiscard]] bool time_is_up() const noexcept { return seconds_ > options_.time_limit_seconds; }
  /// "time limit 1 s passed; ", for statuses that both methods have; empty for others.
  [[nodiscard]] std::string cause(Status status) const;
  /// Sets the time.
  void finish();

 private:
  const CentralityOptions& options_;
  CentralityReport& report_;
  HistoryStep history_step_;
  Stopwatch watch_;
  double seconds_ = 0.0;
  bool interrupted_ = false;
};

}  // namespace tessera::detail
