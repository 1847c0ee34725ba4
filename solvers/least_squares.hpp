/// \file
/// Shared by LSMR and CGLS: checked arguments, and one solve in scaled units, from its first residuals to its report.
#pragma once

#include "core/history.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/loop.hpp"
#include "solvers/least_squares_state.hpp"
#include "tessera/array.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/least_squares.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace tessera::detail {

/// Arguments that fit each other, and outlive the solve.
template <class T>
struct LeastSquaresProblem {
  std::shared_ptr<const FusedOperator<T>> a;
  std::shared_ptr<const FusedOperator<T>> transposed;  ///< Aᵀ
  const T* diagonal;                                   ///< of D; null for the identity
  bool counts_preconditioner = false;
  std::span<const T> b;
  std::span<T> x;
  const LeastSquaresOptions& options;

  /// \throws NotSupported, DimensionError, InvalidArgument as lsmr()
  LeastSquaresProblem(const LinearOperator<T>& A, const LinearOperator<T>& D, std::span<const T> right_side,
                      std::span<T> guess, const LeastSquaresOptions& given);

  [[nodiscard]] std::int64_t rows() const { return a->rows(); }
  [[nodiscard]] std::int64_t cols() const { return a->cols(); }
  [[nodiscard]] Device device() const { return a->device(); }
  [[nodiscard]] bool is_damped() const noexcept { return options.damping > 0.0; }
  /// Whether both products can be enqueued.
  [[nodiscard]] bool is_enqueueable() const {
    return EnqueuedProduct<T>::of(*a) != nullptr && EnqueuedProduct<T>::of(*transposed) != nullptr;
  }
};

/// Works on A x' = b' with b' = 2^-e b and ‖b'‖₂ in [1, 2), and x' = 2^-e x in the caller's x (as KrylovSolve does).
/// When the solve ends, exceptions included, x is back in the caller's units. Where ‖A D‖ is so large or small that
/// squares could leave the range, D is divided by a power of two near it, so that A D' is about 1.
template <class T>
class LeastSquaresSolve {
 public:
  /// \param problem, state outlive this
  LeastSquaresSolve(const LeastSquaresProblem<T>& problem, LeastSquaresState& state);
  LeastSquaresSolve(const LeastSquaresSolve&) = delete;
  LeastSquaresSolve& operator=(const LeastSquaresSolve&) = delete;
  ~LeastSquaresSolve();

  /// The method gives
  ///   start()        first direction from r() and s(), which were just computed
  ///   iterate(loop)  one iteration, by operations of the loop
  template <class Method, class Loop>
  [[nodiscard]] LeastSquaresReport run(Method& method, Loop& loop) {
    for (Next next = begin(); next != Next::stop; next = handle_halt()) {
      if (next == Next::restart) method.start();
      loop.run([&method](Loop& l) { method.iterate(l); },
               [this](const fused::LoopEntry& entry) { return note(entry); });
      report_.iterations = state_.iteration;
    }
    return take_report();
  }

  // For methods.

  [[nodiscard]] const LeastSquaresProblem<T>& problem() const noexcept { return problem_; }
  [[nodiscard]] std::span<T> x() const noexcept { return problem_.x; }
  /// Where the kept x goes.
  [[nodiscard]] std::span<T> kept() noexcept { return kept_x_.span(); }
  /// Receives A D v. Between iterations it holds r, where the method has not written to it.
  [[nodiscard]] DualBuffer<T>& image() noexcept { return image_; }
  [[nodiscard]] std::span<const T> r() const noexcept { return image_.current(); }
  /// Receives Aᵀ u. Where r was just computed, it holds -s.
  [[nodiscard]] Array<T>& transposed_image() noexcept { return transposed_image_; }
  /// Entries of D'; null for the identity.
  [[nodiscard]] const T* diagonal() const noexcept { return scaling_.empty() ? problem_.diagonal : scaling_.data(); }
  /// Memory for D' v, where D' is not the identity.
  void provide_scaled(Array<T>& scaled) const {
    if (diagonal() != nullptr && scaled.empty()) scaled = Array<T>(problem_.cols(), Init::none, device_);
  }
  /// ‖r̄‖₂ and ‖D' s‖₂ as just computed.
  [[nodiscard]] double r_norm() const noexcept { return r_bar_norm_; }
  [[nodiscard]] double scaled_s_norm() const noexcept { return scaled_s_norm_; }

