/// The ladder: rungs are tried in the order of their plan, until one gives a solution that can be trusted.
///
/// The order, the limits and the reasons to leave a rung follow from an experiment over 32 real matrices; the numbers
/// are in bench/NOTES.md.
#include "tessera/ladder.hpp"

#include "core/interruption.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov_problem.hpp"
#include "solvers/ladder/costs.hpp"
#include "solvers/ladder/error_claim.hpp"
#include "solvers/ladder/outcome.hpp"
#include "solvers/ladder/progress.hpp"
#include "solvers/ladder/rung.hpp"
#include "solvers/ladder/rung_watch.hpp"
#include "solvers/ladder/systems.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tessera {

namespace {

using detail::Side;

/// Factors of smaller systems are applied on the host: a GPU would wait for level after level.
constexpr index_t least_rows_for_device_factors = 50'000;
/// Share of pivots that vanish, above which useless factors say that the matrix is nearly singular.
constexpr double many_zero_pivots = 1e-3;
/// Set-up of factors that takes longer than this and so much per entry of A is given up.
constexpr double setup_seconds = 5.0;
constexpr double setup_seconds_per_entry = 2e-5;
/// Refinement steps of direct factors.
constexpr std::int64_t refinement_steps = 10;
/// Iterations with Jacobi after which multigrid is weighed, and with factors or multigrid after which anything is.
constexpr std::int64_t amg_trial = 40;
constexpr std::int64_t factors_trial = 30;
/// Rungs that meet the tolerance with an error that nothing tells, after which more of them will not tell it either.
constexpr int most_unknown_errors = 2;
/// Iterations in which a rung that goes on before the ladder ends has to halve the residual.
constexpr std::int64_t last_limit = 200;
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
class Climb {
 public:
  Climb(const SpmvPlan<T>& A, const MatrixStatistics& statistics, std::span<const T> b, std::span<T> x,
        const LadderOptions& options)
      : a_(A), statistics_(statistics), x_(x), options_(options), systems_(A, b), b_(b) {
    result_.facts = ladder_facts<T>(statistics);
  }

  [[nodiscard]] LadderReport run() {
    guess_ = Array<T>(a_.rows(), Init::none, a_.device());
    fused::copy<T>(a_.device(), x_, guess_.span());
    while (!done_) {
      const auto plan = next_rung();
      const double price = plan ? price_of(*plan) : infinity;
      const auto left = best_suspended(price);
      if ((!plan && !left) || progress_.seconds_left() <= 0.0) break;
      if (left) {
        resume(*left, price == infinity);
      } else if (needs_analysis(*plan)) {
        analyse();
      } else {
        try_rung(*plan, {});
      }
    }
    if (!has_begun_) begin();
    return conclude();
  }

 private:
  /// One residual: is the guess the answer, is everything finite? A first rung that sets up next to nothing tells that
  /// by itself.
  void begin() {
    SolverOptions solver = options_.solver;
    solver.max_iterations = 0;
    solver.observer = [this](const IterationInfo& info) {
      return progress_.tell(info) ? Control::proceed : Control::stop;
    };
    static_cast<void>(learn(bicgstab<T>(a_, b_, x_, solver)));
    if (options_.solver.max_iterations == 0) done_ = true;
  }

  /// From the first report. \returns whether nothing has to be tried
  bool learn(const SolveReport& report) {
    has_begun_ = true;
    target_ = report.target;
    result_.report = report;
    const bool is_refused = report.status == Status::not_finite && !std::isfinite(report.true_residual);
    const bool is_all = is_refused || (report.iterations == 0 && (report.converged() || progress_.stopped_by_user()));
    done_ = done_ || is_all;
    return is_all;
  }

  /// \param must_fit into memory, as far as that can be told before set-up
  [[nodiscard]] std::optional<RungPlan> next_rung(bool must_fit = false) const {
    for (const RungPlan& plan : plan_ladder(result_.facts, options_.method)) {
      const bool tried = std::any_of(tried_.begin(), tried_.end(),
                                     [&](const std::string& each) { return each == plan.command_options(); });
      const bool is_out = (indefinite_ && plan.method == RungMethod::cg) ||
                          (hopeless_ && plan.precond == RungPrecond::incomplete_factors);
      if (!tried && !is_out && !lacks_factors(plan) && (!must_fit || fits(plan.precond))) return plan;
    }
    return std::nullopt;
  }

