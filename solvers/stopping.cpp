#include "solvers/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera {

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::max_iterations:
      return "max_iterations";
    case Status::time_limit:
      return "time_limit";
    case Status::breakdown:
      return "breakdown";
    case Status::diverged:
      return "diverged";
    case Status::stagnated:
      return "stagnated";
    case Status::not_finite:
      return "not_finite";
    case Status::interrupted:
      return "interrupted";
  }
  return "unknown";
}

std::string_view to_string(Breakdown breakdown) {
  switch (breakdown) {
    case Breakdown::none:
      return "none";
    case Breakdown::rho:
      return "rho";
    case Breakdown::alpha:
      return "alpha";
    case Breakdown::omega:
      return "omega";
    case Breakdown::indefinite:
      return "indefinite";
    case Breakdown::preconditioner:
      return "preconditioner";
    case Breakdown::dependent:
      return "dependent";
    case Breakdown::not_finite:
      return "not_finite";
    case Breakdown::asymmetric:
      return "asymmetric";
  }
  return "unknown";
}

namespace detail {

namespace {

/// A cycle of GMRES that leaves this fraction of the residual has done nothing; the next would be the same.
constexpr double idle_cycle = 1.0 - 1e-6;

std::string_view describe(Breakdown kind, PreconditionerSide side) {
  const bool is_left = side == PreconditionerSide::left;
  switch (kind) {
    case Breakdown::none:
      break;
    case Breakdown::rho:
      return "the residual is orthogonal to the shadow vector, cosine";
    case Breakdown::alpha:
      return "A p is orthogonal to the shadow vector, cosine";
    case Breakdown::omega:
      return "A s is orthogonal to s, cosine";
    case Breakdown::indefinite:
      return "p'Ap is not positive beyond rounding, so A is singular or not positive definite: p'Ap / (||p|| ||Ap||) =";
    case Breakdown::preconditioner:
      if (is_left) return "the preconditioner is singular: ||M r|| / ||r|| =";
      return "the preconditioner is not positive definite: r'Mr / r'r =";
    case Breakdown::dependent:
      if (is_left) {
        return "M A v depends on the directions before it, so A or M is singular: what is left of it, relative to "
               "||M A v||,";
      }
      return "A z depends on the directions before it, so A is singular: what is left of A z, relative to ||A z||,";
    case Breakdown::asymmetric:
      return "A is not symmetric: the two inner products of Lanczos vectors u'Av and v'Au differ, relative to ||Au|| "
             "||v||, "
             "by";
    case Breakdown::not_finite:
      return "a number or an update beyond the range of the type, or NaN, in the recurrence; last value";
  }
  return "";
}

}  // namespace

std::int64_t stagnation_iterations(const SolverOptions& options, std::int64_t n) {
  const std::int64_t asked =
      options.stagnation_window > 0 ? options.stagnation_window : std::max<std::int64_t>(1000, n);
  // With periodic replacement only computed residuals count as progress, so at least one must fall into the window.
  const std::int64_t half_limit = std::numeric_limits<std::int64_t>::max() / 2;
  return std::max(asked, 2 * std::min(options.replacement_interval, half_limit));
}

Tolerances tolerances_of(const SolverOptions& options) {
  return {options.relative_tolerance, options.absolute_tolerance, options.divergence_tolerance,
          options.base == ResidualBase::b};
}

std::string stop_words(const std::function<std::string()>& stop_cause) {
  return stop_cause ? stop_cause() : "stopped by the observer";
}

StoppingCriteria::StoppingCriteria(const SolverOptions& options, std::int64_t n, double epsilon, StopState& state)
    : options_(options), state_(state) {
  state_.epsilon = epsilon;
  state_.window = stagnation_iterations(options, n);
  state_.max_iterations = options.max_iterations;
  state_.replacement_interval = options.replacement_interval;
}

void StoppingCriteria::begin(double b_norm, double r0_norm, int exponent) {
  exponent_ = exponent;
  target_is_absolute_ = tolerances_of(options_).begin(state_, b_norm, r0_norm, exponent);
  restarts_.reference = r0_norm;
}

double StoppingCriteria::user_units(double norm) const { return std::ldexp(norm, exponent_); }

double StoppingCriteria::user_target() const {
  return target_is_absolute_ ? options_.absolute_tolerance : user_units(state_.target);
}

std::optional<Status> StoppingCriteria::verdict(double residual) {
  state_.halt = fused::Halt::none;
  state_.judge(residual);
  if (state_.halted()) return state_.status;
  return std::nullopt;
}

bool StoppingCriteria::cycle_is_futile(double norm) {
  idle_cycles_ = norm >= idle_cycle * best_of_cycles_ ? idle_cycles_ + 1 : 0;
  best_of_cycles_ = std::min(best_of_cycles_, norm);
  return idle_cycles_ > allowed_futile_checks;
}

std::string StoppingCriteria::target_text() const {
  return fmt::format("max(rtol*||{}||_2, atol) = {:.6g}", options_.base == ResidualBase::b ? "b" : "r0", user_target());
}

std::string StoppingCriteria::breakdown_cause(const SolveReport& report) const {
  const BreakdownEvent& event = report.breakdowns.back();
  return fmt::format("breakdown ({}) after iteration {}, {} restarts: {} {:.3g}; ", to_string(event.kind),
                     event.iteration, report.restarts, describe(event.kind, options_.side), event.value);
}

std::string StoppingCriteria::cause(Status status, const SolveReport& report) const {
  switch (status) {
    case Status::converged:
      return "";
    case Status::max_iterations:
      return fmt::format("iteration limit {} reached; ", options_.max_iterations);
    case Status::time_limit:
      return fmt::format("{:.3g} s > time limit {} s; ", seconds_, options_.time_limit_seconds);
    case Status::interrupted:
      return fmt::format("{} after iteration {}; ", stop_words(options_.stop_cause), report.iterations);
    case Status::diverged:
      return fmt::format("||r||_2 = {:.6g} > dtol*max(||b||_2, ||r0||_2) = {:.6g}; ", user_units(state_.judged),
                         user_units(state_.divergence_limit));
    case Status::stagnated:
      if (!stall_.empty()) return stall_;
      if (restarts_.futile_checks > allowed_futile_checks) {
        return fmt::format(
            "attainable accuracy reached: {} restarts from the true residual lowered it by less than 10 % or not at "
            "all; ",
            restarts_.futile_checks);
      }
      if (idle_cycles_ > allowed_futile_checks) {
        return fmt::format("{} cycles of {} directions did not lower ||{}||_2 = {:.6g}; ", idle_cycles_,
                           options_.restart, state_.minimizes_preconditioned() ? "M r" : "r",
                           user_units(best_of_cycles_));
      }
      return fmt::format("||r||_2 has not fallen by 1 % below {:.6g} within {} iterations; ", user_units(state_.best),
                         state_.window);
    case Status::breakdown:
    case Status::not_finite:
      return breakdown_cause(report);
  }
  return "";
}

std::string StoppingCriteria::reason(Status status, const SolveReport& report, double true_residual) const {
  const char* relation = state_.satisfied(true_residual) ? "<=" : std::isnan(true_residual) ? "is not <=" : ">";
  return fmt::format("{}||b - A x||_2 = {:.6g} {} {}", cause(status, report), user_units(true_residual), relation,
                     target_text());
}

}  // namespace detail

}  // namespace tessera