 private:
  enum class Next { proceed, restart, stop };

  [[nodiscard]] Next begin();
  /// Scales b and x. False where x0 does not fit into the scaled units.
  [[nodiscard]] bool enter_scaled_units(double b_largest, double x_largest);
  /// x back in the caller's units. False when digits of it fell below the smallest normal number of T.
  bool restore_units();
  /// Chooses D' and the unit of squares of x from the first residuals.
  void choose_units();
  /// Squares of x' are those of 2^exponent x'.
  void measure_x_by(int exponent);
  /// r, s and their norms from x', one product with A and one with Aᵀ.
  void compute_residuals();
  [[nodiscard]] bool are_finite() const noexcept;
  [[nodiscard]] bool is_met() const noexcept { return state_.meets(scaled_s_norm_, r_bar_norm_); }

  [[nodiscard]] Next handle_halt();
  [[nodiscard]] Next check();
  [[nodiscard]] Next stop(Status status);
  /// Keeps x', whose residuals were just computed.
  void keep_best();
  /// Goes back to the kept x' if the present one, whose residuals were just computed, is clearly worse.
  void return_to_best();
  [[nodiscard]] Next refuse(const std::string& reason);
  [[nodiscard]] Next solve_zero_right_side();
  /// History, observer and time limit. \returns whether to go on
  bool note(const fused::LoopEntry& entry);
  [[nodiscard]] bool time_is_up() const noexcept { return seconds_ > problem_.options.time_limit_seconds; }
  [[nodiscard]] double user_units(double norm) const { return std::ldexp(norm, exponent_); }
  /// ‖D s‖₂ in the user's units.
  [[nodiscard]] double normal_units(double norm) const { return std::ldexp(norm, exponent_ + d_exponent_); }

  void fill_norms();
  [[nodiscard]] std::string cause(Status status) const;
  [[nodiscard]] std::string inequality() const;
  [[nodiscard]] LeastSquaresReport take_report();

  const LeastSquaresProblem<T>& problem_;
  Device device_;
  LeastSquaresState& state_;
  DualBuffer<T> image_;        // m
  Array<T> transposed_image_;  // n
  Array<T> damped_x_;          // n: λ² x of a check, 0 without damping
  Array<T> kept_x_;            // n: x' when ‖D s‖ was lowest, to a factor of 2

  LeastSquaresReport report_;
  HistoryStep history_step_;
  RestartRules restarts_;
  Stopwatch watch_;
  Array<T> scaling_;    // D'; empty where it is D
  int exponent_ = 0;    // b' = 2^-exponent b
  int d_exponent_ = 0;  // D' = 2^-exponent D
  int x_exponent_ = 0;  // squares of x' are those of 2^exponent x'
  bool is_scaled_ = false;
  double seconds_ = 0.0;  // of the latest iteration
  bool interrupted_ = false;
  bool is_checked_ = false;  // the norms are those of the present x'
  double r_norm_ = 0.0;      // ‖r‖
  double r_bar_norm_ = 0.0;
  double s_norm_ = 0.0;         // ‖s‖
  double scaled_s_norm_ = 0.0;  // ‖D' s‖
};

extern template struct LeastSquaresProblem<float>;
extern template struct LeastSquaresProblem<double>;
extern template class LeastSquaresSolve<float>;
extern template class LeastSquaresSolve<double>;

}  // namespace tessera::detail
