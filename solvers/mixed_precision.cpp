/// Mixed precision: iterative refinement in double precision by Krylov methods in single precision. The sources are
/// named in tessera/mixed_precision.hpp; the corrections and when they end are in krylov.cpp.
#include "tessera/mixed_precision.hpp"

#include "core/device/matrix_place.hpp"
#include "core/exclusive_calls.hpp"
#include "core/fused_adapter.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/krylov_problem.hpp"
#include "solvers/mixed_precision.hpp"
#include "solvers/registry.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace tessera {

using namespace detail;

namespace {

/// Exponents of A, b and x up to which everything that is scaled stays within double.
constexpr int most_matrix_exponent = 300;
constexpr int most_vector_exponent = 500;

/// A correction ends when its recurrence has fallen to this fraction. Where directions are kept, few digits cost hardly
/// an iteration; where they are lost, single precision is to give what it can. Iterations on 12 real and model
/// problems, as multiples of those in double precision: docs/mixed-precision.md.
constexpr double frequent_reduction = 0.1;
constexpr double rare_reduction = 1e-4;

[[nodiscard]] bool keeps_directions(IterativeMethod method) {
  return method == IterativeMethod::cg || method == IterativeMethod::bicgstab;
}

void require_same_size(const LinearOperator<double>& A, const LinearOperator<float>& single) {
  if (A.rows() != single.rows() || A.cols() != single.cols()) {
    throw DimensionError(fmt::format("A is {} x {} in double precision, {} x {} in single", A.rows(), A.cols(),
                                     single.rows(), single.cols()));
  }
  if (!A.device().shares_context_with(single.device())) {
    throw InvalidArgument(
        fmt::format("A lies on {} in double precision, on {} in single", A.device().name(), single.device().name()));
  }
}

/// Entries of `part` follow those of `whole`, which ended at the iteration and time given.
void append(const SolveReport& part, std::int64_t iteration, double seconds, SolveReport& whole) {
  for (HistoryEntry entry : part.history) {
    if (entry.iteration == 0) continue;
    entry.iteration += iteration;
    entry.seconds += seconds;
    whole.history.push_back(entry);
  }
  for (BreakdownEvent event : part.breakdowns) {
    event.iteration += iteration;
    whole.breakdowns.push_back(event);
  }
}

}  // namespace

bool has_mixed_precision(IterativeMethod method) {
  return keeps_directions(method) || method == IterativeMethod::gmres || method == IterativeMethod::richardson;
}

SingleMatrix single_matrix(const Csr<double>& A, const Device& host) {
  if (A.is_pattern()) return {A.with_value_type<float>(), 0, true};
  const std::span<const double> values = A.values().span();
  const double largest = fused::largest_magnitude<double>(host, values);
  constexpr int most = 60;
  const bool scales = std::isfinite(largest) && largest > 0.0 && std::abs(std::ilogb(largest)) > most;
  const int exponent = scales ? std::ilogb(largest) : 0;
  Array<float> rounded(A.nnz(), Init::none);
  const host::PowerOfTwo<double> scaled(-exponent);
  const std::span<float> to = rounded.span();
  const auto changed = host::parallel_sum<std::int64_t>(host, A.nnz(), [&](host::Range range) {
    std::int64_t count = 0;
    for (auto k = static_cast<std::size_t>(range.begin); k < static_cast<std::size_t>(range.end); ++k) {
      const double value = scaled(values[k]);
      to[k] = static_cast<float>(value);
      count += static_cast<double>(to[k]) == value ? 0 : 1;
    }
    return count;
  });
  return {A.with_values(std::move(rounded)), exponent, changed == 0};
}

void WidenedPlan::do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const {
  const CsrView<float> a = plan_.matrix();
  require_within_reach(a, device(), "WidenedPlan");
  transform_rows(
      device(), all_rows(a),
      WidenedProductRow{
          .a = pointers_of(a), .alpha = std::ldexp(alpha, exponent_), .beta = beta, .x = x.data(), .y = y.data()});
}

WidenedPreconditioner::WidenedPreconditioner(const LinearOperator<float>& M, int exponent)
    : m_(fused_operator(M)),
      scale_(std::ldexp(1.0, -exponent)),
      r_(m_->is_identity() ? 0 : M.rows(), Init::none, M.device()),
      z_(r_.size(), Init::none, M.device()) {}

void WidenedPreconditioner::do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const {
  widen(*m_, alpha, x, beta, y);
}

void WidenedPreconditioner::do_apply_transposed(double alpha, std::span<const double> x, double beta,
                                                std::span<double> y) const {
  widen(*transposed(*m_), alpha, x, beta, y);
}

