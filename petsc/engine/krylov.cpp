// Methods of PETSc in rounds, each from b - A x, under the stopping rules of Tessera.
#include "petsc/engine/krylov.hpp"

#include "core/stopwatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::petsc {

namespace {

constexpr int most_futile_rounds = 2;

/// Watches a solve: history, observer, and the rules that end it. PETSc asks after each iteration.
class Watch {
 public:
  Watch(MPI_Comm comm, const SolverOptions& options, std::int64_t n, SolveReport& report)
      : comm_(comm),
        options_(options),
        window_(options.stagnation_window > 0 ? options.stagnation_window : std::max<std::int64_t>(1000, n)),
        report_(report) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { end_round(); }

  /// \param safety how far below the target the estimate has to come
  void begin_round(double true_residual, double safety) {
    true_at_begin_ = true_residual;
    safety_ = safety;
    first_iteration_ = report_.iterations;
    scale_ = 0.0;
    cause_.reset();
  }
  /// Collective, as all processes leave a round after the same iteration.
  void end_round() {
    // The call that began is in another function, which the checker does not follow.
    if (is_asking_) MPI_Wait(&request_, MPI_STATUS_IGNORE);  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker)
    is_asking_ = false;
  }

  [[nodiscard]] std::optional<Status> cause() const { return cause_; }
  [[nodiscard]] const std::string& words() const { return words_; }
  [[nodiscard]] double seconds() const { return clock_.seconds(); }

  /// KSPConvergenceTest.
  static PetscErrorCode test(KSP /*solver*/, PetscInt iteration, PetscReal norm, KSPConvergedReason* reason,
                             void* context) {
    // end_round() waits, where the checker does not follow.
    *reason = static_cast<Watch*>(context)->judge(iteration, norm);  // NOLINT(clang-analyzer-optin.mpi.MPI-Checker)
    return 0;
  }

 private:
  [[nodiscard]] KSPConvergedReason judge(std::int64_t iteration, double norm) {
    if (!std::isfinite(norm)) return KSP_DIVERGED_NANORINF;
    if (scale_ == 0.0) scale_ = norm > 0.0 ? true_at_begin_ / norm : 1.0;
    report_.recurrence_residual = norm * scale_;
    tell(first_iteration_ + iteration);
    const double residual = report_.recurrence_residual;
    if (residual <= safety_ * report_.target) return KSP_CONVERGED_RTOL;
    if (residual > options_.divergence_tolerance * std::max(report_.b_norm, report_.r0_norm)) {
      return stop(Status::diverged, fmt::format("||r||_2 = {:.6g} > dtol*max(||b||_2, ||r0||_2); ", residual));
    }
    constexpr double progress = 0.99;
    if (residual <= progress * best_) {
      best_ = residual;
      best_iteration_ = report_.iterations;
    } else if (report_.iterations - best_iteration_ >= window_) {
      return stop(Status::stagnated,
                  fmt::format("||r||_2 has not fallen by 1 % below {:.6g} within {} iterations; ", best_, window_));
    }
    return all_go_on() ? KSP_CONVERGED_ITERATING : KSP_CONVERGED_ITS;
  }

  [[nodiscard]] KSPConvergedReason stop(Status status, std::string words) {
    cause_ = status;
    words_ = std::move(words);
    return KSP_CONVERGED_ITS;
  }

  /// History and observer. GMRES asks again for the last iteration of a cycle.
  void tell(std::int64_t iteration) {
    if (iteration <= last_told_) return;
    last_told_ = iteration;
    report_.iterations = iteration;
    if (options_.keep_history) {
      report_.history.push_back(
          {iteration, seconds(), report_.recurrence_residual, std::numeric_limits<double>::quiet_NaN()});
    }
    if (!options_.observer) return;
    const IterationInfo info{iteration, options_.max_iterations, report_.recurrence_residual, report_.target,
                             seconds()};
    if (options_.observer(info) == Control::stop) wish_ = 2;
  }

  /// Whether no process wants to stop, by a signal or by its clock. The wishes travel with a reduction that is awaited
  /// one iteration later, behind those of the method, so that it costs no wait of its own.
  [[nodiscard]] bool all_go_on() {
    end_round();
    const int wish = agreed_;
    if (wish == 2) {
      static_cast<void>(stop(
          Status::interrupted,
          fmt::format("{} after iteration {}; ",
                      options_.stop_cause ? options_.stop_cause() : "stopped by the observer", report_.iterations)));
      return false;
    }
    if (wish == 1) {
      static_cast<void>(stop(Status::time_limit,
                             fmt::format("{:.3g} s > time limit {} s; ", seconds(), options_.time_limit_seconds)));
      return false;
    }
    if (wish_ == 0 && seconds() > options_.time_limit_seconds) wish_ = 1;
    check_mpi(MPI_Iallreduce(&wish_, &agreed_, 1, MPI_INT, MPI_MAX, comm_, &request_));
    is_asking_ = true;
    return true;
  }