  /// IDR takes over the factors that the rung before it left.
  [[nodiscard]] bool reuses_factors(const RungPlan& plan) const {
    return plan.method == RungMethod::idr && options_.method != RungMethod::idr;
  }
  [[nodiscard]] bool lacks_factors(const RungPlan& plan) const {
    return reuses_factors(plan) && (result_.rungs.empty() || !has_factors(result_.rungs.back(), plan));
  }
  /// Whether factors_ are those of a plan. \param latest rung that was set up
  [[nodiscard]] bool has_factors(const RungReport& latest, const RungPlan& plan) const {
    return factors_ != nullptr && latest.plan.precond_name() == plan.precond_name() &&
           latest.plan.factors.matching == plan.factors.matching;
  }

  [[nodiscard]] bool needs_analysis(const RungPlan& plan) const {
    // Direct factors of small systems are often cheaper than any trial.
    const bool is_ilu0 = plan.precond == RungPrecond::incomplete_factors && plan.factors.kind == FactorKind::ilu0 &&
                         result_.facts.rows >= detail::least_rows_for_amg;
    return !result_.facts.structural_rank && plan.precond != RungPrecond::jacobi && plan.precond != RungPrecond::amg &&
           !is_ilu0;
  }

  /// Structural rank, copies of rows, prediction of direct factors. Ends the ladder where it may not end.
  void analyse() {
    const Stopwatch watch;
    try {
      const detail::InterruptionScope scope(progress_.seconds_left());
      const CsrView<T> matrix = systems_.host_matrix();
      result_.facts = ladder_facts<T>(statistics_, &matrix, can_predict());
    } catch (const BudgetExceeded&) {
      done_ = true;
    }
    hear_caller();
    result_.analysis_ms += watch.milliseconds();
  }

  /// Whether a scope around the ladder ended what cannot ask the observer.
  void hear_caller() {
    if (detail::is_wanted()) return;
    if (progress_.seconds_left() > 0.0) progress_.stop_by_user();
    done_ = true;
  }

  /// Order and counts of factors take memory themselves, as much as this.
  [[nodiscard]] bool can_predict() const {
    constexpr std::uint64_t per_row = 220;
    constexpr std::uint64_t per_entry = 40;
    const std::uint64_t needed = per_row * static_cast<std::uint64_t>(statistics_.rows) +
                                 per_entry * static_cast<std::uint64_t>(statistics_.nnz);
    return options_.memory_limit_bytes == 0 || needed <= options_.memory_limit_bytes;
  }

  /// Whether there is memory for such a preconditioner.
  [[nodiscard]] bool fits(RungPrecond precond) const {
    return precond == RungPrecond::none || precond == RungPrecond::jacobi ||
           detail::fits_memory(precond, result_.facts, options_.method, sizeof(T), options_.memory_limit_bytes);
  }

  [[nodiscard]] double price_of(const RungPlan& plan, double projected = infinity) const {
    return detail::price_ms(plan, result_.facts, projected, a_.device());
  }

  /// The rung after the one that iterates.
  [[nodiscard]] detail::Alternative alternative(double projected) {
    auto plan = next_rung(true);
    if (plan && needs_analysis(*plan) && (fits_some() || can_predict())) {
      analyse();
      plan = next_rung(true);
    }
    if (done_) return {.ms = 0.0, .words = "the analysis was given up"};
    double price = plan ? price_of(*plan, projected) : infinity;
    // CG keeps its promises as direct factors do.
    const bool is_cg = result_.rungs.back().plan.method == RungMethod::cg;
    if (is_cg && plan && plan->precond == RungPrecond::direct) price = detail::direct_ms(*result_.facts.direct);
    if (price < infinity && plan->precond == RungPrecond::amg) {
      return {.ms = price,
              .words = fmt::format("amg pays above {:.0f}", detail::amg_break_even(result_.facts.rows, a_.device()))};
    }
    return {.ms = price, .words = "the next rung promises to cost less"};
  }
  [[nodiscard]] bool fits_some() const {
    return fits(RungPrecond::amg) || fits(RungPrecond::incomplete_factors) || fits(RungPrecond::direct);
  }

  /// A rung that was left while it converged.
  struct SuspendedRung {
    RungPlan plan;
    std::size_t number = 0;      ///< from 1; the latest rung was left for another, not for itself
    double price_ms = infinity;  ///< of what remains
    std::int64_t limit = 0;      ///< iterations after which the promise is broken
    int resumed = 0;
  };

