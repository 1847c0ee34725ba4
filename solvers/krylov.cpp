#include "solvers/krylov.hpp"

#include "core/cuda/memory.hpp"
#include "solvers/scaled_units.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

namespace tessera {

namespace {

/// Histories longer than this grow as they go instead of being reserved whole.
constexpr std::int64_t reserved_history = 65536;

template <class T>
void check_operands(const LinearOperator<T>& a, const LinearOperator<T>& m, std::span<const T> b,
                    std::span<const T> x) {
  if (a.rows() != a.cols()) throw DimensionError(fmt::format("A must be square, is {} x {}", a.rows(), a.cols()));
  if (m.rows() != a.rows() || m.cols() != a.cols()) {
    throw DimensionError(
        fmt::format("the preconditioner must be {0} x {0} as A, is {1} x {2}", a.rows(), m.rows(), m.cols()));
  }
  if (!(m.device() == a.device())) {
    throw InvalidArgument(
        fmt::format("the preconditioner must lie on {} as A, lies on {}", a.device().name(), m.device().name()));
  }
  const auto check_size = [&](const char* name, std::size_t size) {
    if (static_cast<std::int64_t>(size) == a.rows()) return;
    throw DimensionError(fmt::format("A is {0} x {0}: {1} must have {0} elements, has {2}", a.rows(), name, size));
  };
  check_size("b", b.size());
  check_size("x", x.size());
  const auto check_place = [device = a.device()](const char* name, const T* address) {
    if (device.is_host() || address == nullptr || cuda::is_reachable(device, address)) return;
    throw InvalidArgument(fmt::format("A is on {0}: {1} must lie there as well", device.name(), name));
  };
  check_place("b", b.data());
  check_place("x", x.data());
  const std::less<const T*> before;
  if (!b.empty() && before(b.data(), x.data() + x.size()) && before(x.data(), b.data() + b.size())) {
    throw InvalidArgument("b and x must not overlap");
  }
}

template <class T>
bool runs_by_itself(const LinearOperator<T>& a, const LinearOperator<T>& m, const vectors::Folding<T>& folding) {
  return a.is_enqueueable() && (folding.folds || m.is_enqueueable());
}

template <class T>
std::string first_not_finite(const Device& device, const char* name, std::span<const T> vector) {
  Array<T> copy;
  if (!device.is_host()) copy = vectors::to_host(device, vector);
  const std::span<const T> values = device.is_host() ? vector : copy.span();
  const auto bad = std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
  if (bad == values.end()) return fmt::format("the norm of {} is beyond the range of double", name);
  return fmt::format("{}[{}] is {}", name, bad - values.begin(), *bad);
}

}  // namespace

template <class T>
KrylovSolve<T>::KrylovSolve(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b,
                            std::span<T> x, const SolverOptions& options)
    : a_(A),
      m_(M),
      b_(b),
      x_(x),
      options_(options),
      device_(A.device()),
      folding_(M),
      product_((check_operands<T>(A, M, b, x), check_options(options), A.make_output())),
      residual_(A.rows(), Init::none, device_),
      loop_(device_, runs_by_itself(A, M, folding_)),
      stopping_(options, A.rows(), static_cast<double>(std::numeric_limits<T>::epsilon()), loop_.state()),
      best_x_(A.rows(), Init::none, device_) {
  state().element_limit = static_cast<double>(std::numeric_limits<T>::max());
  if (options.keep_history) {
    const std::int64_t entries = std::min(options.max_iterations, reserved_history - 1) + 1;
    report_.history.reserve(static_cast<std::size_t>(entries));
  }
}

/// Only a device that has failed throws here, whose x nobody can read any more.
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
  if (x_.empty()) {
    report_.status = Status::converged;
    report_.reason = "the system is empty";
    return Next::stop;
  }
  const double b_largest = vectors::largest_magnitude<T>(device_, b_);
  const double x_largest = vectors::largest_magnitude<T>(device_, x_);
  if (!std::isfinite(b_largest)) return refuse(first_not_finite(device_, "b", b_));
  if (!std::isfinite(x_largest)) return refuse(first_not_finite<T>(device_, "x", x_));
  if (b_largest == 0.0) return solve_zero_right_side(x_largest);
  if (!enter_scaled_units(b_largest, x_largest)) {
    return refuse(std::isfinite(norm()) ? "x0 is too large, compared with b, for the range of the element type"
                                        : first_not_finite<T>(device_, "(b - A x0)", residual_.span()));
  }
  note({0, norm(), watch_.seconds()});
  record_true_residual();
  if (state().satisfied(norm())) return stop(Status::converged);
  if (interrupted_) return stop(Status::interrupted);
  if (options_.max_iterations == 0) return stop(Status::max_iterations);
  keep_best();
  return Next::proceed;
}

