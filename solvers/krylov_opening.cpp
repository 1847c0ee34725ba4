/// The beginning of a Krylov solve: refusals, right-hand sides of zero, and the way into scaled units and back.
#include "solvers/krylov.hpp"

#include "core/group_rank.hpp"
#include "solvers/residual_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tessera::detail {

namespace {

/// Longer histories grow instead of being reserved.
constexpr std::int64_t reserved_history = 65536;
/// Residuals beyond would come near the limits of single precision.
constexpr double largest_corrected = 0x1p60;

}  // namespace

template <class T>
Next KrylovSolve<T>::open() {
  prepare();
  return begin();
}

template <class T>
void KrylovSolve<T>::prepare() {
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  const SolverOptions& options = problem_.options;
  progress_.emplace(Progress{.stopping = StoppingCriteria(options, rows(), epsilon, state_),
                             .history_step = HistoryStep(options.history_rows)});
  state_.element_limit = static_cast<double>(std::numeric_limits<T>::max());
  if (options.keep_history) {
    const std::int64_t entries = std::min(options.max_iterations, reserved_history - 1) + 1;
    progress_->report.history.reserve(static_cast<std::size_t>(entries));
  }
}

template <class T>
Next KrylovSolve<T>::begin() {
  if (x().empty()) {
    progress_->report.status = Status::converged;
    progress_->report.reason = "the system is empty";
    return Next::stop;
  }
  if (problem_.refinement != nullptr) return begin_correction();
  const double b_largest = fused::largest_magnitude<T>(device_, problem_.b);
  const double x_largest = fused::largest_magnitude<T>(device_, x());
  if (!std::isfinite(b_largest)) return refuse(first_not_finite(device_, "b", problem_.b));
  if (!std::isfinite(x_largest)) return refuse(first_not_finite<T>(device_, "x", x()));
  if (b_largest == 0.0) return solve_zero_right_side(x_largest);
  if (!enter_scaled_units(b_largest, x_largest)) {
    if (judge_in_user_units(b_largest) == Next::stop) return Next::stop;
  }
  return begin_iterations();
}

template <class T>
Next KrylovSolve<T>::begin_correction() {
  fused::clear(device_, x());
  progress_->exponent = problem_.refinement->exponent;
  state_.x_limit = static_cast<double>(std::numeric_limits<T>::max()) * usable_range;
  compute_residual();
  state_.recurrence = norm();
  progress_->stopping.begin(problem_.refinement->b_norm, norm(), progress_->exponent);
  progress_->report.b_norm = progress_->stopping.user_units(problem_.refinement->b_norm);
  progress_->report.r0_norm = progress_->report.recurrence_residual = progress_->report.true_residual =
      progress_->stopping.user_units(norm());
  progress_->report.target = progress_->stopping.user_target();
  if (norm() <= largest_corrected) return begin_iterations();
  progress_->report.status = Status::not_finite;
  progress_->report.reason =
      fmt::format("||b - A x0||_2 = {:.6g} is beyond the range of corrections of ||b||_2 = {:.6g}",
                  progress_->report.r0_norm, progress_->report.b_norm);
  return Next::stop;
}

template <class T>
Next KrylovSolve<T>::begin_iterations() {
  note({0, norm(), progress_->watch.seconds()});
  share_progress();
  record_true_residual();
  if (state_.satisfied(norm())) return stop(Status::converged);
  if (progress_->interrupted) return stop(Status::interrupted);
  if (problem_.options.max_iterations == 0) return stop(Status::max_iterations);
  keep_best();
  return Next::restart;
}

template <class T>
Next KrylovSolve<T>::refuse(const std::string& reason) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const double b_largest = fused::largest_magnitude<T>(device_, problem_.b);
  progress_->report.b_norm =
      std::isfinite(b_largest) ? fused::scaled_norm(device_, problem_.b, b_largest).value() : b_largest;
  progress_->report.r0_norm = progress_->report.recurrence_residual = progress_->report.true_residual = unknown;
  progress_->report.target = problem_.options.base == ResidualBase::b
                                 ? std::max(problem_.options.relative_tolerance * progress_->report.b_norm,
                                            problem_.options.absolute_tolerance)
                                 : unknown;
  progress_->report.status = Status::not_finite;
  progress_->report.reason = reason;
  progress_->report.timings.solve_ms = progress_->watch.milliseconds();
  return Next::stop;
}

