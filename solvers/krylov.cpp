/// One Krylov solve in scaled units: checks, restarts, report. Its beginning is in krylov_opening.cpp.
#include "solvers/krylov.hpp"

#include "core/group_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

/// A correction whose recurrence has fallen to a tenth has to lower the residual to this fraction.
constexpr double least_correction = 0.5;
constexpr double claim_that_binds = 0.1;

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
KrylovSolve<T>::CorrectionTarget::CorrectionTarget(KrylovSolve& solve) noexcept
    : solve_(solve), target_(solve.state_.target) {
  if (solve.problem_.refinement == nullptr) return;
  solve.state_.target = std::max(target_, solve.problem_.refinement->reduction * solve.progress_->first_residual);
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

template <class T>
bool KrylovSolve<T>::return_if_worse() {
  if (state_.minimizes_preconditioned() && std::isfinite(norm())) return false;
  return return_to_best();
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
  const bool went_back = return_if_worse();
  if (state_.satisfied(norm())) return stop(Status::converged);
  if (norm() <= state_.kept_norm) keep_best();
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
  return_if_worse();
  const double minimized = state_.minimizes_preconditioned() ? state_.preconditioned_norm : norm();
  if (progress_->stopping.cycle_is_futile(minimized)) return stop(Status::stagnated);
  state_.peak = norm();
  ++progress_->report.replacements;
  return Next::restart;
}

template <class T>
Next KrylovSolve<T>::break_down() {
  const Breakdown kind = state_.breakdown;
  progress_->report.breakdowns.push_back({progress_->report.iterations, kind, state_.breakdown_value, false});
  check_iterate();
  return_if_worse();
  const double residual = norm();
  if (problem_.refinement == nullptr && residual <= state_.kept_norm) keep_best();
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