  /// Promises are too good, the more so the fewer iterations they rest on.
  [[nodiscard]] SuspendedRung suspended_rung(const RungReport& rung, std::size_t number,
                                             const detail::RungWatch& watch) const {
    constexpr double patience = 3.0;
    constexpr double most = 1e9;
    constexpr double setup_share = 0.5;  // of the price of a rung, which is set up again
    const double ms = watch.remaining_ms() + (goes_on_from_best() ? 0.0 : watch.spent_ms());
    const double remaining = ms / watch.iteration_ms();
    const double distance = remaining / static_cast<double>(std::max<std::int64_t>(rung.iterations, 1));
    const bool is_plain = rung.plan.precond == RungPrecond::jacobi;
    const double setup = is_plain ? 0.0 : setup_share * price_of(rung.plan);
    return {rung.plan, number, setup + ms * (1.0 + distance),
            std::max(last_limit, static_cast<std::int64_t>(std::min(patience * remaining, most)))};
  }

  /// The one that promises to end first, if for less than that. \param price infinity: there is nothing else
  [[nodiscard]] std::optional<SuspendedRung> best_suspended(double price) const {
    const SuspendedRung* best = nullptr;
    for (const SuspendedRung& rung : suspended_) {
      const bool is_last = price == infinity;
      const bool may_go_on = rung.price_ms < infinity && rung.resumed < (is_last ? 2 : 1) &&
                             (is_last || rung.number < result_.rungs.size()) &&
                             !(indefinite_ && rung.plan.method == RungMethod::cg);
      if (may_go_on && (best == nullptr || rung.price_ms < best->price_ms)) best = &rung;
    }
    return best != nullptr && best->price_ms <= price ? std::optional(*best) : std::nullopt;
  }

  /// Goes on from the best x so far. \param is_last nothing else is left
  void resume(SuspendedRung left, bool is_last) {
    std::erase_if(suspended_, [&](const SuspendedRung& rung) {
      return rung.plan.command_options() == left.plan.command_options();
    });
    left.resumed += is_last ? 2 : 1;
    left.plan.reason = "goes on, since that promises to cost less than what is left";
    left.plan.max_iterations = is_last ? last_limit : left.limit;
    try_rung(left.plan, {.times = left.resumed, .is_last = is_last});
  }

  [[nodiscard]] Side side_of(const RungPlan& plan) const {
    const bool host =
        a_.device().is_host() || plan.precond == RungPrecond::direct ||
        (plan.precond == RungPrecond::incomplete_factors && result_.facts.rows < least_rows_for_device_factors);
    const bool needs_positive = plan.method == RungMethod::cg || plan.precond == RungPrecond::amg;
    return {host, result_.facts.negated && result_.facts.symmetric && needs_positive};
  }

  /// How a rung that was left goes on.
  struct Resumption {
    int times = 0;  ///< 0: it is tried for the first time
    bool is_last = false;
  };

  void try_rung(RungPlan plan, const Resumption& resumption) {
    const bool is_plain = plan.precond == RungPrecond::jacobi || plan.precond == RungPrecond::none;
    if (!has_begun_ && !is_plain) {
      begin();
      if (done_) return;
    }
    tried_.push_back(plan.command_options());
    // The other use of the matching than the rungs before.
    const bool may_flip = plan.factors.matching == FactorMatching::scale && resumption.times == 0;
    if (may_flip && !permuted_) plan.factors.matching = FactorMatching::permute;
    RungReport& rung = result_.rungs.emplace_back();
    rung.plan = std::move(plan);
    const Side side = side_of(rung.plan);
    rung.on_host = side.on_host;
    try {
      const auto inverse = set_up(rung, side);
      if (inverse != nullptr) solve_rung(rung, side, *inverse, resumption);
    } catch (const OutOfMemory& error) {
      rung.outcome = error.what();
    } catch (const std::bad_alloc&) {
      rung.outcome = "the system has no more memory";
    }
    if (progress_.seconds_left() <= 0.0 || progress_.iterations_left() <= 0) done_ = true;
    hear_caller();
  }

