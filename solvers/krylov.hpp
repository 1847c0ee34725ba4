/// \file
/// What all Krylov methods share: one solve in scaled units, from its checks to its report.
#pragma once

#include "core/stopwatch.hpp"
#include "solvers/krylov_state.hpp"
#include "solvers/loop/loop.hpp"
#include "solvers/stopping.hpp"
#include "solvers/vector_ops.hpp"
#include "tessera/array.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace tessera {

/// What a method does after an iteration or a breakdown.
enum class Next {
  proceed,   ///< go on
  replaced,  ///< go on, but r was replaced by the computed residual: inner products with r must be formed anew
  restart,   ///< start again from r, which is b - A x
  stop,      ///< the report is complete
};

/// One solve. It works on A x' = b' with b' = 2^-e b and ‖b'‖₂ in [1, 2), x' = 2^-e x held in the caller's x: a power
/// of two changes no digit, so scaling the problem changes no outcome, and no square overflows. The caller's x is back
/// in the caller's units when the solve ends, exceptions included.
///
/// Invariant for the methods: x() is finite at all times. Their steps ask KrylovState::step_is_safe() before they
/// change it.
template <class T>
class KrylovSolve {
 public:
  KrylovSolve(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b, std::span<T> x,
              const SolverOptions& options);
  ~KrylovSolve();
  KrylovSolve(const KrylovSolve&) = delete;
  KrylovSolve& operator=(const KrylovSolve&) = delete;
  KrylovSolve(KrylovSolve&&) = delete;
  KrylovSolve& operator=(KrylovSolve&&) = delete;

  /// Scales, forms r = b - A x and shows iteration 0 to the observer. Next::stop when there is nothing to iterate on.
  [[nodiscard]] Next begin();

  using Loop = loop::Loop<KrylovState>;

  /// Runs iteration(loop) until its state halts, lets complete() finish what the halt cut short, and settles what it
  /// was about. The state may be halted already. \returns what the method has to do now
  template <class Iteration, class Complete>
  [[nodiscard]] Next iterate(Iteration&& iteration, Complete&& complete) {
    residual_true_ = false;
    loop_.run(iteration, [this](const loop::LoopEntry& entry) { return note(entry); });
    report_.iterations = state().iteration;
    complete();
    keep_if_due();
    return settle();
  }
  /// For complete(): an iteration that ended by what the host did. \param residual ‖r‖₂ of x()
  void finish_iteration(double residual);
  /// Keeps x() if the loop wants it kept. For a complete() that changes it.
  void keep_if_due();

  [[nodiscard]] KrylovState& state() noexcept { return loop_.state(); }

  /// z = M v with <w, z> and ‖z‖².
  ProductDots precondition(std::span<const T> v, std::span<T> z, std::span<const T> w);
  /// A folded preconditioner was applied once more inside a pass.
  void count_folded() noexcept { report_.preconditioner_count += counts_folded() ? 1 : 0; }
  [[nodiscard]] bool counts_folded() const noexcept { return folding_.folds && !folding_.identity; }

  [[nodiscard]] const LinearOperator<T>& a() const noexcept { return a_; }
  [[nodiscard]] const LinearOperator<T>& m() const noexcept { return m_; }
  [[nodiscard]] std::span<T> x() const noexcept { return x_; }
  [[nodiscard]] std::span<T> r() noexcept { return residual_.span(); }
  /// Storage of one product.
  [[nodiscard]] DualBuffer<T>& product() noexcept { return product_; }
  /// Storage for a second product per iteration.
  [[nodiscard]] DualBuffer<T> make_product() const { return a_.make_output(); }
  [[nodiscard]] const vectors::Folding<T>& folding() const noexcept { return folding_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  /// Where the kept x goes.
  [[nodiscard]] std::span<T> kept() noexcept { return best_x_.span(); }

  [[nodiscard]] SolveReport take_report();

 private:
  enum class Units { user, scaled };

  [[nodiscard]] Next refuse(const std::string& reason);
  [[nodiscard]] Next solve_zero_right_side(double x_largest);
  [[nodiscard]] bool enter_scaled_units(double b_largest, double x_largest);
  /// x back in the caller's units. False when digits of it fell below the smallest normal number of T.
  bool restore_units();
  /// x as the caller gave it, digit by digit; possible until the first keep_best().
  void restore_guess();

  /// r = b' - A x', one product. \returns its norm
  double compute_residual();
  /// The same for the iterate that the history shows last, which notes it.
  double check_iterate();
  void compute_residual_in_user_units();
  [[nodiscard]] Next settle();
  [[nodiscard]] Next settle_halt();
  [[nodiscard]] Next break_down();
  [[nodiscard]] Next check();
  [[nodiscard]] Next replace_periodically();
  [[nodiscard]] Next stop(Status status);
  /// Remembers x as the best one so far.
  void keep_best();
  /// Goes back to the best x when the present one, whose residual was just computed, is worse.
  void return_to_best();
  /// History, observer and time limit. \returns whether to go on
  bool note(const loop::LoopEntry& entry);
  [[nodiscard]] bool time_is_up() const noexcept { return seconds_ > options_.time_limit_seconds; }
  [[nodiscard]] double norm() const noexcept { return loop_.state().norm; }
  void record_true_residual();

  const LinearOperator<T>& a_;
  const LinearOperator<T>& m_;
  std::span<const T> b_;
  std::span<T> x_;
  const SolverOptions& options_;
  Device device_;
  vectors::Folding<T> folding_;
  DualBuffer<T> product_;
  Array<T> residual_;
  Loop loop_;
  Stopping stopping_;
  SolveReport report_;
  Stopwatch watch_;

  int exponent_ = 0;            // b' = 2^-exponent b
  Units units_ = Units::user;   // of x_
  double seconds_ = 0.0;        // of the latest iteration
  bool interrupted_ = false;    // the observer asked to stop
  bool residual_true_ = false;  // r is b - A x of the present x
  Array<T> best_x_;             // x' when ‖r‖ was lowest, to a factor of 2: each halving costs one copy
  bool guess_kept_ = false;     // best_x_ holds the caller's x, in the caller's units
};

extern template class KrylovSolve<float>;
extern template class KrylovSolve<double>;

}  // namespace tessera
