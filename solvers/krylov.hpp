/// \file
/// What all Krylov methods share: one solve in scaled units, from its checks to its report.
#pragma once

#include "core/stopwatch.hpp"
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

/// Whether a breakdown may be mended by starting again.
enum class Recovery { restart, none };

/// One solve. It works on A x' = b' with b' = 2^-e b and ‖b'‖₂ in [1, 2), x' = 2^-e x held in the caller's x: a power
/// of two changes no digit, so scaling the problem changes no outcome, and no square overflows. The caller's x is back
/// in the caller's units when the solve ends, exceptions included.
///
/// Invariant for the methods: x() is finite at all times. They ask step_is_safe() before they change it.
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

  /// Counts an iteration that left x() and r() updated, ‖r‖₂ as given.
  [[nodiscard]] Next after_iteration(double recurrence);

  /// \param value the cosine that vanished, or the raw quantity
  [[nodiscard]] Next breakdown(Breakdown kind, double value, Recovery recovery = Recovery::restart);

  /// Whether x + factor * p and factor itself stay within the range of T in the user's units as in the scaled ones.
  /// True counts the step. \param p_norm ‖p‖₂
  [[nodiscard]] bool step_is_safe(double factor, double p_norm) noexcept;

  /// out = A v with <w, A v> and ‖A v‖².
  ProductDots multiply(std::span<const T> v, DualBuffer<T>& out, std::span<const T> w);
  /// z = M v with <w, z> and ‖z‖².
  ProductDots precondition(std::span<const T> v, std::span<T> z, std::span<const T> w);
  /// A folded preconditioner was applied once more inside a pass.
  void count_folded() noexcept { report_.preconditioner_count += folding_.identity ? 0 : 1; }

  [[nodiscard]] std::span<T> x() const noexcept { return x_; }
  [[nodiscard]] std::span<T> r() noexcept { return residual_.span(); }
  /// ‖r‖₂ as the recurrence or the last computation has it.
  [[nodiscard]] double r_norm() const noexcept { return norm_; }
  /// Storage of one product.
  [[nodiscard]] DualBuffer<T>& product() noexcept { return product_; }
  /// Storage for a second product per iteration.
  [[nodiscard]] DualBuffer<T> make_product() const { return a_.make_output(); }
  [[nodiscard]] const vectors::Folding<T>& folding() const noexcept { return folding_; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] bool wants_check(double norm) const noexcept { return stopping_.wants_check(norm); }

  [[nodiscard]] SolveReport take_report() { return std::move(report_); }

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
  [[nodiscard]] Next check();
  [[nodiscard]] Next replace_periodically();
  [[nodiscard]] Next stop(Status status);
  /// Remembers x as the best one so far.
  void keep_best();
  /// Goes back to the best x when the present one, whose residual was just computed, is worse.
  void return_to_best();
  /// History and observer.
  Control show();
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
  Stopping stopping_;
  SolveReport report_;
  Stopwatch watch_;

  int exponent_ = 0;            // b' = 2^-exponent b
  Units units_ = Units::user;   // of x_
  double norm_ = 0.0;           // ‖r‖₂
  double recurrence_ = 0.0;     // ‖r‖₂ as the recurrence last had it
  bool residual_true_ = false;  // r is b - A x of the present x
  Array<T> best_x_;             // x' when ‖r‖ was lowest, to a factor of 2: each halving costs one copy
  double best_norm_ = 0.0;
  bool guess_kept_ = false;  // best_x_ holds the caller's x, in the caller's units
  double x_bound_ = 0.0;     // no |x'_i| exceeds it
  double x_limit_ = 0.0;
};

extern template class KrylovSolve<float>;
extern template class KrylovSolve<double>;

}  // namespace tessera
