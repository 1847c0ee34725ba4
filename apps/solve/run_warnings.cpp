// Warnings of a solve, and of a product of matrices.
#include "run_warnings.hpp"

#include "accuracy_report.hpp"
#include "ladder_report.hpp"
#include "precond_report.hpp"
#include "problem.hpp"
#include "summary_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>

namespace tessera::cli {

namespace {

/// A tolerance below the rounding errors is reached only by luck.
void warn_of_precision(const RunOutcome& outcome, Warnings& warnings) {
  const bool single = outcome.precision == Precision::fp32;
  const double resolved =
      single ? static_cast<double>(std::numeric_limits<float>::epsilon()) : std::numeric_limits<double>::epsilon();
  if (outcome.relative_tolerance >= resolved || outcome.absolute_tolerance > 0.0) return;
  warnings.push_back({"W010", fmt::format("--rtol {:g} asks for more than {} resolves, which is about {:.1e} of ||b||",
                                          outcome.relative_tolerance, single ? "fp32" : "fp64", resolved)});
}

/// What to try after an end without convergence. Nothing helps a backward stable solution.
void warn_of_ending(const RunOutcome& outcome, Warnings& warnings) {
  const SolveReport& report = outcome.report;
  if (report.breakdown == Breakdown::indefinite && outcome.method == "cg") {
    warnings.push_back({"W004", "cg needs a positive definite matrix; try --method bicgstab"});
  }
  if (outcome.accuracy.backward_stable) return;
  if (report.status == Status::stagnated && outcome.next_command.empty()) {
    warnings.push_back({"W005",
                        "the residual no longer falls: another --precond or --method may help, or --rtol asks "
                        "for more than this matrix gives in this precision"});
  }
  if (report.status == Status::max_iterations || report.status == Status::time_limit) {
    warnings.push_back(
        {"W006",
         "iteration or time limit reached before convergence: raise --max-iters or --max-time, or loosen --rtol"});
  }
}

}  // namespace

void warn_about_unused(const RunSettings& settings, Method method, Warnings& warnings) {
  const auto warn = [&](std::string_view option, Method owner) {
    if (method == owner) return;
    warnings.push_back({"W008", fmt::format("--{} belongs to {} and has no effect: {} was chosen", option,
                                            support::to_string(owner), support::to_string(method))});
  };
  if (settings.shadow_given) warn("shadow", Method::bicgstab);
  if (settings.restart_given) warn("restart", Method::gmres);
}

void warn_about_streaming(const CommonOutcome& outcome, Warnings& warnings) {
  const std::optional<StreamInfo>& stream = outcome.plan.stream;
  if (!stream || stream->bytes_per_product == 0) return;
  warnings.push_back(
      {"W031", fmt::format("{} of the matrix cross the bus to {} for every product, about {} each at {:.3g} GB/s: the "
                           "matrix does not fit there; a larger GPU, --precision fp32 or the host may be faster",
                           size_text(stream->bytes_per_product), outcome.device.name(), time_text(stream->predicted_ms),
                           1e-9 * stream->bytes_per_second)});
}

void warn_about_run(const RunOutcome& outcome, Warnings& warnings) {
  const SolveReport& report = outcome.report;
  warn_about_cache(outcome, warnings);
  warn_about_streaming(outcome, warnings);
  warn_about_precond(outcome.precond, outcome.method, warnings);
  warn_of_precision(outcome, warnings);
  warn_about_duplicates(outcome, warnings);
  warn_about_rounding(outcome, warnings);
  if (outcome.pattern) {
    warnings.push_back({"W002", fmt::format("{} has no values: every nonzero counts as 1", outcome.problem)});
  }
  if (report.converged() && report.b_norm == 0.0 && outcome.matrix.rows > 0) {
    warnings.push_back({"W003", fmt::format("the right-hand side {} is zero, so x = 0 solves the system; -b Arandom "
                                            "asks for more",
                                            outcome.rhs)});
  }
  if (outcome.rhs_replaced) warn_about_replaced_rhs(warnings);
  warn_of_ending(outcome, warnings);
  warn_about_accuracy(outcome, warnings);
  warn_about_ladder(outcome, warnings);
}

template <class T>
void OverflowCount<T>::add(const CsrView<T>& slice, index_t first_row) {
  const auto has_overflowed = [](T value) { return !std::isfinite(value); };
  const auto begin = std::find_if(slice.values.begin(), slice.values.end(), has_overflowed);
  if (begin == slice.values.end()) return;
  if (values == 0) {
    const offset_t k = begin - slice.values.begin();
    const auto after = std::upper_bound(slice.row_offsets.begin(), slice.row_offsets.end(), k);
    row = first_row + (after - slice.row_offsets.begin());
    column = std::int64_t{slice.columns[static_cast<std::size_t>(k)]} + 1;
    first = *begin;
  }
  values += std::count_if(begin, slice.values.end(), has_overflowed);
}

template <class T>
void OverflowCount<T>::warn(Warnings& warnings) const {
  if (values == 0) return;
  warnings.push_back(
      {"W026",
       fmt::format("{} of the product overflowed in {}, the first in row {}, column {} (counted from 1): {}; the "
                   "factors are finite, so scale them down",
                   counted(values, "value"), std::is_same_v<T, double> ? "fp64" : "fp32", row, column, first)});
}

template struct OverflowCount<float>;
template struct OverflowCount<double>;

}  // namespace tessera::cli