  /// The factors of the rung before, where only the method differs.
  [[nodiscard]] std::shared_ptr<FusedOperator<T>> set_up(RungReport& rung, const Side& side) {
    const std::size_t count = result_.rungs.size();
    if (reuses_factors(rung.plan) && count > 1 && has_factors(result_.rungs[count - 2], rung.plan)) {
      const RungReport& before = result_.rungs[count - 2];
      rung.set_up = true;
      rung.info = before.info;
      rung.factors = before.factors;
      return factors_;
    }
    const double patience = setup_seconds + setup_seconds_per_entry * static_cast<double>(result_.facts.nnz);
    const detail::InterruptionScope scope(progress_.seconds_left());
    const detail::SetUp budget{.memory_limit_bytes = options_.memory_limit_bytes,
                               .seconds = std::min(progress_.seconds_left(), patience),
                               .prediction = result_.facts.direct};
    factors_ = detail::set_up_rung<T>(rung.plan, systems_, side, budget, rung);
    if (rung.factors) permuted_ = rung.factors->permuted;
    if (rung.factors && factors_ == nullptr && rung.plan.factors.kind != FactorKind::ilu0) {
      const bool is_indefinite = result_.facts.symmetric && (indefinite_ || !result_.facts.definite_diagonal);
      hopeless_ = (is_indefinite && fits(RungPrecond::direct)) ||
                  rung.factors->zero_pivots > many_zero_pivots * static_cast<double>(result_.facts.rows);
    }
    if (rung.found_singular && rung.plan.precond == RungPrecond::direct) result_.facts.singular_to_rounding = true;
    return factors_;
  }

  void solve_rung(RungReport& rung, const Side& side, const FusedOperator<T>& inverse, const Resumption& resumption) {
    const Stopwatch watch;
    const SpmvPlan<T>& A = systems_.plan(side);
    const std::span<const T> b = systems_.b(side);
    Array<T> x = begin_of(side, resumption);
    detail::RungWatch rung_watch(rules_of(rung, side, resumption));
    SolveReport report = detail::run_rung<T>(rung.plan.method, A, inverse, b, x.span(), options_of(rung, rung_watch));
    if (!has_begun_ && learn(report)) return end_at_once(std::move(report), side, x.span());
    rung.status = report.status;
    rung.iterations = report.iterations;
    progress_.add_iterations(report.iterations);
    rung.relative_residual = relative(report.true_residual);
    detail::LadderQuality quality{.converged = report.converged(), .residual = rung.relative_residual};
    if (report.converged()) {
      quality.error = judge(rung, {A, inverse, b, x.span()}, report, resumption.times == 0 || !goes_on_from_best());
      quality.residual = rung.relative_residual = relative(report.true_residual);
      if (quality.error == infinity && ++unknown_errors_ == most_unknown_errors) done_ = true;
    } else if (report.status == Status::stagnated || rung.plan.precond == RungPrecond::direct) {
      quality.stable = done_ = find_backward_stability(side, x.span(), report);
    }
    rung.solve_ms = watch.milliseconds();
    rung.outcome = detail::outcome_of(rung, report, {rung_watch.reason(), result_.is_backward_stable});
    if (progress_.stopped_by_user()) done_ = true;
    const bool was_left = !rung_watch.reason().empty() && rung.plan.precond != RungPrecond::none;
    if (was_left) {
      suspended_.push_back(suspended_rung(rung, result_.rungs.size(), rung_watch));
      suspended_.back().resumed = resumption.times;
    }
    indefinite_ = indefinite_ || report.breakdown == Breakdown::indefinite;
    accept(rung, side, quality, std::move(report), x.span());
  }

  /// The guess was the answer, or something is not finite: no rung was needed.
  void end_at_once(SolveReport&& report, const Side& side, std::span<const T> x) {
    tessera::detail::copy_bytes(a_.device(), x_.data(), systems_.device(side), x.data(), x.size_bytes());
    result_.report = std::move(report);
    result_.rungs.clear();
  }

  /// A rung that goes on takes the best x so far; on a GPU it begins again, since the iteration after which it was left
  /// depends on when the host looked, and runs have to repeat.
  [[nodiscard]] bool goes_on_from_best() const { return a_.device().is_host(); }

  /// Every rung begins where the caller did: what it says of the error of x rests on its own iterations.
  [[nodiscard]] Array<T> begin_of(const Side& side, const Resumption& resumption) const {
    const Device device = systems_.device(side);
    Array<T> x(a_.rows(), Init::none, device);
    const bool from_best = resumption.times > 0 && goes_on_from_best() && !quality_.converged;
    const T* const from = from_best ? x_.data() : guess_.data();
    tessera::detail::copy_bytes(device, x.data(), a_.device(), from, guess_.bytes());
    return x;
  }

