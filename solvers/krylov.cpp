/// One Krylov solve in scaled units: first residual, checks, restarts, report.
#include "solvers/krylov.hpp"

#include "core/group_rank.hpp"

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

/// A correction whose recurrence has fallen to a tenth has to lower the residual to this fraction.
constexpr double least_correction = 0.5;
constexpr double claim_that_binds = 0.1;
/// Residuals beyond would come near the limits of single precision.
constexpr double largest_corrected = 0x1p60;

}  // namespace

template <class T>
KrylovSolve<T>::KrylovSolve(const KrylovProblem<T>& problem, StopState& state)
    : problem_(problem),
      device_(problem.device()),
      state_(state),
      own_{Array<T>(problem.a.rows(), Init::none, device_), Array<T>(problem.a.rows(), Init::none, device_)},
      residual_(own_[0].span()),
      best_x_(own_[1].span()) {}

template <class T>
KrylovSolve<T>::KrylovSolve(const KrylovProblem<T>& problem, StopState& state, std::span<T> residual, std::span<T> kept)
    : problem_(problem), device_(problem.device()), state_(state), residual_(residual), best_x_(kept) {}

template <class T>
KrylovSolve<T>::CorrectionTarget::CorrectionTarget(KrylovSolve& solve) noexcept
    : solve_(solve), target_(solve.state_.target) {
  if (solve.problem_.refinement == nullptr) return;
  solve.state_.target = std::max(target_, solve.problem_.refinement->reduction * solve.progress_->first_residual);
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

template <class T>
Next KrylovSolve<T>::open() {
  prepare();
  return begin();
}

template <class T>
std::int64_t KrylovSolve<T>::rows() const noexcept {
  const GroupRank* const rank = rank_of(device_);
  return rank == nullptr ? problem_.a.rows() : rank->rows;
}

template <class T>
void KrylovSolve<T>::share_progress() {
  struct Seen {
    double seconds;
    bool interrupted;
  };
  const Seen seen = decided_by_first(device_, Seen{progress_->seconds, progress_->interrupted});
  progress_->seconds = seen.seconds;
  progress_->interrupted = seen.interrupted;
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

/// x0 or its residual does not fit into the scaled units, but may solve the system all the same. Where its residual is
/// larger than b, the solve starts from 0, whose residual is b.
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
ProductDots KrylovSolve<T>::precondition(std::span<const T> v, std::span<T> z, std::span<const T> w) {
  ++progress_->report.preconditioner_count;
  return problem_.m.apply_and_dot(v, z, w);
}

template <class T>
double KrylovSolve<T>::compute_residual() {
  ++progress_->report.spmv_count;
  state_.norm = problem_.refinement != nullptr
                    ? problem_.refinement->residual(x(), residual_)
                    : std::sqrt(problem_.a.residual(-progress_->exponent, problem_.b, x(), residual_));
  progress_->residual_is_true = true;
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
  progress_->report.iterations = state_.iteration;
  note({state_.iteration, residual, progress_->watch.seconds()});
  share_progress();
}

template <class T>
void KrylovSolve<T>::keep_if_due() {
  if (!state_.keep) return;
  state_.keep = false;
  progress_->guess_kept = false;
  fused::copy<T>(device_, x(), best_x_);
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
  if (progress_->interrupted) return stop(Status::interrupted);
  Next next = Next::proceed;
  if (halt == fused::Halt::limit) return stop(state_.status);
  if (halt == fused::Halt::check) next = check();
  if (halt == fused::Halt::replace) next = replace_periodically();
  if (halt == fused::Halt::cycle) next = end_cycle();
  if (next == Next::stop) return next;
  if (halt != fused::Halt::none) {
    if (const auto status = progress_->stopping.verdict(norm())) return stop(*status);
  }
  if (time_is_up()) return stop(Status::time_limit);
  state_.consider_keeping();
  keep_if_due();
  return next;
}

template <class T>
void KrylovSolve<T>::keep_best() {
  state_.kept_norm = norm();
  if (problem_.refinement != nullptr) {
    problem_.refinement->take(x());
    state_.x_bound = 0.0;
  }
  progress_->guess_kept = false;
  fused::copy<T>(device_, x(), best_x_);
}

template <class T>
bool KrylovSolve<T>::return_to_best() {
  if (norm() <= state_.kept_norm) return false;
  const double present = norm();
  fused::swap(device_, x(), best_x_);
  // kept_norm may come from the recurrence; only computed residuals count.
  const bool is_better = compute_residual() < present || !std::isfinite(present);
  if (!is_better) {
    fused::swap(device_, x(), best_x_);
    compute_residual();
  }
  keep_best();
  return is_better;
}

/// The recurrence claims convergence, or its residual is below its own rounding errors: b - A x decides.
template <class T>
Next KrylovSolve<T>::check() {
  const double claimed = norm();
  if (state_.satisfied(check_iterate())) return stop(Status::converged);
  if (!std::isfinite(norm())) {
    state_.break_down(Breakdown::not_finite, norm());
    return break_down();
  }
  const bool went_back = return_to_best();
  if (state_.satisfied(norm())) return stop(Status::converged);
  keep_best();
  if (problem_.refinement != nullptr) return correct_further(claimed, went_back);
  if (progress_->stopping.restart_is_futile(norm())) return stop(Status::stagnated);
  progress_->stopping.replaced(norm());
  ++progress_->report.replacements;
  return Next::restart;
}

/// The residual of the solution has to follow that of the recurrence: less than that is what T can resolve no longer.
template <class T>
Next KrylovSolve<T>::correct_further(double claimed, bool went_back) {
  const double first = progress_->first_residual;
  const bool fell_short = claimed <= claim_that_binds * first && norm() > least_correction * first;
  progress_->short_corrections = fell_short ? progress_->short_corrections + 1 : 0;
  if (progress_->short_corrections > allowed_futile_checks || progress_->stopping.restart_is_futile(norm())) {
    progress_->stopping.stall(
        fmt::format("a correction lowered ||b - A x||_2 from {:.3g} to {:.3g}, its recurrence to {:.3g}; ",
                    progress_->stopping.user_units(first), progress_->stopping.user_units(norm()),
                    progress_->stopping.user_units(claimed)));
    return stop(Status::stagnated);
  }
  progress_->stopping.replaced(norm());
  ++progress_->report.replacements;
  return problem_.refinement->keeps_direction && !went_back ? Next::replaced : Next::restart;
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
  progress_->stopping.replaced(residual);
  ++progress_->report.replacements;
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
  if (progress_->stopping.cycle_is_futile(norm())) return stop(Status::stagnated);
  state_.peak = norm();
  ++progress_->report.replacements;
  return Next::restart;
}

template <class T>
Next KrylovSolve<T>::break_down() {
  const Breakdown kind = state_.breakdown;
  progress_->report.breakdowns.push_back({progress_->report.iterations, kind, state_.breakdown_value, false});
  check_iterate();
  return_to_best();
  const double residual = norm();
  if (state_.satisfied(residual)) return stop(Status::converged);
  if (state_.recovery == Recovery::none || !progress_->stopping.may_restart(residual)) {
    progress_->report.breakdown = kind;
    return stop(kind == Breakdown::not_finite ? Status::not_finite : Status::breakdown);
  }
  progress_->stopping.replaced(residual);
  progress_->report.breakdowns.back().restarted = true;
  ++progress_->report.restarts;
  return Next::restart;
}

/// Ends the solve. The residual of the returned x decides whether it is converged, whatever the recurrence says.
template <class T>
Next KrylovSolve<T>::stop(Status status) {
  if (!progress_->residual_is_true) check_iterate();
  if (!state_.satisfied(norm())) return_to_best();
  if (problem_.refinement != nullptr) problem_.refinement->take(x());
  bool underflow = false;
  if (progress_->guess_kept) {
    restore_guess();
  } else {
    underflow = !restore_units();
  }
  if (progress_->guess_kept ? !progress_->guess_is_exact : underflow) {
    const fused::ScaledNorm residual = residual_in_user_units();
    state_.norm = std::ldexp(residual.mantissa, residual.exponent - progress_->exponent);
  }
  progress_->report.status = state_.satisfied(norm()) ? Status::converged : underflow ? Status::stagnated : status;
  progress_->report.recurrence_residual = progress_->stopping.user_units(state_.recurrence);
  progress_->report.true_residual = progress_->stopping.user_units(norm());
  progress_->report.reason =
      underflow && !progress_->report.converged() ? "digits of x are below the range of the element type; " : "";
  progress_->report.reason +=
      progress_->stopping.reason(progress_->report.status, progress_->report, norm()) + progress_->note;
  progress_->report.timings.solve_ms = progress_->watch.milliseconds();
  return Next::stop;
}

/// Where the sum of squares is far from the limits of double, it is right, and for float better than the elements of r,
/// which are rounded and may overflow. Elsewhere they are summed again, scaled. Infinite or NaN where both overflowed.
template <class T>
fused::ScaledNorm KrylovSolve<T>::residual_in_user_units() {
  ++progress_->report.spmv_count;
  const double from_sum = std::sqrt(problem_.a.residual(0, problem_.b, x(), residual_));
  const std::span<const T> r = residual_;
  const double largest = fused::largest_magnitude(device_, r);
  const bool sum_is_right = from_sum > 1e-140 && from_sum < 1e150;
  if (sum_is_right || !std::isfinite(largest)) return fused::ScaledNorm::of(from_sum);
  return fused::scaled_norm(device_, r, largest);
}

template <class T>
bool KrylovSolve<T>::note(const fused::LoopEntry& entry) {
  const double norm = progress_->stopping.user_units(entry.norm);
  // The loop and the solve have clocks of their own.
  progress_->seconds = std::max(progress_->seconds, entry.seconds);
  progress_->stopping.set_seconds(progress_->seconds);
  if (problem_.options.keep_history) {
    progress_->history_step.append(progress_->report.history, {entry.iteration, progress_->seconds, norm,
                                                               std::numeric_limits<double>::quiet_NaN()});
  }
  if (problem_.options.observer && !progress_->interrupted) {
    const IterationInfo info{entry.iteration, problem_.options.max_iterations, norm, progress_->report.target,
                             progress_->seconds};
    progress_->interrupted = problem_.options.observer(info) == Control::stop;
  }
  return !progress_->interrupted && !time_is_up();
}

template <class T>
void KrylovSolve<T>::record_true_residual() {
  if (!progress_->report.history.empty())
    progress_->report.history.back().true_residual = progress_->stopping.user_units(norm());
}

template <class T>
SolveReport KrylovSolve<T>::take_report() {
  progress_->report.spmv_count += state_.products;
  progress_->report.preconditioner_count += state_.preconditionings;
  return std::move(progress_->report);
}

template class KrylovSolve<float>;
template class KrylovSolve<double>;

}  // namespace tessera::detail
