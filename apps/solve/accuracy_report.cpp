// Accuracy of a solution in the summary, in a JSON document and in warnings.
#include "accuracy_report.hpp"

#include "summary_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string_view precision_name(const RunOutcome& outcome) {
  return outcome.precision == Precision::fp64 ? "fp64" : "fp32";
}

[[nodiscard]] std::string estimate_text(const ErrorEstimate& estimate) {
  const std::string cost = fmt::format("{}, {}", counted(estimate.iterations, "iteration"), time_text(estimate.ms));
  const std::string corrected =
      estimate.corrections == 0 ? "" : fmt::format("; x corrected {}", counted(estimate.corrections, "time"));
  if (!estimate.is_known()) {
    return fmt::format("unknown: nothing tells the error of x ({}){}", cost, corrected);
  }
  const std::string_view of = estimate.is_of_largest_entry ? " of the largest entry" : "";
  if (estimate.claim == ErrorClaim::bounded) {
    return fmt::format("bounded: every entry of x within {:.1e}{}, {}", estimate.relative_error, of,
                       counted(estimate.digits(), "digit"));
  }
  return fmt::format("estimated: relative error of x about {:.1e}{}, {} ({}){}", estimate.relative_error, of,
                     counted(estimate.digits(), "digit"), cost, corrected);
}

[[nodiscard]] Json estimate_json(const ErrorEstimate& estimate) {
  Json json;
  json["claim"] = to_string(estimate.claim);
  json["source"] = to_string(estimate.source);
  put_number(json, "relative_error", estimate.relative_error);
  json["norm"] = estimate.is_of_largest_entry ? "max" : "2";
  json["digits"] = estimate.digits();
  json["corrections"] = estimate.corrections;
  json["iterations"] = estimate.iterations;
  put_number(json, "ms", estimate.ms);
  return json;
}

}  // namespace

std::string backward_stable_text(const RunOutcome& outcome) {
  if (!outcome.accuracy.backward_stable) return {};
  return fmt::format("backward stable: the tolerance is unattainable in {}", precision_name(outcome));
}

std::string accuracy_lines(const RunOutcome& outcome) {
  std::string text;
  const BackwardError& backward = outcome.accuracy.backward;
  if (std::isfinite(backward.componentwise) && std::isfinite(backward.attainable)) {
    text += line("backward", fmt::format("componentwise {:.1e}, attainable residual {:.1e}", backward.componentwise,
                                         backward.attainable));
  }
  if (outcome.accuracy.estimate) text += line("estimate", estimate_text(*outcome.accuracy.estimate));
  if (outcome.error) {
    text += line("error", fmt::format("max |x - x_exact| = {:.2e}, relative {:.2e}   (right-hand side {})",
                                      outcome.error->largest, outcome.error->relative, outcome.rhs));
  }
  return text;
}

void put_accuracy(Json& result, const RunOutcome& outcome) {
  Json backward;
  put_number(backward, "componentwise", outcome.accuracy.backward.componentwise);
  put_number(backward, "rowwise", outcome.accuracy.backward.rowwise);
  put_number(backward, "attainable", outcome.accuracy.backward.attainable);
  backward["stable"] = outcome.accuracy.backward_stable;
  result["backward_error"] = std::move(backward);
  result["error_gate"] = to_string(outcome.error_gate);
  const auto& estimate = outcome.accuracy.estimate;
  result["error_estimate"] = estimate ? estimate_json(*estimate) : Json(nullptr);
  if (!outcome.error) return;
  put_number(result, "error_vs_known", outcome.error->largest);
  put_number(result, "relative_error_vs_known", outcome.error->relative);
}

void warn_about_accuracy(const RunOutcome& outcome, Warnings& warnings) {
  constexpr double large = 1e-3;
  const auto& estimate = outcome.accuracy.estimate;
  if (!estimate) return;
  const std::string_view although = outcome.report.converged() ? " although the residual met the tolerance" : "";
  constexpr double unsolved = 1e-4;
  if (!estimate->is_known()) {
    const double rowwise = outcome.accuracy.backward.rowwise;
    const std::string why =
        rowwise > unsolved
            ? fmt::format("a row is solved to {:.1g} of its size alone, as where rows differ by powers of ten", rowwise)
            : "no solve for a correction came far enough, as for a matrix that is nearly singular";
    warnings.push_back({"W016", fmt::format("nothing is known of the error of x{}: {}; --method direct or a stronger "
                                            "--precond may tell",
                                            although, why)});
  } else if (estimate->relative_error > large) {
    const std::string digits = estimate->digits() == 0 ? "no right digits" : counted(estimate->digits(), "right digit");
    warnings.push_back(
        {"W015",
         fmt::format("x has {}{}: its relative error is about {:.1g}; {}", digits, although, estimate->relative_error,
                     outcome.error_gate == ErrorGate::repair ? "a smaller --rtol or --method direct may help"
                                                             : "--error-gate repair corrects it if that helps")});
  }
}

}  // namespace tessera::cli
