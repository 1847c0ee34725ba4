/// Backward errors of a solution (Oettli and Prager 1964), and the estimate and repair of its forward error by solves
/// for corrections, which is iterative refinement (J. H. Wilkinson, Rounding Errors in Algebraic Processes, 1963).
#include "solvers/accuracy.hpp"

#include "core/device/matrix_place.hpp"
#include "core/fused_adapter.hpp"
#include "core/stopwatch.hpp"
#include "solvers/amg/transform_rows.hpp"
#include "solvers/fused/vector_ops.hpp"
#include "solvers/residual_norm.hpp"
#include "tessera/accuracy.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace tessera {

using namespace detail;

namespace {

constexpr double correction_tolerance = 1e-2;
constexpr double correction_must_reach = 0.1;
constexpr int max_corrections = 4;

template <class T>
BackwardErrorSums backward_error_sums(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x,
                                      const Device& device, int exponent, const RowNoise<T>& noise) {
  const double x_largest = fused::largest_magnitude(device, x);
  const BackwardErrorRow<T> row{.a = pointers_of(matrix),
                                .b = b.data(),
                                .x = x.data(),
                                .scaled = host::PowerOfTwo<double>(exponent),
                                .is_scaled = exponent != 0,
                                .x_largest = host::PowerOfTwo<double>(exponent)(x_largest),
                                .noise = noise.values.empty() ? nullptr : noise.values.data(),
                                .mean = noise.mean,
                                .draw = noise.draw};
  if (device.is_host()) {
    BackwardErrorSums total;
    RowSet rows = all_rows(matrix);
    rows.lanes = 1;  // lanes of a host only cost
    transform_rows(device, rows, row, &total);
    return total;
  }
  DeviceValue<BackwardErrorSums> total(device);
  transform_rows(device, all_rows(matrix), row, total.data());
  return total.get();
}

bool is_finite(const BackwardErrorSums& sums) {
  return std::isfinite(sums.ratio.value) && std::isfinite(sums.sizes.norm());
}

void require_length(const char* name, std::size_t length, index_t wanted, const char* of) {
  if (length == static_cast<std::size_t>(wanted)) return;
  throw DimensionError(
      fmt::format("backward error: {} has {} elements, the matrix has {} {}", name, length, wanted, of));
}

}  // namespace

template <class T>
RelativeError detail::error_size(const Device& device, std::span<const T> d, std::span<const T> x) {
  const double d_largest = fused::largest_magnitude(device, d);
  const double x_largest = fused::largest_magnitude(device, x);
  if (!std::isfinite(d_largest) || !std::isfinite(x_largest)) return {};
  const double norm = ratio_of(fused::scaled_norm(device, d, d_largest), fused::scaled_norm(device, x, x_largest));
  const double largest = d_largest / x_largest;
  return {.relative = std::max(norm, largest), .is_of_largest_entry = largest > norm, .is_finite = true};
}

namespace {

/// The iteration of estimate_error().
template <class T>
class ErrorGateRun {
 public:
  ErrorGateRun(const FusedOperator<T>& A, const CorrectionSolver<T>& solve, std::span<const T> b, std::span<T> x,
               double target, const SolverOptions& options)
      : a_(A),
        solve_(solve),
        b_(b),
        x_(x),
        target_(target),
        options_(options),
        r_(A.rows(), Init::none, A.device()),
        d_(A.rows(), Init::none, A.device()) {}

  ErrorEstimate run(ErrorGate gate) {
    update_residual();
    while (find_correction() && gate == ErrorGate::repair && may_correct() && correct()) {
    }
    estimate_.ms = watch_.milliseconds();
    return estimate_;
  }

 private:
  /// r = b - A x.
  void update_residual() { residual_ = residual_norm<T>(a_, b_, x_, r_.span()); }

