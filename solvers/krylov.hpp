/// \file
/// Shared by all Krylov methods: one solve in scaled units, from its first residual to its report.
#pragma once

#include "core/history.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/loop.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov_problem.hpp"
#include "solvers/stopping.hpp"
#include "tessera/array.hpp"

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>

namespace tessera::detail {

/// What the method does next.
enum class Next {
  proceed,   ///< iterate
  replaced,  ///< iterate, but first form inner products with r anew: r is now the computed residual
  restart,   ///< start from r = b - A x
  stop,      ///< the report is complete
};

/// Solves, one after the other. Each works on A x' = b' with b' = 2^-e b and ‖b'‖₂ in [1, 2), and x' = 2^-e x in the
/// caller's x. A power of two changes no digit, so scaling the problem changes no outcome, and no square overflows.
/// When the solve ends, exceptions included, x is back in the caller's units.
///
/// Where the problem has a refinement, x() is a correction of its solution, in scaled units from the start, and
/// residuals are those of solution and correction. A correction has a target of its own; after it the iteration starts
/// or resumes.
///
/// On a device that is a rank of a group (core/group_rank.hpp) every rank runs a KrylovSolve on its own rows. Sums are
/// those over all ranks, and rank 0 decides on what depends on time or the observer, so all take the same way.
///
/// Invariant for the methods: x() is finite at all times. Their operations ask StopState::update_is_safe() before they
/// change it.
template <class T>
class KrylovSolve {
 public:
  /// \param problem its b, x and options may change between solves \param state of the method's loop. Both outlive this
  KrylovSolve(const KrylovProblem<T>& problem, StopState& state);
  /// In memory of the caller, which solves of several right-hand sides share. \param residual, kept n elements each:
  /// r() and kept()
  KrylovSolve(const KrylovProblem<T>& problem, StopState& state, std::span<T> residual, std::span<T> kept);
  ~KrylovSolve() = default;
  KrylovSolve(const KrylovSolve&) = delete;
  KrylovSolve& operator=(const KrylovSolve&) = delete;
  KrylovSolve(KrylovSolve&&) = delete;
  KrylovSolve& operator=(KrylovSolve&&) = delete;

  /// One solve, from a loop that was just made or reset. The method gives
  ///   start()               first direction from r = b - A x
  ///   resume()              the same after r was computed anew; keeps the direction where it can
  ///   iterate(loop)         one iteration, by operations of the loop
  ///   complete_iteration()  what is left to do where the loop halted in the middle of an iteration
  template <class Method, class Loop>
  [[nodiscard]] SolveReport run(Method& method, Loop& loop) {
    const UnitsGuard back_in_user_units(*this);
    for (Next next = open(); next != Next::stop; next = handle_halt()) {
      enter_loop(method, next);
      const CorrectionTarget until_the_halt(*this);
      loop.run([&method](Loop& l) { method.iterate(l); },
               [this](const fused::LoopEntry& entry) { return note(entry); });
      complete(method);
    }
    return take_report();
  }

  // The steps of run(), for right-hand sides that share a loop (solvers/panel/panel_solve.hpp).

  /// Scales, forms r = b - A x and shows iteration 0 to the observer. What a solve of the past has left is gone.
  [[nodiscard]] Next open();
  /// Before the loop, which the method may have halted by then.
  template <class Method>
  void enter_loop(Method& method, Next next) {
    if (next != Next::proceed) progress_->first_residual = norm();
    if (next == Next::restart) method.start();
    if (next == Next::replaced) method.resume();
    progress_->residual_is_true = false;
  }
  /// History, observer and time limit. \returns whether to go on
  bool note(const fused::LoopEntry& entry);
  /// After the loop: ends its iteration, and deals with what it halted for.
  template <class Method>
  [[nodiscard]] Next leave_loop(Method& method) {
    complete(method);
    return handle_halt();
  }
  [[nodiscard]] SolveReport take_report();
  /// As if the observer had asked to stop.
  void interrupt() noexcept { progress_->interrupted = true; }
  /// The report as it stands. Between open() and take_report().
  [[nodiscard]] const SolveReport& report() const noexcept { return progress_->report; }
  [[nodiscard]] double user_units(double norm) const { return progress_->stopping.user_units(norm); }
  /// x back in the caller's units. False when digits of it fell below the smallest normal number of T.
  bool restore_units();

  // For methods.

  [[nodiscard]] const KrylovProblem<T>& problem() const noexcept { return problem_; }
  [[nodiscard]] const fused::FusedPreconditioner<T>& m() const noexcept { return problem_.preconditioner; }
  [[nodiscard]] const Device& device() const noexcept { return device_; }
  [[nodiscard]] std::span<T> x() const noexcept { return problem_.x; }
  [[nodiscard]] std::span<T> r() noexcept { return residual_; }
  /// Where the kept x goes.
  [[nodiscard]] std::span<T> kept() noexcept { return best_x_; }