void WidenedPreconditioner::widen(const LinearOperator<float>& m, double alpha, std::span<const double> x, double beta,
                                  std::span<double> y) const {
  if (m_->is_identity()) return IdentityOperator<double>(rows(), device()).apply(alpha, x, beta, y);
  const std::scoped_lock lock(mutex_);
  fused::transform_reduce(device(), rows(), RoundToSingle{.from = x.data(), .to = r_.data()});
  m.apply(std::as_const(r_).span(), z_.span());
  fused::transform_reduce(device(), rows(),
                          AxpbyWidened{.alpha = scale_ * alpha, .beta = beta, .x = z_.data(), .y = y.data()});
}

class MixedPrecisionSolver::Impl final : public Refinement<float> {
 public:
  Impl(IterativeMethod method, const LinearOperator<double>& A, const LinearOperator<float>& single,
       const LinearOperator<float>* m, const SolverOptions& options, int matrix_exponent)
      : method_(method),
        options_(options),
        matrix_exponent_(matrix_exponent),
        fused_a_(fused_operator(A)),
        identity_(single.rows(), single.device()),
        arguments_(single, m == nullptr ? identity_ : *m, options_) {
    require_same_size(A, single);
    if (!has_mixed_precision(method)) {
      throw NotSupported(
          fmt::format("{} in mixed precision; known are cg, bicgstab, gmres, richardson", to_string(method)));
    }
    if (options.side == PreconditionerSide::left) {
      throw NotSupported("gmres with its preconditioner on the left in mixed precision");
    }
    keeps_direction = keeps_directions(method);
    reduction = keeps_direction ? frequent_reduction : rare_reduction;
    prepare();
    correction_ = Array<float>(A.rows(), Init::zero, A.device());
    corrected_ = Array<double>(A.rows(), Init::none, A.device());
    residual_ = Array<double>(A.rows(), Init::none, A.device());
  }

  [[nodiscard]] MixedSolveReport solve(std::span<const double> b, std::span<double> x) {
    const auto scope = calls_.enter("MixedPrecisionSolver");
    // Checks sizes and places; what single precision need not see, double refuses or solves in its words.
    const KrylovArguments<double> checked(*fused_a_, *fused_a_, b, x, options_);
    const Stopwatch watch;
    double_products_ = 0;
    MixedSolveReport report;
    const double b_largest = fused::largest_magnitude<double>(device(), b);
    const double x_largest = fused::largest_magnitude<double>(device(), x);
    if (!std::isfinite(b_largest) || !std::isfinite(x_largest) || b_largest == 0.0) {
      return finish_in_double(b, x, watch, std::move(report));
    }
    const fused::ScaledNorm norm = fused::scaled_norm<double>(device(), b, b_largest);
    exponent = norm.exponent;
    b_norm = norm.mantissa;
    if (!exponents_fit(x_largest)) {
      report.fallback = "powers of two of A, b or x are beyond those of mixed precision";
      return finish_in_double(b, x, watch, std::move(report));
    }
    b_ = b;
    x_ = x;
    if (!state_ || !(Recorded::of(arguments_) == recorded_)) prepare();
    problem_->x = correction_.span();
    static_cast<SolveReport&>(report) = state_->solve();
    report.single_iterations = report.iterations;
    report.double_products = double_products_;
    if (!has_failed(report.status)) return report;
    report.fallback = report.reason;
    return finish_in_double(b, x, watch, std::move(report));
  }

  // For KrylovSolve.

  double residual(std::span<const float> x, std::span<float> r) override {
    ++double_products_;
    fused::transform_reduce(device(), rows(),
                            CorrectedSolution{.x = x_.data(),
                                              .c = x.data(),
                                              .scaled_x = host::PowerOfTwo<double>(-exponent),
                                              .scaled_c = host::PowerOfTwo<double>(-matrix_exponent_),
                                              .corrected = corrected_.data()});
    const double squares = fused_a_->residual(-exponent, b_, std::as_const(corrected_).span(), residual_.span());
    fused::transform_reduce(device(), rows(), RoundToSingle{.from = residual_.data(), .to = r.data()});
    return std::sqrt(squares);
  }

  void take(std::span<float> x) override {
    fused::transform_reduce(device(), rows(),
                            TakeCorrection{.corrected = corrected_.data(),
                                           .scaled = host::PowerOfTwo<double>(exponent),
                                           .x = x_.data(),
                                           .c = x.data()});
  }

 private:
  using Recorded = RecordedOperands<float>;

  [[nodiscard]] Device device() const { return fused_a_->device(); }
  [[nodiscard]] std::int64_t rows() const { return fused_a_->rows(); }

  void prepare() {
    state_.reset();
    problem_.emplace(arguments_);
    problem_->refinement = this;
    state_ = method_entry(method_).make<float>(*problem_);
    recorded_ = Recorded::of(arguments_);
  }

  [[nodiscard]] bool exponents_fit(double x_largest) const {
    const bool matrix_fits = std::abs(matrix_exponent_) <= most_matrix_exponent;
    const bool x_fits = x_largest == 0.0 || std::ilogb(x_largest) - exponent <= most_vector_exponent;
    return matrix_fits && x_fits && std::abs(exponent) <= most_vector_exponent;
  }