  /// A d = r. \returns whether the error of x is known, and is not 0
  bool find_correction() {
    estimate_.claim = residual_.mantissa == 0.0 ? ErrorClaim::estimated : ErrorClaim::unknown;
    estimate_.source = ErrorSource::correction;
    estimate_.relative_error = 0.0;
    estimate_.is_of_largest_entry = false;
    if (!std::isfinite(residual_.mantissa) || residual_.mantissa == 0.0) return false;
    fused::clear<T>(a_.device(), d_.span());
    const SolveReport report = solve_(r_.span(), d_.span(), correction_options());
    estimate_.iterations += report.iterations;
    const RelativeError size = error_size<T>(a_.device(), d_.span(), x_);
    if (!(report.true_residual <= correction_must_reach * report.b_norm) || !size.is_finite) return false;
    estimate_.claim = ErrorClaim::estimated;
    estimate_.relative_error = size.relative;
    estimate_.is_of_largest_entry = size.is_of_largest_entry;
    return report.status != Status::interrupted && report.status != Status::time_limit;
  }

  /// Whether another correction is wanted and the one before helped.
  [[nodiscard]] bool may_correct() const {
    return estimate_.relative_error > good_error && estimate_.corrections < max_corrections &&
           (estimate_.corrections == 0 || estimate_.relative_error <= 0.5 * previous_error_);
  }

  /// x = x + d, unless the residual then misses the target that it met. \returns whether x has changed
  bool correct() {
    const bool met_target = residual_.value() <= target_;
    if (kept_.size() == 0) kept_ = Array<T>(a_.rows(), Init::none, a_.device());
    fused::copy<T>(a_.device(), x_, kept_.span());
    fused::axpy<T>(a_.device(), T{1}, d_.span(), x_);
    update_residual();
    if (!std::isfinite(residual_.mantissa) || (met_target && residual_.value() > target_)) {
      fused::copy<T>(a_.device(), kept_.span(), x_);
      return false;
    }
    previous_error_ = estimate_.relative_error;
    ++estimate_.corrections;
    return true;
  }

  /// All solves together stay within the limits of the caller.
  [[nodiscard]] SolverOptions correction_options() const {
    SolverOptions options = options_;
    options.relative_tolerance = correction_tolerance;
    options.absolute_tolerance = 0.0;
    options.base = ResidualBase::b;
    options.max_iterations = std::max<std::int64_t>(1, options_.max_iterations - estimate_.iterations);
    options.time_limit_seconds = std::max(0.0, options_.time_limit_seconds - watch_.seconds());
    options.stagnation_window = 0;
    options.keep_history = false;
    return options;
  }

  const FusedOperator<T>& a_;
  const CorrectionSolver<T>& solve_;
  std::span<const T> b_;
  std::span<T> x_;
  double target_;
  const SolverOptions& options_;
  Stopwatch watch_;
  Array<T> r_;
  Array<T> d_;
  Array<T> kept_;  // x before the latest correction
  fused::ScaledNorm residual_;
  double previous_error_ = 0.0;
  ErrorEstimate estimate_;
};

}  // namespace

std::string_view to_string(ErrorGate gate) {
  switch (gate) {
    case ErrorGate::off:
      return "off";
    case ErrorGate::warn:
      return "warn";
    case ErrorGate::repair:
      return "repair";
  }
  return "unknown";
}

template <class T>
RowSurvey detail::survey_rows(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x,
                              const Device& device, const RowNoise<T>& noise) {
  require_length("b", b.size(), matrix.rows, "rows");
  require_length("x", x.size(), matrix.cols, "columns");
  if (matrix.rows == 0) return {.error = {.error_bound = 0.0}};
  if (is_out_of_reach(matrix, device)) {
    const Array<T> own_b = fused::to_host(device, b);
    const Array<T> own_x = fused::to_host(device, x);
    Array<T> own_noise(static_cast<std::int64_t>(noise.values.size()), Init::none);
    const RowSurvey found =
        survey_rows<T>(matrix, own_b.span(), own_x.span(), Device{}, {own_noise.span(), noise.mean, noise.draw});
    copy_bytes(device, noise.values.data(), Device{}, own_noise.data(), own_noise.bytes());
    return found;
  }
  int exponent = 0;
  BackwardErrorSums sums = backward_error_sums(matrix, b, x, device, exponent, noise);
  if (!is_finite(sums)) {
    // Sums may have overflowed: with small b and x they cannot.
    const double largest = std::max(fused::largest_magnitude(device, b), fused::largest_magnitude(device, x));
    if (std::isfinite(largest) && largest > 0.0) {
      exponent = -64 - std::ilogb(largest);
      sums = backward_error_sums(matrix, b, x, device, exponent, noise);
      if (!noise.values.empty()) static_cast<void>(fused::scale_by_power(device, noise.values, -exponent));
    }
  }
  const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  return {.error = {.componentwise = sums.ratio.value,
                    .attainable = std::ldexp(epsilon * sums.sizes.norm(), -exponent),
                    .rowwise = sums.rowwise.value,
                    .error_bound = std::ldexp(sums.bound.value, -exponent)},
          .spread = sums.spread.value,
          .is_l_matrix = sums.wrong_signs.value == 0.0,
          .ones_quotient = sums.of_ones.first / sums.of_ones.second};
}

