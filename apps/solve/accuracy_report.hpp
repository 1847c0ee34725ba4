/// \file
/// Accuracy of a solution as text and as JSON: backward error, estimate of the forward error, known error.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"

#include <string>

namespace tessera::cli {

/// "backward stable: the tolerance is unattainable in fp64", for a solve that did not converge and is that good; else
/// empty.
[[nodiscard]] std::string backward_stable_text(const RunOutcome& outcome);

/// The lines backward, estimate and error of the summary; those that there are.
[[nodiscard]] std::string accuracy_lines(const RunOutcome& outcome);

/// Adds the same to the result of a document.
void put_accuracy(Json& result, const RunOutcome& outcome);

/// W015 where few digits of x hold, W016 where nothing is known of its error.
void warn_about_accuracy(const RunOutcome& outcome, Warnings& warnings);

}  // namespace tessera::cli
