/// One least squares solve in scaled units: first residuals, checks, restarts, report.
#include "solvers/least_squares.hpp"

#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov_problem.hpp"
#include "solvers/residual_norm.hpp"
#include "solvers/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {

std::string_view to_string(LeastSquaresTest test) {
  switch (test) {
    case LeastSquaresTest::none:
      return "none";
    case LeastSquaresTest::residual:
      return "residual";
    case LeastSquaresTest::normal_residual:
      return "normal_residual";
  }
  return "unknown";
}

namespace detail {

namespace {

/// Longer histories grow instead of being reserved.
constexpr std::int64_t reserved_history = 65536;

/// Norms between 2^-e and 2^e with this e may be squared, multiplied by each other, and squared again.
template <class T>
constexpr int plain_exponent = std::numeric_limits<T>::max_exponent / 5;

/// A power of two in T's range, also squared by parts.
template <class T>
[[nodiscard]] int bounded_exponent(int exponent) {
  constexpr int most = std::numeric_limits<T>::max_exponent - 8;
  return std::clamp(exponent, -most, most);
}

/// Within this factor, a norm of the recurrence is right.
constexpr double right_within = 2.0;

}  // namespace

template <class T>
LeastSquaresSolve<T>::LeastSquaresSolve(const LeastSquaresProblem<T>& problem, LeastSquaresState& state)
    : problem_(problem),
      device_(problem.device()),
      state_(state),
      image_(problem.a->make_output()),
      transposed_image_(problem.cols(), Init::none, device_),
      damped_x_(problem.cols(), Init::zero, device_),
      kept_x_(problem.cols(), Init::none, device_),
      history_step_(problem.options.history_rows),
      scaling_(0, Init::none, device_) {
  const LeastSquaresOptions& options = problem.options;
  state.epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  state.element_limit = static_cast<double>(std::numeric_limits<T>::max());
  state.relative_tolerance = options.relative_tolerance;
  state.damping = options.damping;
  const int damping_exponent = problem.is_damped() ? std::ilogb(options.damping) : 0;
  measure_x_by(std::abs(damping_exponent) > plain_exponent<T> ? bounded_exponent<T>(damping_exponent) : 0);
  state.condition_limit = options.condition_limit;
  state.max_iterations = options.max_iterations;
  state.window = options.stagnation_window > 0
                     ? options.stagnation_window
                     : std::max<std::int64_t>(1000, 2 * std::min(problem.rows(), problem.cols()));
  if (options.keep_history) {
    const std::int64_t entries = std::min(options.max_iterations, reserved_history - 1) + 1;
    report_.history.reserve(static_cast<std::size_t>(entries));
  }
}

/// Throws only on a device that has failed; nobody can read x there any more.
template <class T>
LeastSquaresSolve<T>::~LeastSquaresSolve() {
  try {
    static_cast<void>(restore_units());
  } catch (...) {
    return;
  }
}

template <class T>
auto LeastSquaresSolve<T>::begin() -> Next {
  const double b_largest = fused::largest_magnitude<T>(device_, problem_.b);
  const double x_largest = fused::largest_magnitude<T>(device_, x());
  if (!std::isfinite(b_largest)) return refuse(first_not_finite(device_, "b", problem_.b));
  if (!std::isfinite(x_largest)) return refuse(first_not_finite<T>(device_, "x", x()));
  if (b_largest == 0.0) return solve_zero_right_side();
  if (!enter_scaled_units(b_largest, x_largest)) {
    return refuse("x0 is too large, compared with b, for the range of the element type");
  }
  if (!are_finite()) return refuse(first_not_finite<T>(device_, "(b - A x0)", r()));
  report_.r0_norm = user_units(r_bar_norm_);
  choose_units();
  state_.best = state_.recurrence = state_.peak = state_.norm = scaled_s_norm_;
  if (r_bar_norm_ > 0.0) state_.note_stretch(scaled_s_norm_, r_bar_norm_);
  note({0, scaled_s_norm_, watch_.seconds()});
  if (is_met()) return stop(Status::converged);
  if (interrupted_) return stop(Status::interrupted);
  if (problem_.options.max_iterations == 0) return stop(Status::max_iterations);
  keep_best();
  return Next::restart;
}

template <class T>
bool LeastSquaresSolve<T>::enter_scaled_units(double b_largest, double x_largest) {
  const fused::ScaledNorm b_norm = fused::scaled_norm(device_, problem_.b, b_largest);
  exponent_ = b_norm.exponent;
  report_.b_norm = b_norm.value();
  state_.residual_target = problem_.options.residual_tolerance * b_norm.mantissa;
  const double limit = static_cast<double>(std::numeric_limits<T>::max()) * usable_range;
  state_.x_limit = std::min(limit, std::ldexp(limit, -exponent_));
  if (!(std::ldexp(x_largest, -exponent_) <= state_.x_limit)) return false;
  state_.x_limit = std::min(std::ldexp(state_.x_limit, x_exponent_), largest_double);
  // Digits lost here are lost to the iteration as well.
  static_cast<void>(fused::scale_by_power(device_, x(), -exponent_));
  is_scaled_ = true;
  compute_residuals();
  return true;
}

template <class T>
bool LeastSquaresSolve<T>::restore_units() {
  if (!is_scaled_) return true;
  is_scaled_ = false;
  return fused::scale_by_power(device_, x(), exponent_);
}

template <class T>
void LeastSquaresSolve<T>::choose_units() {
  if (!(scaled_s_norm_ > 0.0) || !(r_bar_norm_ > 0.0)) return;
  const std::span<const T> d(problem_.diagonal, problem_.diagonal == nullptr ? 0 : x().size());
  const double largest = d.empty() ? 1.0 : fused::largest_magnitude(device_, d);
  if (!(largest > 0.0) || !std::isfinite(largest)) return;
  const int largest_exponent = std::ilogb(largest);
  int exponent = std::ilogb(scaled_s_norm_) - std::ilogb(r_bar_norm_);
  if (problem_.is_damped()) exponent = std::max(exponent, std::ilogb(problem_.options.damping) + largest_exponent);
  if (std::abs(exponent) > plain_exponent<T>) {
    d_exponent_ = bounded_exponent<T>(exponent);
    scaling_ = Array<T>(problem_.cols(), Init::none, device_);
    fused::transform_reduce(
        device_, problem_.cols(),
        LeastSquaresScaleDiagonal<T>{.diagonal = problem_.diagonal, .exponent = d_exponent_, .to = scaling_.data()});
  }
  exponent = bounded_exponent<T>(d_exponent_ - largest_exponent);
  if (std::abs(exponent) <= plain_exponent<T> && scaling_.empty()) return;
  state_.x_limit = std::min(std::ldexp(state_.x_limit, exponent - x_exponent_), largest_double);
  measure_x_by(exponent);
  compute_residuals();
}

template <class T>
void LeastSquaresSolve<T>::measure_x_by(int exponent) {
  x_exponent_ = exponent;
  state_.x_unit = std::ldexp(1.0, exponent);
  state_.damping_of_x = std::ldexp(state_.damping, -exponent);
}

/// -s = λ² x - Aᵀ r, summed as a residual is.
template <class T>
void LeastSquaresSolve<T>::compute_residuals() {
  ++report_.spmv_count;
  r_norm_ = residual_norm<T>(*problem_.a, problem_.b, x(), image_.current(), -exponent_).value();
  image_.set_prepared_for(0);
  const fused::ScaledNorm x_norm = scaled_norm_of<T>(device_, std::span<const T>(x()));
  state_.x_norm = std::ldexp(x_norm.mantissa, x_norm.exponent + x_exponent_);
  r_bar_norm_ = root_of_squares(r_norm_, state_.damping_of_x * state_.x_norm);
  if (x().empty()) return;
  if (problem_.is_damped()) {
    const LeastSquaresScaledCopy<T> damp{.factor = static_cast<T>(state_.damping_squared()),
                                         .unit = static_cast<T>(state_.x_unit),
                                         .from = x().data(),
                                         .to = damped_x_.data()};
    fused::transform_reduce(device_, problem_.cols(), damp);
  }
  ++report_.transposed_count;
  const std::span<const T> of_damping = std::as_const(damped_x_).span();
  s_norm_ = residual_norm<T>(*problem_.transposed, of_damping, r(), transposed_image_.span()).value();
  scaled_s_norm_ = s_norm_;
  if (diagonal() != nullptr) {
    LeastSquaresScaledNorm<T> scaled{.diagonal = diagonal(), .s = transposed_image_.data()};
    scaled_s_norm_ = std::sqrt(fused::transform_reduce(device_, problem_.cols(), scaled));
    if (!is_far_from_limits(scaled_s_norm_)) {
      const LeastSquaresScaledMaxNorm<T> op{.diagonal = diagonal(), .s = transposed_image_.data()};
      const double largest = fused::transform_reduce(device_, problem_.cols(), op).value;
      if (largest > 0.0 && std::isfinite(largest)) {
        scaled.exponent = std::ilogb(largest);
        scaled_s_norm_ =
            std::ldexp(std::sqrt(fused::transform_reduce(device_, problem_.cols(), scaled)), scaled.exponent);
      }
    }
  }
  state_.norm = scaled_s_norm_;
  state_.r_norm = state_.r_start = r_bar_norm_;
  state_.peak = scaled_s_norm_;
  is_checked_ = true;
}

template <class T>
bool LeastSquaresSolve<T>::are_finite() const noexcept {
  return std::isfinite(r_bar_norm_) && std::isfinite(scaled_s_norm_);
}

template <class T>
auto LeastSquaresSolve<T>::refuse(const std::string& reason) -> Next {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  report_.r0_norm = report_.recurrence_residual = report_.true_residual = report_.normal_residual =
      report_.damped_residual = report_.optimality = report_.x_norm = report_.target = unknown;
  report_.status = Status::not_finite;
  report_.reason = reason;
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// b = 0 cannot be scaled; x = 0 is the solution of least norm.
template <class T>
auto LeastSquaresSolve<T>::solve_zero_right_side() -> Next {
  fused::clear(device_, x());
  report_.status = Status::converged;
  report_.ended_by = LeastSquaresTest::residual;
  report_.reason = problem_.b.empty() ? "A has no rows, solved by x = 0" : "b = 0, solved by x = 0";
  note({0, 0.0, watch_.seconds()});
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

template <class T>
auto LeastSquaresSolve<T>::handle_halt() -> Next {
  const fused::Halt halt = std::exchange(state_.halt, fused::Halt::none);
  is_checked_ = false;
  if (halt != fused::Halt::breakdown && std::exchange(state_.keep, false)) {
    fused::copy<T>(device_, x(), kept_x_.span());
  }
  if (halt == fused::Halt::breakdown) {
    report_.breakdown = state_.breakdown;
    report_.breakdowns.push_back({report_.iterations, state_.breakdown, state_.breakdown_value, false});
    fused::copy<T>(device_, kept_x_.span(), x());
    return stop(Status::not_finite);
  }
  if (interrupted_) return stop(Status::interrupted);
  if (halt == fused::Halt::limit) return stop(state_.status);
  Next next = Next::proceed;
  if (halt == fused::Halt::check) {
    next = check();
    if (next == Next::stop) return next;
    state_.judge(state_.norm);
    if (state_.halted()) return stop(state_.status);
  }
  return time_is_up() ? stop(Status::time_limit) : next;
}

/// The recurrence claims convergence, or carries no information any more: r and s of x decide. A recurrence that is
/// right claimed too early, and goes on; else the iteration starts anew.
template <class T>
auto LeastSquaresSolve<T>::check() -> Next {
  const double claimed_s = state_.norm;
  const double claimed_r = state_.r_norm;
  const double peak = state_.peak;
  const double r_start = state_.r_start;
  compute_residuals();
  if (!report_.history.empty()) report_.history.back().true_residual = normal_units(scaled_s_norm_);
  if (is_met()) return stop(Status::converged);
  if (scaled_s_norm_ <= right_within * claimed_s && r_bar_norm_ <= right_within * claimed_r) {
    state_.margin *= 0.5;
    state_.peak = peak;
    state_.r_start = r_start;
    return Next::proceed;
  }
  return_to_best();
  if (!are_finite() || restarts_.check_is_futile(scaled_s_norm_)) return stop(Status::stagnated);
  state_.margin = 1.0;
  ++report_.replacements;
  keep_best();
  return Next::restart;
}

template <class T>
void LeastSquaresSolve<T>::keep_best() {
  state_.kept_norm = scaled_s_norm_;
  fused::copy<T>(device_, x(), kept_x_.span());
}

template <class T>
void LeastSquaresSolve<T>::return_to_best() {
  if (scaled_s_norm_ <= right_within * state_.kept_norm) return;
  const double present = scaled_s_norm_;
  fused::swap(device_, x(), kept_x_.span());
  // kept_norm may come from the recurrence; only computed norms count.
  compute_residuals();
  if (scaled_s_norm_ < present || !std::isfinite(present)) return;
  fused::swap(device_, x(), kept_x_.span());
  compute_residuals();
}

/// Ends the solve. The residuals of the returned x decide whether it is converged, whatever the recurrence says.
template <class T>
auto LeastSquaresSolve<T>::stop(Status status) -> Next {
  if (!is_checked_) compute_residuals();
  if (!is_met()) return_to_best();
  const bool fits = restore_units();
  if (!fits) {
    // x in the scaled units again, without the digits that were lost.
    static_cast<void>(fused::scale_by_power(device_, x(), -exponent_));
    is_scaled_ = true;
    compute_residuals();
    static_cast<void>(restore_units());
  }
  fill_norms();
  report_.status = is_met() ? Status::converged : fits ? status : Status::stagnated;
  if (is_met()) {
    report_.ended_by =
        state_.meets_residual(r_bar_norm_) ? LeastSquaresTest::residual : LeastSquaresTest::normal_residual;
  }
  report_.reason = fits || report_.converged() ? "" : "digits of x are below the range of the element type; ";
  report_.reason += cause(report_.status) + inequality();
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

template <class T>
bool LeastSquaresSolve<T>::note(const fused::LoopEntry& entry) {
  const double norm = normal_units(entry.norm);
  // The loop and the solve have clocks of their own.
  seconds_ = std::max(seconds_, entry.seconds);
  if (problem_.options.keep_history) {
    const double computed = entry.iteration == 0 ? norm : std::numeric_limits<double>::quiet_NaN();
    history_step_.append(report_.history, {entry.iteration, seconds_, norm, computed});
  }
  if (problem_.options.observer && !interrupted_) {
    const IterationInfo info{entry.iteration, problem_.options.max_iterations, norm,
                             normal_units(state_.normal_target(state_.r_norm)), seconds_};
    interrupted_ = problem_.options.observer(info) == Control::stop;
  }
  return !interrupted_ && !time_is_up();
}

template <class T>
void LeastSquaresSolve<T>::fill_norms() {
  report_.true_residual = user_units(r_norm_);
  report_.damped_residual = user_units(r_bar_norm_);
  report_.normal_residual = user_units(s_norm_);
  report_.recurrence_residual = normal_units(state_.recurrence);
  report_.x_norm = std::ldexp(state_.x_norm, exponent_ - x_exponent_);
  report_.matrix_norm = std::ldexp(state_.a_norm, d_exponent_);
  report_.condition = state_.condition;
  report_.optimality = scaled_s_norm_ == 0.0 ? 0.0 : scaled_s_norm_ / state_.a_norm / r_bar_norm_;
  report_.target = state_.meets_residual(r_bar_norm_) ? user_units(state_.residual_target)
                                                      : normal_units(state_.normal_target(r_bar_norm_));
}

template <class T>
std::string LeastSquaresSolve<T>::cause(Status status) const {
  const LeastSquaresOptions& options = problem_.options;
  switch (status) {
    case Status::max_iterations:
      return fmt::format("iteration limit {} reached; ", options.max_iterations);
    case Status::time_limit:
      return fmt::format("{:.3g} s > time limit {} s; ", seconds_, options.time_limit_seconds);
    case Status::interrupted:
      return fmt::format("{} after iteration {}; ", stop_words(options.stop_cause), report_.iterations);
    case Status::stagnated:
      if (state_.is_ill_conditioned) {
        return fmt::format("cond(A) is at least {:.3g} > condition limit {:.3g}; ", state_.condition,
                           options.condition_limit);
      }
      if (restarts_.futile_checks > allowed_futile_checks) {
        return fmt::format(
            "attainable accuracy reached: {} restarts from the computed residuals lowered ||A'r||_2 by less than 10 % "
            "or not at all; ",
            restarts_.futile_checks);
      }
      return fmt::format("||A'r||_2 has not fallen by 1 % below {:.6g} within {} iterations; ",
                         normal_units(state_.best), state_.window);
    case Status::not_finite:
      return fmt::format(
          "a number or an update beyond the range of the type, or NaN, in the recurrence after iteration {}, last "
          "value "
          "{:.3g}; x is an earlier one; ",
          report_.iterations, state_.breakdown_value);
    default:
      return "";
  }
}

/// The tests, with numbers: the one that holds, or both.
template <class T>
std::string LeastSquaresSolve<T>::inequality() const {
  const bool is_damped = problem_.is_damped();
  std::string of_residual = fmt::format(
      "{} = {:.6g} {} rtol*||b||_2 = {:.6g}", is_damped ? "||(b - A x, damp x)||_2" : "||b - A x||_2",
      user_units(r_bar_norm_), state_.meets_residual(r_bar_norm_) ? "<=" : ">", user_units(state_.residual_target));
  if (state_.meets_residual(r_bar_norm_)) return of_residual;
  const bool holds = state_.meets_normal(scaled_s_norm_, r_bar_norm_);
  const std::string of_normal =
      fmt::format("||{}A'(b - A x){}||_2 = {:.6g} {} rtol*||A||*||r||_2 = {:.6g}",
                  problem_.diagonal != nullptr ? "D " : "", is_damped ? " - damp^2 x" : "",
                  normal_units(scaled_s_norm_), holds ? "<=" : ">", normal_units(state_.normal_target(r_bar_norm_)));
  return holds ? of_normal : of_normal + ", " + of_residual;
}

template <class T>
LeastSquaresReport LeastSquaresSolve<T>::take_report() {
  report_.spmv_count += state_.products;
  report_.transposed_count += state_.transposed_products;
  if (problem_.counts_preconditioner) report_.preconditioner_count = report_.transposed_count;
  return std::move(report_);
}

template class LeastSquaresSolve<float>;
template class LeastSquaresSolve<double>;

}  // namespace detail

}  // namespace tessera
