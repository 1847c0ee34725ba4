/// One Krylov solve in scaled units: first residual, checks, restarts, report.
#include "solvers/krylov.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tessera::detail {

namespace {

/// Longer histories grow instead of being reserved.
constexpr std::int64_t reserved_history = 65536;

/// Part of the range of the element type that x may use. The rest is for rounding errors of the bound.
constexpr double usable_range = 0.999;

template <class T>
std::string first_not_finite(const Device& device, const char* name, std::span<const T> vector) {
  Array<T> copy;
  if (!device.is_host()) copy = fused::to_host(device, vector);
  const std::span<const T> values = device.is_host() ? vector : copy.span();
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad == values.end()) return fmt::format("the norm of {} is beyond the range of double", name);
  return fmt::format("{}[{}] is {}", name, bad - values.begin(), *bad);
}

}  // namespace

template <class T>
KrylovSolve<T>::KrylovSolve(const KrylovProblem<T>& problem, StopState& state)
    : problem_(problem),
      device_(problem.device()),
      state_(state),
      stopping_(problem.options, problem.a.rows(), static_cast<double>(std::numeric_limits<T>::epsilon()), state),
      residual_(problem.a.rows(), Init::none, device_),
      best_x_(problem.a.rows(), Init::none, device_),
      history_step_(problem.options.history_rows) {
  state_.element_limit = static_cast<double>(std::numeric_limits<T>::max());
  if (problem.options.keep_history) {
    const std::int64_t entries = std::min(problem.options.max_iterations, reserved_history - 1) + 1;
    report_.history.reserve(static_cast<std::size_t>(entries));
  }
}

/// Throws only on a device that has failed; nobody can read x there any more.
template <class T>
KrylovSolve<T>::~KrylovSolve() {
  try {
    static_cast<void>(restore_units());
  } catch (...) {
    return;
  }
}

template <class T>
Next KrylovSolve<T>::begin() {
  if (x().empty()) {
    report_.status = Status::converged;
    report_.reason = "the system is empty";
    return Next::stop;
  }
  const double b_largest = fused::largest_magnitude<T>(device_, problem_.b);
  const double x_largest = fused::largest_magnitude<T>(device_, x());
  if (!std::isfinite(b_largest)) return refuse(first_not_finite(device_, "b", problem_.b));
  if (!std::isfinite(x_largest)) return refuse(first_not_finite<T>(device_, "x", x()));
  if (b_largest == 0.0) return solve_zero_right_side(x_largest);
  if (!enter_scaled_units(b_largest, x_largest)) {
    if (judge_in_user_units(b_largest) == Next::stop) return Next::stop;
  }
  note({0, norm(), watch_.seconds()});
  record_true_residual();
  if (state_.satisfied(norm())) return stop(Status::converged);
  if (interrupted_) return stop(Status::interrupted);
  if (problem_.options.max_iterations == 0) return stop(Status::max_iterations);
  keep_best();
  return Next::restart;
}

