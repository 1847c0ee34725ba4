/// Two-kernel CG: preconditioned conjugate gradients (solvers/cg.cpp) in two products per iteration.
///
/// Memory movement per iteration, n elements each, besides the codes of the rows, which are read twice:
///   p' = M r + β p, x with <p', A p'>   5n    reads r, p, x; writes p', x; + 1n for a diagonal, + 1n when x is kept
///   r = r - α A p' with <r, r>, <r, M r>  3n    reads p', r; writes r; + 1n for a diagonal
#include "solvers/two_kernel_cg.hpp"

#include "solvers/krylov.hpp"
#include "spmv/plan_internals.hpp"

#include <cmath>
#include <utility>
#include <variant>

namespace tessera::detail {

namespace {

/// By the products of a plan.
template <class T>
class TwoKernelCgStepsOfPlan final : public TwoKernelCgSteps<T> {
 public:
  TwoKernelCgStepsOfPlan(std::unique_ptr<CgProduct<T>> product, Device device)
      : product_(std::move(product)), device_(std::move(device)) {}

  void record_direction(const CgVectors<T>& vectors, const cuda::LoopFrame& frame) override {
    const TwoKernelCgState& state = state_in(frame);
    const auto sums = product_->enqueue_direction(vectors, &state.scalars, halt_of(state));
    cuda::record_cg_scalars(device_, frame, sums, CgScalarsAfterDirection{});
  }
  void record_residual(const CgVectors<T>& vectors, const cuda::LoopFrame& frame,
                       const CgScalarsAfterResidual& scalars) override {
    const TwoKernelCgState& state = state_in(frame);
    const auto sums = product_->enqueue_residual(vectors, &state.scalars, halt_of(state));
    cuda::record_cg_scalars(device_, frame, sums, scalars);
  }

 private:
  std::unique_ptr<CgProduct<T>> product_;
  Device device_;
};

template <class T>
class TwoKernelCg final : public KrylovMethod<T> {
 public:
  using Loop = fused::Loop<TwoKernelCgState>;

  TwoKernelCg(const KrylovProblem<T>& problem, std::unique_ptr<TwoKernelCgSteps<T>> steps)
      : loop_(problem.device(), true, problem.iterations_per_check()),
        solve_(problem, loop_.state()),
        steps_(std::move(steps)),
        directions_{Array<T>(problem.a.rows(), Init::none, solve_.device()),
                    Array<T>(problem.a.rows(), Init::none, solve_.device())} {}

  [[nodiscard]] SolveReport solve() override {
    loop_.reset();
    return solve_.run(*this, loop_);
  }

  // For KrylovSolve.

  void iterate(Loop& loop) {
    loop.enqueue([this](const cuda::LoopFrame& frame) {
      steps_->record_direction(vectors(), frame);
      steps_->record_residual(vectors(), frame, CgScalarsAfterResidual{.counts = solve_.m().counts()});
    });
  }

  /// x = x + α p: the iteration leaves it to the next one.
  void complete_iteration() {
    TwoKernelCgState& state = loop_.state();
    if (!state.x_is_behind) return;
    state.x_is_behind = false;
    state.publish();
    fused::axpy<T>(solve_.device(), static_cast<T>(state.alpha), direction().span(), solve_.x());
  }

  /// ρ = <r, M r>; p = 0 and β = 0 make the next direction M r.
  void start() {
    fused::clear(solve_.device(), direction().span());
    loop_.state().rho = precondition();
    next_direction(0.0);
  }

  /// After r was computed anew: ρ' = <r, M r>,  β = ρ' / ρ
  void resume() {
    TwoKernelCgState& state = loop_.state();
    const double previous = std::exchange(state.rho, precondition());
    const double beta = state.rho / previous;
    if (!state.fits(beta)) return state.break_down(Breakdown::not_finite, beta);
    next_direction(beta);
  }

 private:
  [[nodiscard]] Array<T>& direction() { return directions_[loop_.state().scalars.current]; }

  /// The norm of p follows with the direction.
  void next_direction(double beta) {
    TwoKernelCgState& state = loop_.state();
    state.beta = beta;
    state.p_norm = 0.0;
    state.test_direction();
    state.publish();
  }

  [[nodiscard]] double precondition() {
    solve_.count_fused_preconditioner();
    return std::visit(
        [&]<class M>(const M& m) {
          return fused::transform_reduce(solve_.device(), static_cast<std::int64_t>(solve_.r().size()),
                                         CgPreconditionedDot<T, M>{.m = m, .r = solve_.r().data()});
        },
        solve_.m().entry);
  }

  [[nodiscard]] CgVectors<T> vectors() {
    CgVectors<T> result;
    result.r = solve_.r().data();
    for (int side = 0; side < 2; ++side) result.p[side] = directions_[side].data();
    result.x = solve_.x().data();
    result.kept = solve_.kept().data();
    const auto* const diagonal = std::get_if<fused::FusedDiagonal<T>>(&solve_.m().entry);
    if (diagonal != nullptr) result.diagonal = diagonal->diagonal;
    return result;
  }

  Loop loop_;
  KrylovSolve<T> solve_;
  std::unique_ptr<TwoKernelCgSteps<T>> steps_;
  Array<T> directions_[2];
};

}  // namespace

template <class T>
std::unique_ptr<TwoKernelCgSteps<T>> two_kernel_cg_steps_of(const KrylovProblem<T>& problem) {
  if (problem.device().is_host() || !problem.preconditioner.is_fused) return nullptr;
  if (problem.a.rows() == 0 || !problem.is_enqueueable()) return nullptr;
  if (const auto* const other = dynamic_cast<const HasTwoKernelCg<T>*>(&problem.a))
    return other->make_two_kernel_cg_steps();
  const auto* const plan = dynamic_cast<const SpmvPlan<T>*>(&problem.a);
  if (plan == nullptr) return nullptr;
  auto product = PlanInternals::kernel(*plan).make_cg_product(plan->matrix(), false);
  if (product == nullptr) return nullptr;
  return std::make_unique<TwoKernelCgStepsOfPlan<T>>(std::move(product), problem.device());
}

template <class T>
std::unique_ptr<KrylovMethod<T>> make_two_kernel_cg(const KrylovProblem<T>& problem,
                                                    std::unique_ptr<TwoKernelCgSteps<T>> steps) {
  return std::make_unique<TwoKernelCg<T>>(problem, std::move(steps));
}

template std::unique_ptr<TwoKernelCgSteps<float>> two_kernel_cg_steps_of(const KrylovProblem<float>&);
template std::unique_ptr<TwoKernelCgSteps<double>> two_kernel_cg_steps_of(const KrylovProblem<double>&);
template std::unique_ptr<KrylovMethod<float>> make_two_kernel_cg(const KrylovProblem<float>&,
                                                                 std::unique_ptr<TwoKernelCgSteps<float>>);
template std::unique_ptr<KrylovMethod<double>> make_two_kernel_cg(const KrylovProblem<double>&,
                                                                  std::unique_ptr<TwoKernelCgSteps<double>>);

}  // namespace tessera::detail