  MPI_Comm comm_;
  const SolverOptions& options_;
  std::int64_t window_;
  SolveReport& report_;
  Stopwatch clock_;
  double true_at_begin_ = 0.0;
  double safety_ = 1.0;
  double scale_ = 0.0;  ///< ||b - A x|| over the norm of the method, when the round began; 0: not known yet
  std::int64_t first_iteration_ = 0;
  std::int64_t last_told_ = -1;
  double best_ = std::numeric_limits<double>::infinity();
  std::int64_t best_iteration_ = 0;
  std::optional<Status> cause_;
  std::string words_;
  int wish_ = 0;    ///< 0: to go on, 1: the time is over, 2: the observer wants to stop
  int agreed_ = 0;  ///< the largest of all
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool is_asking_ = false;
};

/// Why PETSc ended a round, where it was no rule of Tessera.
struct Ending {
  Status status = Status::breakdown;
  Breakdown breakdown = Breakdown::none;
};

[[nodiscard]] Ending ending_of(KSPConvergedReason reason, bool is_bicgstab) {
  switch (reason) {
    case KSP_DIVERGED_ITS:
      return {Status::max_iterations, Breakdown::none};
    case KSP_DIVERGED_NANORINF:
      return {Status::not_finite, Breakdown::not_finite};
    case KSP_DIVERGED_INDEFINITE_MAT:
      return {Status::breakdown, Breakdown::indefinite};
    case KSP_DIVERGED_INDEFINITE_PC:
    case KSP_DIVERGED_PC_FAILED:
      return {Status::breakdown, Breakdown::preconditioner};
    case KSP_DIVERGED_NONSYMMETRIC:
      return {Status::breakdown, Breakdown::asymmetric};
    case KSP_DIVERGED_DTOL:
      return {Status::diverged, Breakdown::none};
    default:
      return {Status::breakdown, is_bicgstab ? Breakdown::rho : Breakdown::dependent};
  }
}

/// One solve: b, x, the residual, and the best x of all rounds.
class RoundedSolve {
 public:
  RoundedSolve(KSP solver, Mat matrix, Vec b, Vec x, const SolverOptions& options)
      : solver_(solver), matrix_(matrix), b_(b), x_(x), options_(options) {
    check(PetscObjectGetComm(reinterpret_cast<PetscObject>(matrix), &comm_));
    check(VecDuplicate(b, residual_.out()));
    check(VecDuplicate(x, best_.out()));
    PetscInt rows = 0;
    check(MatGetSize(matrix, &rows, nullptr));
    rows_ = rows;
  }

  [[nodiscard]] SolveReport run() {
    const Stopwatch timer;
    begin();
    Watch watch(comm_, options_, rows_, report_);
    check(KSPSetConvergenceTest(solver_, Watch::test, &watch, nullptr));
    while (!ended_) round(watch);
    watch.end_round();
    finish();
    report_.timings.solve_ms = timer.milliseconds();
    return std::move(report_);
  }

 private:
  void begin() {
    check(VecNorm(b_, NORM_2, &report_.b_norm));
    report_.r0_norm = true_residual();
    const double base = options_.base == ResidualBase::b ? report_.b_norm : report_.r0_norm;
    report_.target = std::max(options_.relative_tolerance * base, options_.absolute_tolerance);
    if (report_.b_norm == 0.0 && !(report_.r0_norm <= report_.target)) {
      check(VecSet(x_, 0.0));
      report_.r0_norm = 0.0;
    }
    kept_residual_ = report_.r0_norm;
    check(VecCopy(x_, best_.get()));
    report_.recurrence_residual = report_.r0_norm;
    if (!std::isfinite(report_.b_norm) || !std::isfinite(report_.r0_norm)) {
      end(Status::not_finite, "b or b - A x0 is not finite; ");
    } else if (report_.r0_norm <= report_.target) {
      end(Status::converged, "");
    } else if (options_.max_iterations == 0) {
      end(Status::max_iterations, "iteration limit 0 reached; ");
    }
  }

