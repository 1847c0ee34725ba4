/// \file
/// Backward errors of a solution, an estimate of its forward error, and its repair.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace tessera {

/// What to do about a solution whose error may be large though its residual is small.
enum class ErrorGate {
  off,
  warn,    ///< estimate the forward error
  repair,  ///< and correct x while that helps, at most four times
};

[[nodiscard]] std::string_view to_string(ErrorGate gate);  ///< "off", "warn", "repair"

/// Backward errors of x, from one pass over A, or two where sums overflow. Not finite where A, b or x is not.
struct BackwardError {
  /// max_i |b - A x|_i / (|A| |x| + |b|)_i (W. Oettli, W. Prager, Numer. Math. 6, 1964): the smallest relative change
  /// of all entries of A and b for which x is exact. Rows with 0 / 0 do not count.
  double componentwise = 0.0;
  /// ε ‖ |A| |x| + |b| ‖₂, ε of the element type: the size of rounding errors of b - A x. A tolerance below it is
  /// reached by luck alone.
  double attainable = 0.0;
  /// max_i |b - A x|_i / (‖a_i‖₁ ‖x‖∞ + |b_i|): 1 where a row is not solved at all, however small its entries are.
  double rowwise = 0.0;
  /// Upper bound of ‖x - A⁻¹ b‖∞, rounding included: max_i |b - A x|_i / (|a_ii| - Σ_{j≠i} |a_ij|) (J. M. Varah, Linear
  /// Algebra Appl. 11, 1975). Infinity where a row is not strictly dominant.
  double error_bound = std::numeric_limits<double>::infinity();
};

/// Sums are in double for both element types.
/// \param matrix, b, x  on `device`; b has rows elements, x cols
/// \throws DimensionError for other sizes
template <class T>
[[nodiscard]] BackwardError backward_error(const CsrView<T>& matrix, std::span<const T> b, std::span<const T> x,
                                           const Device& device = Device{});

/// Whether x is as good as the precision allows: the componentwise backward error is that of rounding, or the residual
/// is as small as rounding leaves it though the tolerance asks for less. \param epsilon of the element type
[[nodiscard]] bool is_backward_stable(const BackwardError& backward, const SolveReport& report, double epsilon);

/// How much is known of the error of x.
enum class ErrorClaim : std::uint8_t {
  unknown,    ///< no digits: nothing that was tried told the error, or something contradicts what it told
  estimated,  ///< probes and solves for corrections found nothing worse
  bounded,    ///< an upper bound holds, rounding included
};

[[nodiscard]] std::string_view to_string(ErrorClaim claim);  ///< "unknown", "estimated", "bounded"

/// How an error was found.
enum class ErrorSource : std::uint8_t {
  none,
  dominance,   ///< strictly dominant rows
  iterations,  ///< M r and the condition number that iterations and constants met; a short probe found nothing worse
  probe,       ///< A d = r + noise, solved by the method
  correction,  ///< A d = r, solved by the method
  factors,     ///< A d = r, and noise of the size of rounding errors, solved by direct factors
};

/// "none", "dominance", "iterations", "probe", "correction", "factors".
[[nodiscard]] std::string_view to_string(ErrorSource source);

/// An error of x, and how much is known of it.
struct ErrorEstimate {
  ErrorClaim claim = ErrorClaim::unknown;
  ErrorSource source = ErrorSource::none;
  /// The larger one of ‖e‖₂ / ‖x‖₂ and ‖e‖∞ / ‖x‖∞, e the error of the x that is returned, as far as it is below 1; of
  /// dominance the latter. Infinite for x = 0; 0 where b - A x = 0.
  double relative_error = 0.0;
  bool is_of_largest_entry = false;  ///< it is ‖e‖∞ / ‖x‖∞
  int corrections = 0;               ///< that were added to x
  std::int64_t iterations = 0;       ///< of all solves for d
  double ms = 0.0;

  [[nodiscard]] bool is_known() const noexcept { return claim != ErrorClaim::unknown; }
  /// Leading digits that hold: floor(-log10(relative_error)), 0 to 15; 0 where nothing is known.
  [[nodiscard]] int digits() const noexcept;
};

/// Solves A d = r from d = 0 to the relative tolerance of the options, which are the gate's own.
template <class T>
using CorrectionSolver = std::function<SolveReport(std::span<const T> r, std::span<T> d, const SolverOptions& options)>;

/// Estimates the forward error of x by solves for corrections. The claim is `estimated` where the latest one reduced
/// its residual to a tenth. ErrorGate::repair adds a correction as long as ‖d‖ / ‖x‖ > 1e-6 and the one before was at
/// least twice as large, at most four times. Never makes the true residual miss `target` when it met it before: a
/// correction that would is undone. \param gate warn or repair \param target of ‖b - A x‖₂ \param options of the
/// original solve, whose observer is called too. All solves for d together stay within its
///        iterations and time; they have a tolerance of 1e-2 and the default window of stagnation
/// \throws InvalidArgument for ErrorGate::off and an empty `solve`, DimensionError for A that is not square; what
///         `solve` throws, with x unchanged by the latest correction
template <class T>
[[nodiscard]] ErrorEstimate estimate_error(const LinearOperator<T>& A,
                                           const CorrectionSolver<std::type_identity_t<T>>& solve,
                                           std::span<const std::type_identity_t<T>> b,
                                           std::span<std::type_identity_t<T>> x, double target,
                                           const SolverOptions& options, ErrorGate gate);

extern template BackwardError backward_error(const CsrView<float>&, std::span<const float>, std::span<const float>,
                                             const Device&);
extern template BackwardError backward_error(const CsrView<double>&, std::span<const double>, std::span<const double>,
                                             const Device&);
extern template ErrorEstimate estimate_error(const LinearOperator<float>&, const CorrectionSolver<float>&,
                                             std::span<const float>, std::span<float>, double, const SolverOptions&,
                                             ErrorGate);
extern template ErrorEstimate estimate_error(const LinearOperator<double>&, const CorrectionSolver<double>&,
                                             std::span<const double>, std::span<double>, double, const SolverOptions&,
                                             ErrorGate);

}  // namespace tessera
