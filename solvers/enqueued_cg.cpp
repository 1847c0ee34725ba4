/// Preconditioned conjugate gradients (solvers/cg.cpp) as a whole in the stream of a GPU.
///
/// Memory movement besides the iterations, n elements each: 10n and a product with A before and after, 7n and a product
/// (and one with an M that is not fused) per round.
#include "solvers/enqueued_cg.hpp"

#include "core/cuda/memory.hpp"
#include "core/exclusive_calls.hpp"
#include "solvers/cg_iteration.hpp"
#include "solvers/stopping.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>
#include <variant>

namespace tessera {

namespace {

void refuse_host_options(const SolverOptions& options) {
  const char* const name = options.keep_history                        ? "keep_history"
                           : options.observer                          ? "observer"
                           : std::isfinite(options.time_limit_seconds) ? "time_limit_seconds"
                                                                       : nullptr;
  if (name != nullptr) throw InvalidArgument(fmt::format("an enqueued solve runs without the host: no {}", name));
}

}  // namespace

template <class T>
class EnqueuedCg<T>::Impl {
 public:
  Impl(const LinearOperator<T>& A, const LinearOperator<T>* M, const SolverOptions& options)
      : options_(options),
        identity_(A.rows(), A.device()),
        arguments_(A, M == nullptr ? identity_ : *M, options_),
        solve_(A.device()),
        n_(A.rows()) {
    refuse_host_options(options_);
    detail::require_right_side(options_, "EnqueuedCg");
    prepare();
    for (Array<T>* each : {&b_, &x_, &r_, &p_, &q_, &kept_}) *each = Array<T>(n_, Init::zero, A.device());
    if (!problem_->preconditioner.is_fused) z_ = Array<T>(n_, Init::zero, A.device());
  }

  void enqueue(std::span<const T> b, std::span<T> x, SolveOutcome* outcome) {
    const auto scope = calls_.enter("EnqueuedCg");
    arguments_.take(b, x);
    check(outcome);
    if (!(Recorded::of(arguments_) == recorded_)) prepare();
    solve_.update_state(detail::CgReset{.initial = initial_state()});
    if (n_ > 0) solve(b, x);
    solve_.update_state(detail::CgWriteOutcome{.to = outcome});
  }

 private:
  using Recorded = detail::RecordedOperands<T>;

  void prepare() {
    problem_.emplace(arguments_);
    if (!arguments_.a.device().is_host() && !problem_->is_enqueueable()) {
      throw InvalidArgument("A and M must be plans or operators that can_enqueue(), on " +
                            arguments_.a.device().name());
    }
    recorded_ = Recorded::of(arguments_);
    solve_.forget();
  }

  void check(const SolveOutcome* outcome) const {
    const Device device = arguments_.a.device();
    if (outcome == nullptr) throw InvalidArgument("a solve needs a place for its outcome, got a null pointer");
    if (!device.is_host() && !cuda::is_reachable(device, outcome)) {
      throw InvalidArgument(fmt::format("A is on {0}: the outcome must lie there as well", device.name()));
    }
  }

  [[nodiscard]] detail::EnqueuedCgState initial_state() const {
    detail::EnqueuedCgState state;
    state.epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    state.element_limit = static_cast<double>(std::numeric_limits<T>::max());
    state.window = detail::stagnation_iterations(options_, n_);
    state.max_iterations = options_.max_iterations;
    state.replacement_interval = options_.replacement_interval;
    state.tolerances = detail::tolerances_of(options_);
    state.allowed_restarts = options_.breakdown_restarts;
    if (n_ == 0) state.outcome.status = Status::converged;
    return state;
  }

  void solve(std::span<const T> b, std::span<T> x) {
    solve_.apply(n_, detail::CgMeasureLargest<T>{.b = b.data(), .x = x.data()});
    solve_.apply(n_, detail::CgMeasureNorm<T>{.b = b.data()});
    solve_.apply(n_, detail::CgEnterUnits<T>{.user_b = b.data(), .user_x = x.data(), .b = b_.data(), .x = x_.data()});
    solve_.enqueue([this] { solve_.repeat_until_done([this] { round(); }); });
    solve_.update_state(detail::CgLeaveRounds{});
    solve_.apply(n_, detail::CgLeaveUnits<T>{.x = x_.data(), .user_x = x.data()});
  }

  void round() {
    solve_.update_state(detail::CgEnterRound{});
    solve_.apply(n_, detail::CgSettle<T>{.x = x_.data(), .p = p_.data(), .kept = kept_.data()});
    solve_.template product<T>(problem_->a, x_.span(), q_.span(), x_.span());
    solve_.apply(n_, detail::CgTrueResidual<T>{.b = b_.data(), .q = q_.data(), .r = r_.data()});
    restart();
    const detail::CgIteration<T> iteration{
        .x = x_.span(), .r = r_.span(), .p = p_.span(), .z = z_.span(), .kept = kept_.span()};
    solve_.repeat_until_halted([&] {
      const std::span<T> q = q_.span();
      for (int k = 0; k < problem_->iterations_per_check(); ++k) iteration.enqueue(solve_, *problem_, q);
    });
  }

  void restart() {
    const bool is_fused = problem_->preconditioner.is_fused;
    if (!is_fused) solve_.template product<T>(problem_->m, r_.span(), z_.span(), r_.span());
    std::visit(
        [&]<class M>(const M& m) {
          solve_.apply(n_, detail::CgRestart<T, M>{.is_fused = is_fused,
                                                   .counts = !is_fused || problem_->preconditioner.counts(),
                                                   .m = m,
                                                   .r = r_.data()});
          solve_.apply(
              n_,
              detail::CgRestartDirection<T, M>{
                  .m = m, .z = is_fused ? r_.data() : z_.data(), .x = x_.data(), .p = p_.data(), .kept = kept_.data()});
        },
        problem_->preconditioner.entry);
  }

  SolverOptions options_;
  IdentityOperator<T> identity_;
  detail::KrylovArguments<T> arguments_;
  std::optional<detail::KrylovProblem<T>> problem_;
  Recorded recorded_;
  fused::EnqueuedSolve<detail::EnqueuedCgState> solve_;
  std::int64_t n_;
  detail::ExclusiveCalls calls_;
  Array<T> b_, x_, r_, p_, q_, kept_;
  Array<T> z_;  ///< empty where M is fused
};

template <class T>
EnqueuedCg<T>::EnqueuedCg(const LinearOperator<T>& A, const LinearOperator<T>& M, const SolverOptions& options)
    : impl_(std::make_unique<Impl>(A, &M, options)) {}

template <class T>
EnqueuedCg<T>::EnqueuedCg(const LinearOperator<T>& A, const SolverOptions& options)
    : impl_(std::make_unique<Impl>(A, nullptr, options)) {}

template <class T>
EnqueuedCg<T>::~EnqueuedCg() = default;
template <class T>
EnqueuedCg<T>::EnqueuedCg(EnqueuedCg&&) noexcept = default;
template <class T>
EnqueuedCg<T>& EnqueuedCg<T>::operator=(EnqueuedCg&&) noexcept = default;

template <class T>
void EnqueuedCg<T>::enqueue(std::span<const T> b, std::span<T> x, SolveOutcome* outcome) {
  impl_->enqueue(b, x, outcome);
}

template class EnqueuedCg<float>;
template class EnqueuedCg<double>;

}  // namespace tessera