  void round(Watch& watch) {
    const double before = kept_residual_;
    const auto remaining = std::min<std::int64_t>(options_.max_iterations - report_.iterations, PETSC_MAX_INT);
    watch.begin_round(before, rounds_ == 0 ? 1.0 : 0.5);
    check(KSPSetTolerances(solver_, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, static_cast<PetscInt>(remaining)));
    check(KSPSolve(solver_, b_, x_));
    watch.end_round();
    ++rounds_;
    KSPConvergedReason reason = KSP_CONVERGED_ITERATING;
    check(KSPGetConvergedReason(solver_, &reason));
    const double after = true_residual();
    if (options_.keep_history && !report_.history.empty()) report_.history.back().true_residual = after;
    keep_or_return(after);
    if (kept_residual_ <= report_.target) return end(Status::converged, "");
    if (watch.cause()) return end(*watch.cause(), watch.words());
    if (reason < 0) return end_or_restart(reason, after <= 0.5 * before);
    if (report_.iterations >= options_.max_iterations) return end_at_limit();
    ++report_.replacements;
    futile_rounds_ = after <= 0.9 * before ? 0 : futile_rounds_ + 1;
    if (futile_rounds_ > most_futile_rounds) {
      end(Status::stagnated, "attainable accuracy reached: rounds from the true residual no longer lower it; ");
    }
  }

  void end_or_restart(KSPConvergedReason reason, bool has_halved) {
    KSPType type = nullptr;
    check(KSPGetType(solver_, &type));
    const Ending ending = ending_of(reason, std::string_view(type) == KSPBCGS);
    const std::string_view name = KSPConvergedReasons[reason];
    if (ending.status == Status::max_iterations) return end_at_limit();
    if (ending.breakdown == Breakdown::none) return end(ending.status, fmt::format("{}; ", name));
    if (has_halved) restarts_left_ = options_.breakdown_restarts;
    const bool is_curable = ending.breakdown == Breakdown::rho || ending.breakdown == Breakdown::not_finite;
    const bool may_restart = is_curable && restarts_left_ > 0 && report_.iterations < options_.max_iterations;
    report_.breakdowns.push_back({report_.iterations, ending.breakdown, 0.0, may_restart});
    if (may_restart) {
      --restarts_left_;
      ++report_.restarts;
      return;
    }
    report_.breakdown = ending.breakdown;
    end(ending.status, fmt::format("breakdown ({}) after iteration {}, {} restarts: PETSc says {}; ",
                                   to_string(ending.breakdown), report_.iterations, report_.restarts, name));
  }

  void end_at_limit() {
    end(Status::max_iterations, fmt::format("iteration limit {} reached; ", options_.max_iterations));
  }

  void end(Status status, std::string cause) {
    report_.status = status;
    report_.reason = std::move(cause);
    ended_ = true;
  }

  /// b - A x and its norm.
  [[nodiscard]] double true_residual() {
    double norm = 0.0;
    check(MatMult(matrix_, x_, residual_.get()));
    check(VecAYPX(residual_.get(), -1.0, b_));
    check(VecNorm(residual_.get(), NORM_2, &norm));
    return norm;
  }

  /// Keeps x, or returns to an earlier one that is clearly better.
  void keep_or_return(double residual) {
    if (!(residual <= 2.0 * kept_residual_)) return check(VecCopy(best_.get(), x_));
    kept_residual_ = residual;
    check(VecCopy(x_, best_.get()));
  }

  void finish() {
    report_.true_residual = kept_residual_;
    report_.reason += fmt::format("||b - A x||_2 = {:.6g} {} max(rtol*||{}||_2, atol) = {:.6g}", report_.true_residual,
                                  report_.true_residual <= report_.target ? "<=" : ">",
                                  options_.base == ResidualBase::b ? "b" : "r0", report_.target);
  }

  KSP solver_;
  Mat matrix_;
  Vec b_;
  Vec x_;
  const SolverOptions& options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::int64_t rows_ = 0;
  OwnedVec residual_;
  OwnedVec best_;
  SolveReport report_;
  double kept_residual_ = std::numeric_limits<double>::infinity();  ///< of x
  int rounds_ = 0;
  int futile_rounds_ = 0;
  int restarts_left_ = options_.breakdown_restarts;
  bool ended_ = false;
};

}  // namespace

SolveReport solve_in_rounds(KSP solver, Mat matrix, Vec b, Vec x, const SolverOptions& options) {
  return RoundedSolve(solver, matrix, b, x, options).run();
}

}  // namespace tessera::petsc
