/// Iterative methods kept for many solves.
#include "tessera/iterative_solver.hpp"

#include "core/exclusive_calls.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/registry.hpp"
#include "tessera/array.hpp"

#include <optional>

namespace tessera {

template <class T>
class IterativeSolver<T>::Impl {
 public:
  Impl(IterativeMethod method, const LinearOperator<T>& a, const LinearOperator<T>* m, const SolverOptions& options)
      : method_(method),
        options_(options),
        identity_(a.rows(), a.device()),
        given_a_(a),
        given_m_(m == nullptr ? identity_ : *m),
        arguments_(given_a_, given_m_, options_) {
    prepare();
    x_ = Array<T>(keeps_x() ? a.rows() : 0, Init::none, a.device());
  }

  [[nodiscard]] SolveReport solve(std::span<const T> b, std::span<T> x) {
    const auto scope = calls_.enter("IterativeSolver");
    // Without a state an earlier preparation has thrown.
    if (!state_ || !(Recorded::of(arguments_) == recorded_)) prepare();
    problem_->take(b, x);
    if (!keeps_x()) return state_->solve();
    const KeptX kept(*this, x);
    return state_->solve();
  }

  [[nodiscard]] SolveReport solve_transposed(std::span<const T> b, std::span<T> x) {
    const auto scope = calls_.enter("IterativeSolver");
    const Recorded now = Recorded::of(arguments_);
    if (!transposed_ || !(now == transposed_of_)) {
      transposed_.reset();
      transposed_a_ = transposed(given_a_);
      transposed_m_ = transposed(given_m_);
      transposed_ = std::make_unique<Impl>(method_, *transposed_a_, transposed_m_.get(), options_);
      transposed_of_ = now;
    }
    return transposed_->solve(b, x);
  }

  [[nodiscard]] IterativeMethod method() const noexcept { return method_; }
  [[nodiscard]] const SolverOptions& options() const noexcept { return options_; }

 private:
  /// Puts the solver's own x in the place of the caller's, and its elements back at the end, exceptions included.
  class KeptX {
   public:
    KeptX(Impl& solver, std::span<T> x) : solver_(solver), x_(x) {
      fused::copy<T>(solver_.problem_->device(), x_, solver_.x_.span());
      solver_.problem_->x = solver_.x_.span();
    }
    KeptX(const KeptX&) = delete;
    KeptX& operator=(const KeptX&) = delete;
    /// Throws only on a device that has failed; nobody can read x there any more.
    ~KeptX() {
      try {
        fused::copy<T>(solver_.problem_->device(), solver_.x_.span(), x_);
      } catch (...) {
        return;
      }
    }

   private:
    Impl& solver_;
    std::span<T> x_;
  };

  using Recorded = detail::RecordedOperands<T>;

  void prepare() {
    state_.reset();
    problem_.emplace(arguments_);
    state_ = detail::method_entry(method_).make<T>(*problem_);
    recorded_ = Recorded::of(arguments_);
  }

  [[nodiscard]] bool keeps_x() const { return !problem_->device().is_host() && problem_->is_enqueueable(); }

  IterativeMethod method_;
  SolverOptions options_;
  IdentityOperator<T> identity_;
  const LinearOperator<T>& given_a_;
  const LinearOperator<T>& given_m_;
  detail::KrylovArguments<T> arguments_;
  std::optional<detail::KrylovProblem<T>> problem_;
  std::unique_ptr<detail::KrylovMethod<T>> state_;
  Recorded recorded_;
  Array<T> x_;  ///< empty where the caller's x serves
  detail::ExclusiveCalls calls_;
  std::shared_ptr<const FusedOperator<T>> transposed_a_;
  std::shared_ptr<const FusedOperator<T>> transposed_m_;
  std::unique_ptr<Impl> transposed_;  ///< of Aᵀ and Mᵀ, from the first solve with them on
  Recorded transposed_of_;            ///< A and M then
};

template <class T>
IterativeSolver<T>::IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                                    const SolverOptions& options)
    : impl_(std::make_unique<Impl>(method, A, &M, options)) {}

template <class T>
IterativeSolver<T>::IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const SolverOptions& options)
    : impl_(std::make_unique<Impl>(method, A, nullptr, options)) {}

template <class T>
IterativeSolver<T>::~IterativeSolver() = default;
template <class T>
IterativeSolver<T>::IterativeSolver(IterativeSolver&&) noexcept = default;
template <class T>
IterativeSolver<T>& IterativeSolver<T>::operator=(IterativeSolver&&) noexcept = default;

template <class T>
SolveReport IterativeSolver<T>::solve(std::span<const T> b, std::span<T> x) {
  return impl_->solve(b, x);
}

template <class T>
SolveReport IterativeSolver<T>::solve_transposed(std::span<const T> b, std::span<T> x) {
  return impl_->solve_transposed(b, x);
}

template <class T>
IterativeMethod IterativeSolver<T>::method() const noexcept {
  return impl_->method();
}

template <class T>
const SolverOptions& IterativeSolver<T>::options() const noexcept {
  return impl_->options();
}

template class IterativeSolver<float>;
template class IterativeSolver<double>;

}  // namespace tessera