/// x0 or its residual does not fit into the scaled units, but may solve the system all the same. Where its residual
/// is/// larger than b, the solve starts from 0, whose residual is b.
template <class T>
Next KrylovSolve<T>::judge_in_user_units(double b_largest) {
  const fused::ScaledNorm b_norm = fused::scaled_norm(device_, problem_.b, b_largest);
  const fused::ScaledNorm r0_norm = residual_in_user_units();
  if (!std::isfinite(r0_norm.mantissa)) return refuse(first_not_finite<T>(device_, "(b - A x0)", residual_));
  const int exponent = std::max(b_norm.exponent, r0_norm.mantissa == 0.0 ? b_norm.exponent : r0_norm.exponent);
  state_.norm = std::ldexp(r0_norm.mantissa, r0_norm.exponent - exponent);
  const double b_in_units = std::ldexp(b_norm.mantissa, b_norm.exponent - exponent);
  progress_->stopping.begin(b_in_units, norm(), exponent);
  const bool converged = state_.satisfied(norm());
  if (!converged && norm() > b_in_units && problem_.options.base == ResidualBase::b) {
    fused::clear(device_, x());
    progress_->note = " (from 0: x0 is too large, compared with b, for the range of the element type)";
    if (enter_scaled_units(b_largest, 0.0)) return Next::restart;
    return refuse(first_not_finite<T>(device_, "(b - A 0)", residual_));
  }
  progress_->report.b_norm = b_norm.value();
  progress_->report.r0_norm = progress_->report.recurrence_residual = progress_->report.true_residual = r0_norm.value();
  progress_->report.target = progress_->stopping.user_target();
  progress_->report.status = converged ? Status::converged : Status::not_finite;
  progress_->report.reason = converged ? progress_->stopping.reason(Status::converged, progress_->report, norm())
                                       : "x0 is too large, compared with b, for the range of the element type";
  note({0, norm(), progress_->watch.seconds()});
  record_true_residual();
  progress_->report.timings.solve_ms = progress_->watch.milliseconds();
  return Next::stop;
}

/// b = 0 cannot be scaled. x0 stays if it meets the absolute tolerance, else x = 0 is the exact solution.
template <class T>
Next KrylovSolve<T>::solve_zero_right_side(double x_largest) {
  ++progress_->report.spmv_count;
  problem_.a.apply(x(), residual_);
  const std::span<const T> image = residual_;
  const double image_largest = fused::largest_magnitude(device_, image);
  if (!std::isfinite(image_largest)) return refuse(first_not_finite(device_, "(A x0)", image));
  const double r0 = fused::scaled_norm(device_, image, image_largest).value();
  progress_->stopping.begin(0.0, r0, 0);
  progress_->report.r0_norm = r0;
  progress_->report.target = progress_->stopping.user_target();
  const bool keep = state_.satisfied(r0);
  progress_->report.recurrence_residual = progress_->report.true_residual = state_.norm = keep ? r0 : 0.0;
  if (!keep) fused::clear(device_, x());
  progress_->report.status = Status::converged;
  progress_->report.reason = progress_->stopping.reason(Status::converged, progress_->report, norm()) +
                             (keep || x_largest == 0.0 ? " (b = 0)" : " (b = 0, solved by x = 0)");
  note({0, norm(), progress_->watch.seconds()});
  record_true_residual();
  progress_->report.timings.solve_ms = progress_->watch.milliseconds();
  return Next::stop;
}