  [[nodiscard]] detail::WatchRules rules_of(const RungReport& rung, const Side& side, const Resumption& resumption) {
    detail::WatchRules rules;
    const bool is_plain = rung.plan.precond == RungPrecond::jacobi || rung.plan.precond == RungPrecond::none;
    rules.iteration_ms = detail::iteration_ms(rung, result_.facts, systems_.device(side));
    rules.most_iterations = progress_.iterations_left();
    rules.soft_limit = rung.plan.precond == RungPrecond::none ? 0 : rung.plan.max_iterations;
    rules.must_fall_early = !is_plain && resumption.times == 0;
    if (resumption.times > 0) rules.limits_more = resumption.is_last ? infinity : 0.0;
    if (resumption.times > 0 || rung.plan.precond == RungPrecond::none || rung.plan.precond == RungPrecond::direct) {
      return rules;
    }
    if (!is_plain) {
      rules.first_look = factors_trial;
      rules.least_rent = 1.0 / 3.0;
    }
    const auto next = next_rung(true);
    if (next && needs_analysis(*next)) rules.asking_ms = detail::analysis_ms(result_.facts);
    if (next && is_plain && next->precond == RungPrecond::amg) rules.first_look = amg_trial;
    if (const auto left = best_suspended(std::numeric_limits<double>::max())) {
      rules.left = {left->price_ms, fmt::format("{} promises to cost less", left->plan.command_options())};
    }
    // Where multigrid converges as it should, nothing after it is worth an analysis.
    const bool is_amg = rung.plan.precond == RungPrecond::amg && rules.asking_ms > 0.0;
    const double asks_from = is_amg ? static_cast<double>(rung.plan.max_iterations) : 0.0;
    rules.alternative = [this, asks_from](double projected) {
      return projected < asks_from ? detail::Alternative{} : alternative(projected);
    };
    return rules;
  }

  [[nodiscard]] double relative(double residual) const {
    return result_.report.b_norm > 0.0 ? residual / result_.report.b_norm : residual;
  }

  /// Directions of GMRES within the limit on memory: two vectors for each, since M may change.
  [[nodiscard]] int directions_that_fit() const {
    constexpr std::int64_t least = 5;
    if (options_.memory_limit_bytes == 0) return std::numeric_limits<int>::max();
    const std::uint64_t pair = 2 * sizeof(T) * static_cast<std::uint64_t>(std::max<std::int64_t>(a_.rows(), 1));
    const auto fit = static_cast<std::int64_t>(std::min<std::uint64_t>(options_.memory_limit_bytes / pair, 1'000'000));
    return static_cast<int>(std::max(least, fit));
  }

  /// The target is that of the first residual, whatever guess a rung begins with.
  [[nodiscard]] SolverOptions options_of(const RungReport& rung, detail::RungWatch& watch) {
    SolverOptions solver = progress_.options_for_rest();
    if (solver.base == ResidualBase::r0 && has_begun_) {
      solver.base = ResidualBase::b;
      solver.relative_tolerance = 0.0;
      solver.absolute_tolerance = target_;
    }
    const bool is_direct = rung.plan.precond == RungPrecond::direct;
    const bool is_hard = is_direct || (rung.plan.precond == RungPrecond::none && rung.plan.max_iterations > 0);
    const std::int64_t limit = is_direct ? refinement_steps : rung.plan.max_iterations;
    if (is_hard) solver.max_iterations = std::min(limit, solver.max_iterations);
    solver.restart = std::min(solver.restart, directions_that_fit());
    solver.stop_cause = [this] {
      return progress_.stopped_by_user() ? progress_.stop_words() : std::string("left by the ladder");
    };
    solver.observer = [this, &watch](const IterationInfo& info) {
      return progress_.tell(info) && watch.goes_on(info.residual, info.target) ? Control::proceed : Control::stop;
    };
    return solver;
  }

  struct Solved {
    const SpmvPlan<T>& A;
    const FusedOperator<T>& M;
    std::span<const T> b;
    std::span<T> x;
  };