template <class T>
Next KrylovSolve<T>::refuse(const std::string& reason) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const double b_largest = fused::largest_magnitude<T>(device_, problem_.b);
  report_.b_norm = std::isfinite(b_largest) ? fused::scaled_norm(device_, problem_.b, b_largest).value() : b_largest;
  report_.r0_norm = report_.recurrence_residual = report_.true_residual = unknown;
  report_.target =
      problem_.options.base == ResidualBase::b
          ? std::max(problem_.options.relative_tolerance * report_.b_norm, problem_.options.absolute_tolerance)
          : unknown;
  report_.status = Status::not_finite;
  report_.reason = reason;
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// x0 or its residual does not fit into the scaled units, but may solve the system all the same. Where its residual is
/// larger than b, the solve starts from 0, whose residual is b.
template <class T>
Next KrylovSolve<T>::judge_in_user_units(double b_largest) {
  const fused::ScaledNorm b_norm = fused::scaled_norm(device_, problem_.b, b_largest);
  const fused::ScaledNorm r0_norm = residual_in_user_units();
  if (!std::isfinite(r0_norm.mantissa)) return refuse(first_not_finite<T>(device_, "(b - A x0)", residual_.span()));
  const int exponent = std::max(b_norm.exponent, r0_norm.mantissa == 0.0 ? b_norm.exponent : r0_norm.exponent);
  state_.norm = std::ldexp(r0_norm.mantissa, r0_norm.exponent - exponent);
  const double b_in_units = std::ldexp(b_norm.mantissa, b_norm.exponent - exponent);
  stopping_.begin(b_in_units, norm(), exponent);
  const bool converged = state_.satisfied(norm());
  if (!converged && norm() > b_in_units && problem_.options.base == ResidualBase::b) {
    fused::clear(device_, x());
    note_ = " (from 0: x0 is too large, compared with b, for the range of the element type)";
    if (enter_scaled_units(b_largest, 0.0)) return Next::restart;
    return refuse(first_not_finite<T>(device_, "(b - A 0)", residual_.span()));
  }
  report_.b_norm = b_norm.value();
  report_.r0_norm = report_.recurrence_residual = report_.true_residual = r0_norm.value();
  report_.target = stopping_.user_target();
  report_.status = converged ? Status::converged : Status::not_finite;
  report_.reason = converged ? stopping_.reason(Status::converged, report_, norm())
                             : "x0 is too large, compared with b, for the range of the element type";
  note({0, norm(), watch_.seconds()});
  record_true_residual();
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// b = 0 cannot be scaled. x0 stays if it meets the absolute tolerance, else x = 0 is the exact solution.
template <class T>
Next KrylovSolve<T>::solve_zero_right_side(double x_largest) {
  ++report_.spmv_count;
  problem_.a.apply(x(), residual_.span());
  const std::span<const T> image = residual_.span();
  const double image_largest = fused::largest_magnitude(device_, image);
  if (!std::isfinite(image_largest)) return refuse(first_not_finite(device_, "(A x0)", image));
  const double r0 = fused::scaled_norm(device_, image, image_largest).value();
  stopping_.begin(0.0, r0, 0);
  report_.r0_norm = r0;
  report_.target = stopping_.user_target();
  const bool keep = state_.satisfied(r0);
  report_.recurrence_residual = report_.true_residual = state_.norm = keep ? r0 : 0.0;
  if (!keep) fused::clear(device_, x());
  report_.status = Status::converged;
  report_.reason = stopping_.reason(Status::converged, report_, norm()) +
                   (keep || x_largest == 0.0 ? " (b = 0)" : " (b = 0, solved by x = 0)");
  note({0, norm(), watch_.seconds()});
  record_true_residual();
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// False, with x as it was, when x0 or its residual does not fit into the scaled units.
template <class T>
bool KrylovSolve<T>::enter_scaled_units(double b_largest, double x_largest) {
  const fused::ScaledNorm b_norm = fused::scaled_norm(device_, problem_.b, b_largest);
  exponent_ = b_norm.exponent;
  const double limit = static_cast<double>(std::numeric_limits<T>::max()) * usable_range;
  state_.x_limit = std::min(limit, std::ldexp(limit, -exponent_));
  state_.x_bound = std::ldexp(x_largest, -exponent_);
  if (!(state_.x_bound <= state_.x_limit)) return false;
  fused::copy<T>(device_, x(), best_x_.span());
  guess_kept_ = true;
  // Digits lost here are lost to the iteration as well. The guess is kept in case that it is the answer.
  guess_is_exact_ = fused::scale_by_power(device_, x(), -exponent_);
  units_ = Units::scaled;
  compute_residual();
  if (!std::isfinite(norm())) {
    restore_guess();
    return false;
  }
  state_.recurrence = state_.kept_norm = norm();
  stopping_.begin(b_norm.mantissa, norm(), exponent_);
  report_.b_norm = b_norm.value();
  report_.r0_norm = stopping_.user_units(norm());
  report_.target = stopping_.user_target();
  return true;
}

template <class T>
void KrylovSolve<T>::restore_guess() {
  fused::copy<T>(device_, best_x_.span(), x());
  units_ = Units::user;
}

template <class T>
bool KrylovSolve<T>::restore_units() {
  if (units_ == Units::user) return true;
  const bool fits = fused::scale_by_power(device_, x(), exponent_);
  units_ = Units::user;
  return fits;
}

template <class T>
ProductDots KrylovSolve<T>::precondition(std::span<const T> v, std::span<T> z, std::span<const T> w) {
  ++report_.preconditioner_count;
  return problem_.m.apply_and_dot(v, z, w);
}

template <class T>
double KrylovSolve<T>::compute_residual() {
  ++report_.spmv_count;
  state_.norm = std::sqrt(problem_.a.residual(-exponent_, problem_.b, x(), residual_.span()));
  residual_is_true_ = true;
  return norm();
}

template <class T>
double KrylovSolve<T>::check_iterate() {
  compute_residual();
  record_true_residual();
  return norm();
}

template <class T>
void KrylovSolve<T>::finish_iteration(double residual) {
  state_.halt = fused::Halt::none;
  state_.after_iteration(residual);
  report_.iterations = state_.iteration;
  note({state_.iteration, residual, watch_.seconds()});
}

template <class T>
void KrylovSolve<T>::keep_if_due() {
  if (!state_.keep) return;
  state_.keep = false;
  guess_kept_ = false;
  fused::copy<T>(device_, x(), best_x_.span());
}

template <class T>
Next KrylovSolve<T>::handle_halt() {
  const Next next = next_after_halt();
  state_.halt = fused::Halt::none;
  return next;
}

template <class T>
Next KrylovSolve<T>::next_after_halt() {
  const fused::Halt halt = state_.halt;
  if (halt == fused::Halt::breakdown) return break_down();
  if (interrupted_) return stop(Status::interrupted);
  Next next = Next::proceed;
  if (halt == fused::Halt::limit) return stop(state_.status);
  if (halt == fused::Halt::check) next = check();
  if (halt == fused::Halt::replace) next = replace_periodically();
  if (halt == fused::Halt::cycle) next = end_cycle();
  if (next == Next::stop) return next;
  if (halt != fused::Halt::none) {
    if (const auto status = stopping_.verdict(norm())) return stop(*status);
  }
  if (time_is_up()) return stop(Status::time_limit);
  state_.consider_keeping();
  keep_if_due();
  return next;
}

template <class T>
void KrylovSolve<T>::keep_best() {
  state_.kept_norm = norm();
  guess_kept_ = false;
  fused::copy<T>(device_, x(), best_x_.span());
}

template <class T>
void KrylovSolve<T>::return_to_best() {
  if (norm() <= state_.kept_norm) return;
  const double present = norm();
  fused::swap(device_, x(), best_x_.span());
  // kept_norm may come from the recurrence; only computed residuals count.
  if (!(compute_residual() < present || !std::isfinite(present))) {
    fused::swap(device_, x(), best_x_.span());
    compute_residual();
  }
  keep_best();
}

/// The recurrence claims convergence, or its residual is below its own rounding errors: b - A x decides.
template <class T>
Next KrylovSolve<T>::check() {
  if (state_.satisfied(check_iterate())) return stop(Status::converged);
  if (!std::isfinite(norm())) {
    state_.break_down(Breakdown::not_finite, norm());
    return break_down();
  }
  return_to_best();
  if (state_.satisfied(norm())) return stop(Status::converged);
  keep_best();
  if (stopping_.restart_is_futile(norm())) return stop(Status::stagnated);
  stopping_.replaced(norm());
  ++report_.replacements;
  return Next::restart;
}

/// r changes by rounding errors alone, so the search directions are kept.
template <class T>
Next KrylovSolve<T>::replace_periodically() {
  const double residual = check_iterate();
  if (state_.satisfied(residual)) return stop(Status::converged);
  if (!std::isfinite(residual)) {
    state_.break_down(Breakdown::not_finite, residual);
    return break_down();
  }
  stopping_.replaced(residual);
  ++report_.replacements;
  return Next::replaced;
}

/// The directions are used up, and x is formed. What earlier cycles reached keeps counting for stagnation.
template <class T>
Next KrylovSolve<T>::end_cycle() {
  const double residual = check_iterate();
  if (state_.satisfied(residual)) return stop(Status::converged);
  if (!std::isfinite(residual)) {
    state_.break_down(Breakdown::not_finite, residual);
    return break_down();
  }
  return_to_best();
  if (stopping_.cycle_is_futile(norm())) return stop(Status::stagnated);
  state_.peak = norm();
  ++report_.replacements;
  return Next::restart;
}

template <class T>
Next KrylovSolve<T>::break_down() {
  const Breakdown kind = state_.breakdown;
  report_.breakdowns.push_back({report_.iterations, kind, state_.breakdown_value, false});
  check_iterate();
  return_to_best();
  const double residual = norm();
  if (state_.satisfied(residual)) return stop(Status::converged);
  if (state_.recovery == Recovery::none || !stopping_.may_restart(residual)) {
    report_.breakdown = kind;
    return stop(kind == Breakdown::not_finite ? Status::not_finite : Status::breakdown);
  }
  stopping_.replaced(residual);
  report_.breakdowns.back().restarted = true;
  ++report_.restarts;
  return Next::restart;
}

/// Ends the solve. The residual of the returned x decides whether it is converged, whatever the recurrence says.
template <class T>
Next KrylovSolve<T>::stop(Status status) {
  if (!residual_is_true_) check_iterate();
  if (!state_.satisfied(norm())) return_to_best();
  bool underflow = false;
  if (guess_kept_) {
    restore_guess();
  } else {
    underflow = !restore_units();
  }
  if (guess_kept_ ? !guess_is_exact_ : underflow) {
    const fused::ScaledNorm residual = residual_in_user_units();
    state_.norm = std::ldexp(residual.mantissa, residual.exponent - exponent_);
  }
  report_.status = state_.satisfied(norm()) ? Status::converged : underflow ? Status::stagnated : status;
  report_.recurrence_residual = stopping_.user_units(state_.recurrence);
  report_.true_residual = stopping_.user_units(norm());
  report_.reason = underflow && !report_.converged() ? "digits of x are below the range of the element type; " : "";
  report_.reason += stopping_.reason(report_.status, report_, norm()) + note_;
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// Where the sum of squares is far from the limits of double, it is right, and for float better than the elements of r,
/// which are rounded and may overflow. Elsewhere they are summed again, scaled. Infinite or NaN where both overflowed.
template <class T>
fused::ScaledNorm KrylovSolve<T>::residual_in_user_units() {
  ++report_.spmv_count;
  const double from_sum = std::sqrt(problem_.a.residual(0, problem_.b, x(), residual_.span()));
  const std::span<const T> r = residual_.span();
  const double largest = fused::largest_magnitude(device_, r);
  const bool sum_is_right = from_sum > 1e-140 && from_sum < 1e150;
  if (sum_is_right || !std::isfinite(largest)) return fused::ScaledNorm::of(from_sum);
  return fused::scaled_norm(device_, r, largest);
}

template <class T>
bool KrylovSolve<T>::note(const fused::LoopEntry& entry) {
  const double norm = stopping_.user_units(entry.norm);
  // The loop and the solve have clocks of their own.
  seconds_ = std::max(seconds_, entry.seconds);
  stopping_.set_seconds(seconds_);
  if (problem_.options.keep_history) {
    history_step_.append(report_.history, {entry.iteration, seconds_, norm, std::numeric_limits<double>::quiet_NaN()});
  }
  if (problem_.options.observer && !interrupted_) {
    const IterationInfo info{entry.iteration, problem_.options.max_iterations, norm, report_.target, seconds_};
    interrupted_ = problem_.options.observer(info) == Control::stop;
  }
  return !interrupted_ && !time_is_up();
}

template <class T>
void KrylovSolve<T>::record_true_residual() {
  if (!report_.history.empty()) report_.history.back().true_residual = stopping_.user_units(norm());
}

template <class T>
SolveReport KrylovSolve<T>::take_report() {
  report_.spmv_count += state_.products;
  report_.preconditioner_count += state_.preconditionings;
  return std::move(report_);
}

template class KrylovSolve<float>;
template class KrylovSolve<double>;

}  // namespace tessera::detail