/// False, with x as it was, when x0 or its residual does not fit into the scaled units.
template <class T>
bool KrylovSolve<T>::enter_scaled_units(double b_largest, double x_largest) {
  const fused::ScaledNorm b_norm = fused::scaled_norm(device_, problem_.b, b_largest);
  progress_->exponent = b_norm.exponent;
  const double limit = static_cast<double>(std::numeric_limits<T>::max()) * usable_range;
  state_.x_limit = std::min(limit, std::ldexp(limit, -progress_->exponent));
  state_.x_bound = std::ldexp(x_largest, -progress_->exponent);
  if (!(state_.x_bound <= state_.x_limit)) return false;
  fused::copy<T>(device_, x(), best_x_);
  progress_->guess_kept = true;
  // Digits lost here are lost to the iteration as well. The guess is kept in case that it is the answer.
  progress_->guess_is_exact = fused::scale_by_power(device_, x(), -progress_->exponent);
  progress_->units = Units::scaled;
  compute_residual();
  if (!std::isfinite(norm())) {
    restore_guess();
    return false;
  }
  state_.recurrence = state_.kept_norm = norm();
  progress_->stopping.begin(b_norm.mantissa, norm(), progress_->exponent);
  progress_->report.b_norm = b_norm.value();
  progress_->report.r0_norm = progress_->stopping.user_units(norm());
  progress_->report.target = progress_->stopping.user_target();
  return true;
}

template <class T>
void KrylovSolve<T>::restore_guess() {
  fused::copy<T>(device_, best_x_, x());
  progress_->units = Units::user;
}

template <class T>
bool KrylovSolve<T>::restore_units() {
  if (!progress_ || progress_->units == Units::user) return true;
  const bool fits = fused::scale_by_power(device_, x(), progress_->exponent);
  progress_->units = Units::user;
  return fits;
}

template <class T>
fused::ScaledNorm KrylovSolve<T>::residual_in_user_units() {
  ++progress_->report.spmv_count;
  return residual_norm<T>(problem_.a, problem_.b, x(), residual_);
}

/// Throws only on a device that has failed; nobody can read x there any more. A rank that leaves by an exception first
/// says so: then the others wait for it no longer, and every rank scales its own x back before it throws.
template <class T>
KrylovSolve<T>::UnitsGuard::~UnitsGuard() {
  const GroupRank* const rank = rank_of(solve_.device_);
  if (rank != nullptr && std::uncaught_exceptions() > exceptions_) rank->communicator->fail(rank->number, nullptr);
  try {
    static_cast<void>(solve_.restore_units());
  } catch (...) {
    return;
  }
}

// All others are instantiated in krylov.cpp.
template Next KrylovSolve<float>::open();
template void KrylovSolve<float>::prepare();
template Next KrylovSolve<float>::begin();
template Next KrylovSolve<float>::begin_correction();
template Next KrylovSolve<float>::begin_iterations();
template Next KrylovSolve<float>::refuse(const std::string&);
template Next KrylovSolve<float>::judge_in_user_units(double);
template Next KrylovSolve<float>::solve_zero_right_side(double);
template bool KrylovSolve<float>::enter_scaled_units(double, double);
template void KrylovSolve<float>::restore_guess();
template bool KrylovSolve<float>::restore_units();
template fused::ScaledNorm KrylovSolve<float>::residual_in_user_units();
template KrylovSolve<float>::UnitsGuard::~UnitsGuard();

template Next KrylovSolve<double>::open();
template void KrylovSolve<double>::prepare();
template Next KrylovSolve<double>::begin();
template Next KrylovSolve<double>::begin_correction();
template Next KrylovSolve<double>::begin_iterations();
template Next KrylovSolve<double>::refuse(const std::string&);
template Next KrylovSolve<double>::judge_in_user_units(double);
template Next KrylovSolve<double>::solve_zero_right_side(double);
template bool KrylovSolve<double>::enter_scaled_units(double, double);
template void KrylovSolve<double>::restore_guess();
template bool KrylovSolve<double>::restore_units();
template fused::ScaledNorm KrylovSolve<double>::residual_in_user_units();
template KrylovSolve<double>::UnitsGuard::~UnitsGuard();

}  // namespace tessera::detail