  [[nodiscard]] static bool has_failed(Status status) {
    return status == Status::breakdown || status == Status::diverged || status == Status::stagnated ||
           status == Status::not_finite;
  }

  /// The rest of a solve, or all of it. \param report of single precision; a default where it has not begun
  [[nodiscard]] MixedSolveReport finish_in_double(std::span<const double> b, std::span<double> x,
                                                  const Stopwatch& watch, MixedSolveReport report) {
    const bool has_begun = report.single_iterations > 0 || report.spmv_count > 0;
    const double seconds = watch.seconds();
    const SolverOptions options = options_in_double(report, has_begun, seconds);
    const WidenedPreconditioner m(arguments_.m, matrix_exponent_);
    const KrylovProblem<double> problem({*fused_a_, m, b, x, options});
    SolveReport rest = method_entry(method_).make<double>(problem)->solve();
    report.double_iterations = rest.iterations;
    report.double_products += rest.spmv_count;
    if (!has_begun) {
      static_cast<SolveReport&>(report) = std::move(rest);
    } else {
      append(rest, report.single_iterations, seconds, report);
      report.status = rest.status;
      report.breakdown = rest.breakdown;
      report.reason = std::move(rest.reason);
      report.iterations += rest.iterations;
      report.spmv_count += rest.spmv_count;
      report.preconditioner_count += rest.preconditioner_count;
      report.restarts += rest.restarts;
      report.replacements += rest.replacements;
      report.recurrence_residual = rest.recurrence_residual;
      report.true_residual = rest.true_residual;
    }
    if (!report.fallback.empty()) {
      report.reason += fmt::format(" (in double precision from iteration {} on)", report.single_iterations);
    }
    report.timings.solve_ms = watch.milliseconds();
    return report;
  }

  /// What is left of the limits; the target that the solve began with.
  [[nodiscard]] SolverOptions options_in_double(const SolveReport& before, bool has_begun, double seconds) const {
    SolverOptions options = options_;
    if (!has_begun) return options;
    options.max_iterations = std::max<std::int64_t>(0, options_.max_iterations - before.iterations);
    options.time_limit_seconds = std::max(0.0, options_.time_limit_seconds - seconds);
    if (options_.base == ResidualBase::r0) {
      options.relative_tolerance = 0.0;
      options.absolute_tolerance = before.target;
    }
    if (!options_.observer) return options;
    options.observer = [this, seconds, done = before.iterations](IterationInfo info) {
      if (info.iteration == 0) return Control::proceed;
      info.iteration += done;
      info.max_iterations = options_.max_iterations;
      info.seconds += seconds;
      return options_.observer(info);
    };
    return options;
  }

  IterativeMethod method_;
  SolverOptions options_;
  int matrix_exponent_;
  std::shared_ptr<const FusedOperator<double>> fused_a_;
  IdentityOperator<float> identity_;
  ExclusiveCalls calls_;
  KrylovArguments<float> arguments_;
  std::optional<KrylovProblem<float>> problem_;
  std::unique_ptr<KrylovMethod<float>> state_;
  Recorded recorded_;

  Array<float> correction_;
  Array<double> corrected_;  // x + correction, in scaled units
  Array<double> residual_;   // before rounding
  std::span<const double> b_;
  std::span<double> x_;
  std::int64_t double_products_ = 0;
};

MixedPrecisionSolver::MixedPrecisionSolver(IterativeMethod method, const LinearOperator<double>& A,
                                           const LinearOperator<float>& single, const LinearOperator<float>& M,
                                           const SolverOptions& options, int exponent)
    : impl_(std::make_unique<Impl>(method, A, single, &M, options, exponent)) {}

MixedPrecisionSolver::MixedPrecisionSolver(IterativeMethod method, const LinearOperator<double>& A,
                                           const LinearOperator<float>& single, const SolverOptions& options,
                                           int exponent)
    : impl_(std::make_unique<Impl>(method, A, single, nullptr, options, exponent)) {}

MixedPrecisionSolver::~MixedPrecisionSolver() = default;
MixedPrecisionSolver::MixedPrecisionSolver(MixedPrecisionSolver&&) noexcept = default;
MixedPrecisionSolver& MixedPrecisionSolver::operator=(MixedPrecisionSolver&&) noexcept = default;

MixedSolveReport MixedPrecisionSolver::solve(std::span<const double> b, std::span<double> x) {
  return impl_->solve(b, x);
}

MixedSolveReport solve_mixed(IterativeMethod method, const LinearOperator<double>& A,
                             const LinearOperator<float>& single, const LinearOperator<float>& M,
                             std::span<const double> b, std::span<double> x, const SolverOptions& options,
                             int exponent) {
  return MixedPrecisionSolver(method, A, single, M, options, exponent).solve(b, x);
}

}  // namespace tessera