  /// Estimates the error of an x that met the tolerance, and repairs it. \param may_screen by its iterations, which
  /// began at the caller's guess \returns the relative error
  [[nodiscard]] double judge(RungReport& rung, const Solved& solved, SolveReport& report, bool may_screen) {
    // A singular system has many solutions.
    if (options_.gate == ErrorGate::off || result_.facts.is_singular()) return 0.0;
    const RungMethod method = rung.plan.method;
    const CorrectionSolver<T> correct = [&](std::span<const T> r, std::span<T> d, const SolverOptions& options) {
      return detail::run_rung<T>(method, solved.A, solved.M, r, d, options);
    };
    SolverOptions limits = progress_.options_for_rest();
    limits.observer = [this](const IterationInfo& info) {
      return info.iteration == 0 || progress_.tell(info) ? Control::proceed : Control::stop;
    };
    const detail::EndedSolve<T> ended{.A = solved.A,
                                      .M = solved.M,
                                      .matrix = solved.A.matrix(),
                                      .facts = statistics_,
                                      .b = solved.b,
                                      .x = solved.x,
                                      .solve = correct,
                                      .is_cg = method == RungMethod::cg,
                                      .is_direct = rung.plan.precond == RungPrecond::direct,
                                      .memory_limit_bytes = options_.memory_limit_bytes,
                                      .may_screen = may_screen};
    const detail::ErrorAssessment assessed = detail::assess_error<T>(ended, limits, options_.gate, report);
    rung.error = assessed.estimate;
    progress_.add_iterations(rung.error->iterations);
    if (rung.error->corrections > 0) report.true_residual = assessed.true_residual;
    return rung.error->is_known() ? rung.error->relative_error : infinity;
  }

  /// Whether x, which missed the tolerance, is as good as it gets.
  [[nodiscard]] bool find_backward_stability(const Side& side, std::span<const T> x, const SolveReport& report) {
    const auto backward = backward_error<T>(systems_.plan(side).matrix(), systems_.b(side), x, systems_.device(side));
    result_.is_backward_stable =
        is_backward_stable(backward, report, static_cast<double>(std::numeric_limits<T>::epsilon()));
    return result_.is_backward_stable;
  }

  void accept(RungReport& rung, const Side& side, const detail::LadderQuality& quality, SolveReport&& report,
              std::span<const T> x) {
    progress_.take_history(report);
    if (quality.is_better_than(quality_)) {
      quality_ = quality;
      tessera::detail::copy_bytes(a_.device(), x_.data(), systems_.device(side), x.data(), x.size_bytes());
      result_.rung = static_cast<std::size_t>(&rung - result_.rungs.data());
      result_.report = std::move(report);
    }
    if (quality.is_trusted()) done_ = true;
  }

  [[nodiscard]] LadderReport conclude() {
    SolveReport& report = result_.report;
    if (!progress_.history().empty()) report.history = std::move(progress_.history());
    if (report.converged()) result_.is_backward_stable = false;
    const bool was_ended = progress_.stopped_by_user() || progress_.seconds_left() <= 0.0;
    if (!result_.is_backward_stable && (was_ended || !result_.rungs.empty())) {
      detail::set_final_status(
          {progress_.stop_words(), progress_.seconds_left() <= 0.0, progress_.iterations_left() <= 0}, report);
    }
    result_.proof = singularity_proof(result_.facts);
    if (a_.rows() > 0 && std::isfinite(report.true_residual)) {
      const Stopwatch watch;
      result_.backward = backward_error<T>(a_.matrix(), b_, std::span<const T>(x_), a_.device());
      result_.backward_error_ms = watch.milliseconds();
    }
    return std::move(result_);
  }

  const SpmvPlan<T>& a_;
  const MatrixStatistics& statistics_;
  std::span<T> x_;
  const LadderOptions& options_;
  detail::LadderSystems<T> systems_;
  std::span<const T> b_;
  detail::LadderProgress progress_{options_.solver};

  LadderReport result_;
  double target_ = 0.0;
  detail::LadderQuality quality_;
  Array<T> guess_;
  std::shared_ptr<FusedOperator<T>> factors_;  ///< of the latest rung
  std::vector<std::string> tried_;
  std::vector<SuspendedRung> suspended_;
  bool has_begun_ = false;
  bool permuted_ = false;
  bool indefinite_ = false;
  int unknown_errors_ = 0;  ///< rungs that met the tolerance with an error that nothing told
  bool hopeless_ = false;   ///< factors were useless: so will be others
  bool done_ = false;
};

}  // namespace

template <class T>
LadderReport solve(const SpmvPlan<T>& A, const MatrixStatistics& facts, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const LadderOptions& options) {
  detail::require_right_side(options.solver, "the ladder");
  return Climb<T>(A, facts, b, x, options).run();
}

template LadderReport solve(const SpmvPlan<float>&, const MatrixStatistics&, std::span<const float>, std::span<float>,
                            const LadderOptions&);
template LadderReport solve(const SpmvPlan<double>&, const MatrixStatistics&, std::span<const double>,
                            std::span<double>, const LadderOptions&);

}  // namespace tessera