template <class T>
BackwardError backward_error(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x,
                             const Device& device) {
  return survey_rows<T>(matrix, b, x, device).error;
}

std::string_view to_string(ErrorClaim claim) {
  switch (claim) {
    case ErrorClaim::unknown:
      return "unknown";
    case ErrorClaim::estimated:
      return "estimated";
    case ErrorClaim::bounded:
      return "bounded";
  }
  return "unknown";
}

std::string_view to_string(ErrorSource source) {
  switch (source) {
    case ErrorSource::none:
      return "none";
    case ErrorSource::dominance:
      return "dominance";
    case ErrorSource::iterations:
      return "iterations";
    case ErrorSource::probe:
      return "probe";
    case ErrorSource::correction:
      return "correction";
    case ErrorSource::factors:
      return "factors";
  }
  return "none";
}

int ErrorEstimate::digits() const noexcept {
  constexpr int all = std::numeric_limits<double>::digits10;
  if (!is_known() || !(relative_error < 1.0)) return 0;
  return relative_error <= 1e-15 ? all : static_cast<int>(std::floor(-std::log10(relative_error)));
}

template <class T>
ErrorEstimate estimate_error(const LinearOperator<T>& A, const CorrectionSolver<std::type_identity_t<T>>& solve,
                             std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                             double target, const SolverOptions& options, ErrorGate gate) {
  if (gate == ErrorGate::off) throw InvalidArgument("the gate of an error estimate is off: take warn or repair");
  if (!solve) throw InvalidArgument("an error estimate needs a solver for its corrections, got an empty function");
  if (A.rows() != A.cols()) {
    throw DimensionError(fmt::format("an error estimate needs a square operator, got {} x {}", A.rows(), A.cols()));
  }
  return ErrorGateRun<T>(*detail::fused_operator<T>(A), solve, b, x, target, options).run(gate);
}

bool is_backward_stable(const BackwardError& backward, const SolveReport& report, double epsilon) {
  constexpr double roundings = 45.0;  // 1e-14 in fp64
  constexpr double slack = 10.0;
  if (backward.componentwise <= roundings * epsilon) return true;
  return report.target < backward.attainable && report.true_residual <= slack * backward.attainable;
}

template RowSurvey detail::survey_rows(const CsrView<float>&, std::span<const float>, std::span<const float>,
                                       const Device&, const RowNoise<float>&);
template RowSurvey detail::survey_rows(const CsrView<double>&, std::span<const double>, std::span<const double>,
                                       const Device&, const RowNoise<double>&);
template RelativeError detail::error_size(const Device&, std::span<const float>, std::span<const float>);
template RelativeError detail::error_size(const Device&, std::span<const double>, std::span<const double>);
template BackwardError backward_error(const CsrView<float>&, std::span<const float>, std::span<const float>,
                                      const Device&);
template BackwardError backward_error(const CsrView<double>&, std::span<const double>, std::span<const double>,
                                      const Device&);
template ErrorEstimate estimate_error(const LinearOperator<float>&, const CorrectionSolver<float>&,
                                      std::span<const float>, std::span<float>, double, const SolverOptions&,
                                      ErrorGate);
template ErrorEstimate estimate_error(const LinearOperator<double>&, const CorrectionSolver<double>&,
                                      std::span<const double>, std::span<double>, double, const SolverOptions&,
                                      ErrorGate);

}  // namespace tessera