  /// Ends an iteration on the host, in complete_iteration(). \param residual ‖r‖₂ of x()
  void finish_iteration(double residual);
  /// Keeps x() if that is due; before complete_iteration() changes x().
  void keep_if_due();
  /// Keeps x() as the best one so far. Its residual was just computed.
  void keep_best();
  /// z = M v with <w, z> and ‖z‖².
  ProductDots precondition(std::span<const T> v, std::span<T> z, std::span<const T> w);
  /// A fused preconditioner was applied outside of the loop.
  void count_fused_preconditioner() noexcept { progress_->report.preconditioner_count += m().counts() ? 1 : 0; }

 private:
  enum class Units { user, scaled };

  /// Restores the caller's units of x when a solve ends, by exceptions too.
  class UnitsGuard {
   public:
    explicit UnitsGuard(KrylovSolve& solve) noexcept : solve_(solve), exceptions_(std::uncaught_exceptions()) {}
    UnitsGuard(const UnitsGuard&) = delete;
    UnitsGuard& operator=(const UnitsGuard&) = delete;
    ~UnitsGuard();

   private:
    KrylovSolve& solve_;
    int exceptions_;
  };

  /// While the loop runs, the target of a correction where x() is one.
  class CorrectionTarget {
   public:
    explicit CorrectionTarget(KrylovSolve& solve) noexcept;
    CorrectionTarget(const CorrectionTarget&) = delete;
    CorrectionTarget& operator=(const CorrectionTarget&) = delete;
    ~CorrectionTarget() {
      if (solve_.problem_.refinement != nullptr) solve_.state_.target = target_;
    }

   private:
    KrylovSolve& solve_;
    double target_;  ///< of the solve
  };

  void prepare();
  /// Ranks go on with the time of rank 0, and with what its observer has said.
  void share_progress();
  /// Of the system, those of other ranks included.
  [[nodiscard]] std::int64_t rows() const noexcept;
  /// What a loop that halted in the middle of an iteration has left to do.
  template <class Method>
  void complete(Method& method) {
    share_progress();
    progress_->report.iterations = state_.iteration;
    method.complete_iteration();
    keep_if_due();
  }
  [[nodiscard]] Next begin();
  /// The same where x() is a correction; b and the solution are finite, b is not 0.
  [[nodiscard]] Next begin_correction();
  /// Iteration 0, whose residual is known.
  [[nodiscard]] Next begin_iterations();
  /// Deals with what the loop halted for.
  [[nodiscard]] Next handle_halt();
  [[nodiscard]] Next next_after_halt();
  [[nodiscard]] Next refuse(const std::string& reason);
  [[nodiscard]] Next solve_zero_right_side(double x_largest);
  /// Ends with the residual of x0, or starts from 0 where that is better.
  [[nodiscard]] Next judge_in_user_units(double b_largest);
  [[nodiscard]] bool enter_scaled_units(double b_largest, double x_largest);
  /// x as the caller gave it, bit by bit; possible until the first keep_best().
  void restore_guess();

  /// r = b' - A x', one product. \returns its norm
  double compute_residual();
  /// The same, noted in the latest entry of the history.
  double check_iterate();
  /// The same in the caller's units: norm of r = b - A x.
  [[nodiscard]] fused::ScaledNorm residual_in_user_units();
  [[nodiscard]] Next break_down();
  [[nodiscard]] Next check();
  /// After a correction that did not reach the target of the solve. \param claimed ‖r‖₂ of its recurrence
  [[nodiscard]] Next correct_further(double claimed, bool went_back);
  [[nodiscard]] Next replace_periodically();
  [[nodiscard]] Next end_cycle();
  [[nodiscard]] Next stop(Status status);
  /// Goes back to the best x if the present one, whose residual was just computed, is worse.
  /// \returns whether it did
  bool return_to_best();
  /// The same before the method goes on. One that minimizes ‖M r‖₂ goes on from the present x: ‖r‖₂ may have grown.
  bool return_if_worse();
  [[nodiscard]] bool time_is_up() const noexcept { return progress_->seconds > problem_.options.time_limit_seconds; }
  [[nodiscard]] double norm() const noexcept { return state_.norm; }
  void record_true_residual();

  /// Of one solve.
  struct Progress {
    StoppingCriteria stopping;
    HistoryStep history_step;
    SolveReport report = {};
    Stopwatch watch = {};
    int exponent = 0;               // b' = 2^-exponent b
    Units units = Units::user;      // of x()
    double seconds = 0.0;           // of the latest iteration
    bool interrupted = false;       // the observer asked to stop
    bool residual_is_true = false;  // r is b - A x of the present x
    double first_residual = 0.0;    // true ‖r‖₂ when the iteration latest started or resumed
    int short_corrections = 0;      // one after the other
    std::string note = {};          // what the reason adds
    bool guess_kept = false;        // best_x_ holds the caller's x, in the caller's units
    bool guess_is_exact = true;     // in scaled units
  };

  const KrylovProblem<T>& problem_;
  Device device_;
  StopState& state_;
  Array<T> own_[2];  // empty where the caller has given the memory
  std::span<T> residual_;
  std::span<T> best_x_;  // x' when ‖r‖ was lowest, to a factor of 2: each halving costs one copy
  std::optional<Progress> progress_;
};

extern template class KrylovSolve<float>;
extern template class KrylovSolve<double>;

}  // namespace tessera::detail