template <class T>
Next KrylovSolve<T>::refuse(const std::string& reason) {
  constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  const double b_largest = vectors::largest_magnitude<T>(device_, b_);
  report_.b_norm = std::isfinite(b_largest) ? vectors::scaled_norm(device_, b_, b_largest).value() : b_largest;
  report_.r0_norm = report_.recurrence_residual = report_.true_residual = unknown;
  report_.target = options_.base == ResidualBase::b
                       ? std::max(options_.relative_tolerance * report_.b_norm, options_.absolute_tolerance)
                       : unknown;
  report_.status = Status::not_finite;
  report_.reason = reason;
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// b = 0 has no size to scale by. x0 stays if it is good enough in absolute terms, else x = 0 is the exact solution.
template <class T>
Next KrylovSolve<T>::solve_zero_right_side(double x_largest) {
  ++report_.spmv_count;
  a_.apply(x_, product_);
  const std::span<const T> image = std::as_const(product_).current();
  const double image_largest = vectors::largest_magnitude(device_, image);
  if (!std::isfinite(image_largest)) return refuse(first_not_finite(device_, "(A x0)", image));
  const double r0 = vectors::scaled_norm(device_, image, image_largest).value();
  stopping_.begin(0.0, r0, 0);
  report_.r0_norm = r0;
  report_.target = state().target;
  const bool keep = state().satisfied(r0);
  report_.recurrence_residual = report_.true_residual = state().norm = keep ? r0 : 0.0;
  if (!keep) vectors::clear(device_, x_);
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
  const vectors::ScaledNorm b_norm = vectors::scaled_norm(device_, b_, b_largest);
  exponent_ = b_norm.exponent;
  const double limit = static_cast<double>(std::numeric_limits<T>::max()) / 4;
  state().x_limit = std::min(limit, std::ldexp(limit, -exponent_));
  state().x_bound = std::ldexp(x_largest, -exponent_);
  if (!(state().x_bound <= state().x_limit)) return false;
  vectors::copy<T>(device_, x_, best_x_.span());
  guess_kept_ = true;
  // Digits lost here are lost to the iteration as well; the guess itself is kept for the case that it is the answer.
  static_cast<void>(vectors::scale_by_power(device_, x_, -exponent_));
  units_ = Units::scaled;
  compute_residual();
  if (!std::isfinite(norm())) {
    restore_guess();
    return false;
  }
  state().recurrence = state().kept_norm = norm();
  stopping_.begin(b_norm.mantissa, norm(), exponent_);
  report_.b_norm = b_norm.value();
  report_.r0_norm = stopping_.user_units(norm());
  report_.target = stopping_.user_units(state().target);
  return true;
}

template <class T>
void KrylovSolve<T>::restore_guess() {
  vectors::copy<T>(device_, best_x_.span(), x_);
  units_ = Units::user;
}

template <class T>
bool KrylovSolve<T>::restore_units() {
  if (units_ == Units::user) return true;
  const bool fits = vectors::scale_by_power(device_, x_, exponent_);
  units_ = Units::user;
  return fits;
}

template <class T>
ProductDots KrylovSolve<T>::precondition(std::span<const T> v, std::span<T> z, std::span<const T> w) {
  ++report_.preconditioner_count;
  return m_.apply_and_dot(v, z, w);
}

template <class T>
double KrylovSolve<T>::compute_residual() {
  ++report_.spmv_count;
  state().norm = std::sqrt(a_.residual(-exponent_, b_, x_, residual_.span()));
  residual_true_ = true;
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
  state().halt = loop::Halt::none;
  state().after_iteration(residual);
  report_.iterations = state().iteration;
  note({state().iteration, residual, watch_.seconds()});
}

template <class T>
void KrylovSolve<T>::keep_if_due() {
  if (!state().keep) return;
  state().keep = false;
  guess_kept_ = false;
  vectors::copy<T>(device_, x_, best_x_.span());
}

/// What the loop halted for. Afterwards it may go on, unless the method is to do something first.
template <class T>
Next KrylovSolve<T>::settle() {
  const Next next = settle_halt();
  state().halt = loop::Halt::none;
  return next;
}

template <class T>
Next KrylovSolve<T>::settle_halt() {
  const loop::Halt halt = state().halt;
  if (halt == loop::Halt::breakdown) return break_down();
  if (interrupted_) return stop(Status::interrupted);
  Next next = Next::proceed;
  if (halt == loop::Halt::limit) return stop(state().status);
  if (halt == loop::Halt::check) next = check();
  if (halt == loop::Halt::replace) next = replace_periodically();
  if (next == Next::stop) return next;
  if (halt != loop::Halt::none) {
    if (const auto status = stopping_.verdict(norm())) return stop(*status);
  }
  if (time_is_up()) return stop(Status::time_limit);
  state().consider_keeping();
  keep_if_due();
  return next;
}

template <class T>
void KrylovSolve<T>::keep_best() {
  state().kept_norm = norm();
  guess_kept_ = false;
  vectors::copy<T>(device_, x_, best_x_.span());
}

template <class T>
void KrylovSolve<T>::return_to_best() {
  if (norm() <= state().kept_norm) return;
  const double present = norm();
  vectors::swap(device_, x_, best_x_.span());
  // kept_norm may be the recurrence's word; only what is computed counts.
  if (!(compute_residual() < present || !std::isfinite(present))) {
    vectors::swap(device_, x_, best_x_.span());
    compute_residual();
  }
  keep_best();
}

/// The recurrence says that x is good enough, or knows nothing any more: b - A x decides.
template <class T>
Next KrylovSolve<T>::check() {
  if (state().satisfied(check_iterate())) return stop(Status::converged);
  if (!std::isfinite(norm())) {
    state().break_down(Breakdown::not_finite, norm());
    return break_down();
  }
  return_to_best();
  if (state().satisfied(norm())) return stop(Status::converged);
  keep_best();
  if (stopping_.restart_is_futile(norm())) return stop(Status::stagnated);
  stopping_.replaced(norm());
  ++report_.replacements;
  return Next::restart;
}

/// r changes by rounding errors alone, so the search directions stay good and are kept.
template <class T>
Next KrylovSolve<T>::replace_periodically() {
  const double residual = check_iterate();
  if (state().satisfied(residual)) return stop(Status::converged);
  if (!std::isfinite(residual)) {
    state().break_down(Breakdown::not_finite, residual);
    return break_down();
  }
  stopping_.replaced(residual);
  ++report_.replacements;
  return Next::replaced;
}

template <class T>
Next KrylovSolve<T>::break_down() {
  const Breakdown kind = state().breakdown;
  report_.breakdowns.push_back({report_.iterations, kind, state().breakdown_value, false});
  check_iterate();
  return_to_best();
  const double residual = norm();
  if (state().satisfied(residual)) return stop(Status::converged);
  if (state().recovery == Recovery::none || !stopping_.may_restart(residual)) {
    report_.breakdown = kind;
    return stop(kind == Breakdown::not_finite ? Status::not_finite : Status::breakdown);
  }
  stopping_.replaced(residual);
  report_.breakdowns.back().restarted = true;
  ++report_.restarts;
  return Next::restart;
}

/// Ends the solve. Whatever the method believed, the residual of the returned x decides whether it is converged.
template <class T>
Next KrylovSolve<T>::stop(Status status) {
  if (!residual_true_) check_iterate();
  if (!state().satisfied(norm())) return_to_best();
  bool underflow = false;
  if (guess_kept_) {
    restore_guess();
  } else if (!restore_units()) {
    underflow = true;
    compute_residual_in_user_units();
  }
  report_.status = state().satisfied(norm()) ? Status::converged : underflow ? Status::stagnated : status;
  report_.recurrence_residual = stopping_.user_units(state().recurrence);
  report_.true_residual = stopping_.user_units(norm());
  report_.reason = underflow && !report_.converged() ? "digits of x are below the range of the element type; " : "";
  report_.reason += stopping_.reason(report_.status, report_, norm());
  report_.timings.solve_ms = watch_.milliseconds();
  return Next::stop;
}

/// x lost digits on its way back to the user's units, so its residual is formed anew there. The sum of squares may
/// underflow in double, the elements of r in float: each norm can only be too small, so the larger one is right.
template <class T>
void KrylovSolve<T>::compute_residual_in_user_units() {
  ++report_.spmv_count;
  const double from_sum = std::sqrt(a_.residual(0, b_, x_, residual_.span()));
  const std::span<const T> r = residual_.span();
  const vectors::ScaledNorm norm = vectors::scaled_norm(device_, r, vectors::largest_magnitude(device_, r));
  state().norm = std::max(std::ldexp(from_sum, -exponent_), std::ldexp(norm.mantissa, norm.exponent - exponent_));
}

template <class T>
bool KrylovSolve<T>::note(const loop::LoopEntry& entry) {
  const double norm = stopping_.user_units(entry.norm);
  seconds_ = entry.seconds;
  stopping_.set_seconds(entry.seconds);
  if (options_.keep_history) {
    report_.history.push_back({entry.iteration, entry.seconds, norm, std::numeric_limits<double>::quiet_NaN()});
  }
  if (options_.observer && !interrupted_) {
    const IterationInfo info{entry.iteration, options_.max_iterations, norm, report_.target, entry.seconds};
    interrupted_ = options_.observer(info) == Control::stop;
  }
  return !interrupted_ && !time_is_up();
}

template <class T>
void KrylovSolve<T>::record_true_residual() {
  if (!report_.history.empty()) report_.history.back().true_residual = stopping_.user_units(norm());
}

template <class T>
SolveReport KrylovSolve<T>::take_report() {
  report_.spmv_count += state().products;
  report_.preconditioner_count += state().preconditionings;
  return std::move(report_);
}

template class KrylovSolve<float>;
template class KrylovSolve<double>;

}  // namespace tessera
