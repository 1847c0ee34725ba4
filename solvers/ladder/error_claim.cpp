/// Claims of the forward error: Varah's bound, a screen with a probe by noise, corrections by direct factors.
#include "solvers/ladder/error_claim.hpp"

#include "core/borrowed_csr.hpp"
#include "core/device/matrix_place.hpp"
#include "core/stopwatch.hpp"
#include "solvers/accuracy.hpp"
#include "solvers/centrality.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/ladder/costs.hpp"
#include "solvers/ladder/outcome.hpp"
#include "solvers/residual_norm.hpp"
#include "tessera/array.hpp"
#include "tessera/direct.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace tessera::detail {

namespace {

constexpr double cleared = 1e-4;
constexpr double cleared_without_theory = 1e-6;
/// Backward errors above this contradict a claim that rests on iterations.
constexpr double contradiction = 1e-4;
/// Ratio of diagonal entries above which a residual norm does not see all rows.
constexpr double badly_scaled = 1e4;
/// Diagonal over off-diagonal entries above which a link is weak, and above which CG alone meets what it holds.
constexpr double weak_link = 1e4;
constexpr double even_links = 1e2;
/// Work that nobody notices.
constexpr double cheap_ms = 20.0;
/// Share of the iterations that a probe of a larger system takes, and the fewest.
constexpr double probe_share = 1.0 / 16.0;
constexpr std::int64_t least_probe = 10;
/// A solve for d has to end with such a rowwise backward error.
constexpr double rowwise_of_correction = 0.3;
/// Mean of noise with signs of 1: a smooth part.
constexpr double usual_mean = 0.5;

/// The solve with Jacobi on one core, by the model of the ladder: decisions repeat.
template <class T>
[[nodiscard]] double model_ms(const EndedSolve<T>& solved, std::int64_t iterations) {
  LadderFacts facts;
  facts.rows = solved.matrix.rows;
  facts.nnz = solved.matrix.nnz();
  const RungMethod method = solved.is_cg ? RungMethod::cg : RungMethod::bicgstab;
  return static_cast<double>(iterations) * iteration_ms(facts, method, Device{});
}

/// L and U hardly ever have fewer entries than so many times those of A.
constexpr double least_fill = 2.0;

/// Direct factors on the host that solve for corrections of a system on any device.
template <class T>
class RefinementFactors {
 public:
  /// Nothing where they are not cheap, or cannot be had. \param is_singular becomes true where that is why
  [[nodiscard]] static std::unique_ptr<RefinementFactors> try_make(const EndedSolve<T>& solved, bool& is_singular) {
    const std::uint64_t bytes = correcting_factors_bytes(solved.matrix.rows, solved.matrix.nnz());
    const bool fits = solved.memory_limit_bytes == 0 || bytes <= solved.memory_limit_bytes;
    if (bytes == 0 || !fits) return nullptr;
    try {
      return std::unique_ptr<RefinementFactors>(new RefinementFactors(solved));
    } catch (const SingularMatrix&) {
      is_singular = true;
      return nullptr;
    } catch (const Error&) {
      return nullptr;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  /// d = A⁻¹ r.
  void apply(std::span<const T> r, std::span<T> d) const {
    if (device_.is_host()) {
      factors_.apply(r, d);
      return;
    }
    const Array<T> own_r = fused::to_host(device_, r);
    Array<T> own_d(own_r.size(), Init::none);
    factors_.apply(own_r.span(), own_d.span());
    copy_bytes(device_, d.data(), Device{}, own_d.data(), own_d.bytes());
  }

  /// d = A⁻¹ r by factors and two steps of refinement.
  SolveReport solve(std::span<const T> r, std::span<T> d, const SolverOptions& options) const {
    SolverOptions refined = options;
    constexpr std::int64_t steps = 3;
    refined.max_iterations = std::min(steps, options.max_iterations);
    if (device_.is_host()) return richardson<T>(plan_, factors_, r, d, refined);
    const Array<T> own_r = fused::to_host(device_, r);
    Array<T> own_d(own_r.size(), Init::zero);
    SolveReport report = richardson<T>(plan_, factors_, own_r.span(), own_d.span(), refined);
    copy_bytes(device_, d.data(), Device{}, own_d.data(), own_d.bytes());
    return report;
  }

 private:
  explicit RefinementFactors(const EndedSolve<T>& solved)
      : device_(solved.A.device()),
        plan_(on_host(solved.matrix, device_), {.algorithm = SpmvAlgorithm::csr, .device = Device{}}),
        factors_(plan_.matrix(), {.prediction = predict_direct(plan_.matrix(), DirectMethod::automatic, cheap_factors),
                                  .flops_limit = cheap_factors.flops,
                                  .factor_nnz_limit = static_cast<offset_t>(cheap_factors.factor_nnz)}) {}

  [[nodiscard]] static Csr<T> on_host(const CsrView<T>& matrix, const Device& device) {
    if (device.is_host() || is_out_of_reach(matrix, device)) return borrow_csr(matrix, Device{});
    return borrow_csr(matrix, device).to(Device{});
  }

  Device device_;
  SpmvPlan<T> plan_;
  DirectFactors<T> factors_;
};

/// One call of assess_error().
template <class T>
class AssessmentRun {
 public:
  AssessmentRun(const EndedSolve<T>& solved, const SolverOptions& limits, ErrorGate gate, const SolveReport& report)
      : solved_(solved),
        limits_(limits),
        gate_(gate),
        report_(report),
        device_(solved.A.device()),
        has_cheap_factors_(correcting_factors_bytes(solved.matrix.rows, solved.matrix.nnz()) != 0),
        can_screen_(can_screen()),
        noise_(solved.matrix.rows, Init::none, device_) {}

  [[nodiscard]] ErrorAssessment run() {
    ErrorAssessment result;
    const bool wants_mean = can_screen_ || !(solved_.is_direct || has_cheap_factors_);
    result.backward = look_back(wants_mean ? usual_mean : 0.0);
    result.estimate = claim_of(result.backward);
    if (result.estimate.corrections > 0) {
      result.backward = rows_.error;
      result.true_residual = residual_.value();
    }
    const bool is_proved =
        result.estimate.source == ErrorSource::dominance || result.estimate.source == ErrorSource::factors;
    if (!is_proved && !(result.backward.rowwise <= contradiction)) result.estimate.claim = ErrorClaim::unknown;
    result.estimate.iterations = iterations_;
    result.estimate.ms = watch_.milliseconds();
    return result;
  }

 private:
  /// Noise times this is at least what rounding b and A x leaves.
  static constexpr auto rounding = static_cast<double>(std::numeric_limits<T>::epsilon());

  /// Fills noise_. \param mean of it
  [[nodiscard]] BackwardError look_back(double mean, std::uint64_t draw = 0) {
    rows_ = survey_rows<T>(solved_.matrix, solved_.b, solved_.x, device_, {noise_.span(), mean, draw});
    mean_ = mean;
    return rows_.error;
  }

  [[nodiscard]] ErrorEstimate claim_of(const BackwardError& backward) {
    if (solved_.is_direct) return correct();
    if (const auto bounded = bound(backward)) return *bounded;
    if (can_screen_ && may_screen(backward)) {
      if (const auto screened = screen()) return *screened;
    }
    return correct();
  }

  [[nodiscard]] std::optional<ErrorEstimate> bound(const BackwardError& backward) const {
    const double ratio = backward.error_bound / fused::largest_magnitude(device_, std::span<const T>(solved_.x));
    if (!(ratio <= cleared)) return std::nullopt;
    return ErrorEstimate{.claim = ErrorClaim::bounded,
                         .source = ErrorSource::dominance,
                         .relative_error = ratio / (1.0 - ratio),
                         .is_of_largest_entry = true};
  }

  /// Whether screens may be asked for, as far as the matrix and the solve say.
  [[nodiscard]] bool can_screen() const {
    const MatrixStatistics& facts = solved_.facts;
    const bool is_scaled_well =
        facts.full_diagonal() && facts.diagonal_max_abs <= badly_scaled * facts.diagonal_min_abs;
    return solved_.may_screen && !solved_.is_direct && report_.iterations > 0 && is_scaled_well;
  }

  [[nodiscard]] bool may_screen(const BackwardError& backward) const {
    const bool has_weak_links = rows_.is_l_matrix && rows_.spread > weak_link;
    if (has_weak_links || !(backward.rowwise <= contradiction)) return false;
    // Other methods than CG have no theory of their iterations, and factors cost them less than a probe.
    return solved_.is_cg || is_m_matrix() || !has_cheap_factors_;
  }

  /// The smallest eigenvalue of an irreducible M-matrix has a positive vector, which constants meet.
  [[nodiscard]] bool is_m_matrix() const {
    return rows_.is_l_matrix && rows_.spread <= (solved_.is_cg ? weak_link : even_links) && rows_.ones_quotient > 0.0 &&
           solved_.facts.weakly_dominant_rows == solved_.facts.rows;
  }

  /// κ ‖M r‖ / ‖x‖, and a probe.
  [[nodiscard]] std::optional<ErrorEstimate> screen() {
    update_residual(mean_);
    solved_.M.apply(r_.span(), d_.span());
    const double unit = solved_.M.is_identity() ? solved_.facts.diagonal_max_abs : 1.0;
    const RelativeError step = error_size<T>(device_, d_.span(), solved_.x);
    const double reduction = report_.r0_norm > 0.0 ? report_.target / report_.r0_norm : 1.0;
    const double met =
        std::max(cg_condition(std::max(report_.iterations, report_.spmv_count), reduction), condition_of_ones());
    const double by_iterations = std::max(1.0, rounding * noise_over_residual()) * step.relative / unit * met;
    const double most = solved_.is_cg || is_m_matrix() ? cleared : cleared_without_theory;
    if (!step.is_finite || !(by_iterations <= most)) return std::nullopt;
    if (is_m_matrix()) {
      return ErrorEstimate{.claim = ErrorClaim::estimated,
                           .source = ErrorSource::iterations,
                           .relative_error = by_iterations,
                           .is_of_largest_entry = step.is_of_largest_entry};
    }
    const bool is_small = model_ms(solved_, report_.iterations) <= cheap_ms;
    const auto shared = static_cast<std::int64_t>(probe_share * static_cast<double>(report_.iterations));
    const SolveReport probed = is_small ? probe_fully() : probe(0.0, std::max(least_probe, shared));
    const RelativeError size = error_size<T>(device_, d_.span(), solved_.x);
    const double found = size.relative;
    if (!size.is_finite || !(found <= cleared) || !has_moved(probed, is_small)) return std::nullopt;
    return ErrorEstimate{.claim = ErrorClaim::estimated,
                         .source = is_small ? ErrorSource::probe : ErrorSource::iterations,
                         .relative_error = is_small ? found : std::max(found, by_iterations),
                         .is_of_largest_entry = size.is_of_largest_entry};
  }

  /// A lower bound of the condition of M A: by the Rayleigh quotient of constants in the pencil of A and its diagonal,
  /// for other M by ‖M A 1‖ / ‖1‖. Overwrites d_.
  [[nodiscard]] double condition_of_ones() {
    if (solved_.M.is_identity() || solved_.M.diagonal()) return 1.0 / std::abs(rows_.ones_quotient);
    const auto n = static_cast<double>(solved_.matrix.rows);
    image_ = Array<T>(solved_.matrix.rows, Init::none, device_);
    fill<T>(device_, d_.span(), 1.0);
    solved_.A.apply(std::as_const(d_).span(), image_.span());
    solved_.M.apply(std::as_const(image_).span(), d_.span());
    return std::sqrt(n) / scaled_norm_of<T>(device_, std::as_const(d_).span()).value();
  }

  [[nodiscard]] double noise_over_residual() const {
    return ratio_of(scaled_norm_of<T>(device_, std::as_const(noise_).span()), residual_);
  }

  /// d = A⁻¹ (r + noise) as far as the method comes, the noise as large as r. r_ is r.
  [[nodiscard]] SolveReport probe(double tolerance, std::int64_t most) {
    const double share = std::max(1.0 / noise_over_residual(), rounding);
    fused::axpy<T>(device_, static_cast<T>(share), noise_.span(), r_.span());
    fused::clear<T>(device_, d_.span());
    SolverOptions options = options_for(tolerance);
    options.max_iterations = std::min(most, options.max_iterations);
    SolveReport probed = solved_.solve(r_.span(), d_.span(), options);
    iterations_ += probed.iterations;
    return probed;
  }

  /// Until no mode can hide: a single one has the share 1 / √n of noise.
  [[nodiscard]] SolveReport probe_fully() {
    constexpr double share_of_mode = 0.03;
    const auto n = static_cast<double>(std::max<index_t>(solved_.matrix.rows, 1));
    return probe(share_of_mode / std::sqrt(n), 2 * report_.iterations + least_probe);
  }

  /// A small system is probed to its end. A method that never lowered the residual returns d = 0: modes of tiny
  /// eigenvalues grow first.
  [[nodiscard]] bool has_moved(const SolveReport& probed, bool is_small) const {
    return is_small ? is_solved(probed) : probed.true_residual < probed.b_norm;
  }

  /// Whether a solve for d reached its tolerance, in every row. r_ is its right-hand side.
  [[nodiscard]] bool is_solved(const SolveReport& probed) const {
    if (!probed.converged()) return false;
    return backward_error<T>(solved_.matrix, r_.span(), d_.span(), device_).rowwise <= rowwise_of_correction;
  }

  /// All solves together stay within the limits of the caller.
  [[nodiscard]] SolverOptions limits_left() const {
    SolverOptions options = limits_;
    options.max_iterations = std::max<std::int64_t>(1, limits_.max_iterations - iterations_);
    options.time_limit_seconds = std::max(0.0, limits_.time_limit_seconds - watch_.seconds());
    return options;
  }

  /// Of a solve for d.
  [[nodiscard]] SolverOptions options_for(double tolerance) const {
    SolverOptions options = limits_left();
    options.relative_tolerance = tolerance;
    options.absolute_tolerance = 0.0;
    options.base = ResidualBase::b;
    options.stagnation_window = 0;
    options.keep_history = false;
    return options;
  }

  [[nodiscard]] ErrorEstimate correct() {
    bool is_singular = false;
    if (!solved_.is_direct && has_cheap_factors_) factors_ = RefinementFactors<T>::try_make(solved_, is_singular);
    if (is_singular) return {};
    ErrorEstimate estimate = measure();
    // A claim by the method is far above the error where smooth noise meets modes that r has lost.
    const double good = has_inverse() ? good_error : trusted_error;
    const bool is_good = estimate.is_known() && estimate.relative_error <= good;
    if (gate_ != ErrorGate::repair || is_good) return estimate;
    const CorrectionSolver<T> solve = [this](std::span<const T> r, std::span<T> d, const SolverOptions& options) {
      return solve_for(r, d, options);
    };
    const ErrorEstimate corrected =
        estimate_error<T>(solved_.A, solve, solved_.b, solved_.x, report_.target, limits_left(), gate_);
    iterations_ += corrected.iterations;
    if (corrected.corrections == 0) return estimate;
    mean_ = std::nan("");  // noise_ belongs to the x before
    estimate = measure();
    estimate.corrections = corrected.corrections;
    return estimate;
  }

  [[nodiscard]] SolveReport solve_for(std::span<const T> r, std::span<T> d, const SolverOptions& options) const {
    return factors_ != nullptr ? factors_->solve(r, d, options) : solved_.solve(r, d, options);
  }

  [[nodiscard]] ErrorEstimate measure() {
    update_residual(has_inverse() ? 0.0 : usual_mean);
    return has_inverse() ? estimate_by_inverse() : estimate_by_probe();
  }

  [[nodiscard]] bool has_inverse() const { return solved_.is_direct || factors_ != nullptr; }

  /// r_ = b - A x, with noise of this mean beside.
  void update_residual(double mean) {
    if (mean != mean_) static_cast<void>(look_back(mean));
    if (r_.size() == 0) r_ = Array<T>(solved_.matrix.rows, Init::none, device_);
    if (d_.size() == 0) d_ = Array<T>(solved_.matrix.rows, Init::none, device_);
    residual_ = residual_norm<T>(solved_.A, solved_.b, solved_.x, r_.span());
  }

  /// The claim of d, if the solve for it came so far.
  [[nodiscard]] ErrorEstimate claim_size(bool is_solved, ErrorSource source) const {
    const RelativeError size = error_size<T>(device_, d_.span(), solved_.x);
    if (!is_solved || !size.is_finite) return {.claim = ErrorClaim::unknown, .source = source};
    return {.claim = ErrorClaim::estimated,
            .source = source,
            .relative_error = size.relative,
            .is_of_largest_entry = size.is_of_largest_entry};
  }

  /// The largest one of A⁻¹ r and A⁻¹ noise, the noise that which rounding b and A x leaves. Where it counts, it is
  /// drawn twice: signs that cancel hide a mode.
  [[nodiscard]] ErrorEstimate estimate_by_inverse() {
    constexpr double counts = 0.1;
    constexpr std::uint64_t draws = 2;
    ErrorEstimate estimate = claim_size(invert_residual(), ErrorSource::factors);
    for (std::uint64_t draw = 0; draw < draws && estimate.is_known(); ++draw) {
      if (draw > 0) static_cast<void>(look_back(0.0, draw));
      fused::clear<T>(device_, r_.span());
      fused::axpy<T>(device_, static_cast<T>(rounding), noise_.span(), r_.span());
      invert();
      const ErrorEstimate of_rounding = claim_size(true, ErrorSource::factors);
      const bool is_small = of_rounding.relative_error < counts * estimate.relative_error;
      if (of_rounding.is_known() && is_small) break;
      if (!of_rounding.is_known() || of_rounding.relative_error > estimate.relative_error) estimate = of_rounding;
    }
    return estimate;
  }

  /// d_ = A⁻¹ r_.
  void invert() {
    const std::span<const T> r = std::as_const(r_).span();
    if (factors_ != nullptr) {
      factors_->apply(r, d_.span());
    } else {
      solved_.M.apply(r, d_.span());
    }
  }

  /// d_ = A⁻¹ r_ for r_ = b - A x, refined where rounding needs it. \returns whether r_ - A d_ is small
  [[nodiscard]] bool invert_residual() {
    constexpr double rough = 0.1;
    invert();
    const std::span<const T> r = std::as_const(r_).span();
    if (image_.size() == 0) image_ = Array<T>(solved_.matrix.rows, Init::none, device_);
    const fused::ScaledNorm left = residual_norm<T>(solved_.A, r, std::as_const(d_).span(), image_.span());
    if (residual_.mantissa == 0.0 || ratio_of(left, residual_) <= rough) return true;
    fused::clear<T>(device_, d_.span());
    const SolveReport solved = solve_for(r, d_.span(), options_for(rough));
    iterations_ += solved.iterations;
    return solved.true_residual <= rough * solved.b_norm;
  }

  /// The size of A⁻¹ (r + noise), the noise as large as r: the method is as blind for the error as it was for x,
  /// unless noise shows it what it did not see.
  [[nodiscard]] ErrorEstimate estimate_by_probe() {
    constexpr double tolerance = 1e-2;
    constexpr double reached = 0.1;
    if (model_ms(solved_, report_.iterations) <= cheap_ms) {
      return claim_size(is_solved(probe_fully()), ErrorSource::probe);
    }
    const SolveReport probed = probe(tolerance, limits_.max_iterations);
    return claim_size(probed.true_residual <= reached * probed.b_norm, ErrorSource::probe);
  }

  const EndedSolve<T>& solved_;
  const SolverOptions& limits_;
  ErrorGate gate_;
  const SolveReport& report_;
  Stopwatch watch_;
  std::int64_t iterations_ = 0;  ///< of all solves
  Device device_;
  bool has_cheap_factors_;
  bool can_screen_;
  RowSurvey rows_;
  double mean_ = 0.0;                              ///< of noise_
  std::unique_ptr<RefinementFactors<T>> factors_;  ///< null: not cheap, or M is the inverse
  fused::ScaledNorm residual_;                     ///< of r = b - A x
  Array<T> noise_;
  Array<T> r_;
  Array<T> d_;
  Array<T> image_;  ///< of d_
};

}  // namespace

double cg_condition(std::int64_t iterations, double reduction) {
  const double root = 2.0 * static_cast<double>(iterations) / std::log(2.0 / std::min(reduction, 1.0));
  return std::max(1.0, root * root);
}

std::uint64_t correcting_factors_bytes(std::int64_t rows, offset_t nnz) {
  // Order and counts; entries with their rows, and once more while they grow.
  constexpr std::uint64_t per_row = 220;
  constexpr std::uint64_t per_entry = 40;
  constexpr std::uint64_t per_factor_entry = 24;
  constexpr double usual_fill = 10.0;
  if (least_fill * static_cast<double>(nnz) > cheap_factors.factor_nnz) return 0;
  const double entries = std::min(cheap_factors.factor_nnz, usual_fill * static_cast<double>(nnz));
  return per_row * static_cast<std::uint64_t>(rows) + per_entry * static_cast<std::uint64_t>(nnz) +
         per_factor_entry * static_cast<std::uint64_t>(entries);
}

template <class T>
ErrorAssessment assess_error(const EndedSolve<T>& solved, const SolverOptions& limits, ErrorGate gate,
                             const SolveReport& report) {
  return AssessmentRun<T>(solved, limits, gate, report).run();
}

template ErrorAssessment assess_error(const EndedSolve<float>&, const SolverOptions&, ErrorGate, const SolveReport&);
template ErrorAssessment assess_error(const EndedSolve<double>&, const SolverOptions&, ErrorGate, const SolveReport&);

}  // namespace tessera::detail
