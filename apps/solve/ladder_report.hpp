/// \file
/// The ladder as text and as JSON.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"

#include "tessera/ladder.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

/// One line per rung that was tried, with its cost and why it was left; nothing where the first one solved the system.
[[nodiscard]] std::string ladder_lines(const RunOutcome& outcome);

/// The rungs that a matrix would get, a line each. \param given_up of BudgetedFacts
[[nodiscard]] std::string planned_ladder_lines(const LadderFacts& facts, const std::string& given_up);

/// "ladder" of a document of `solve run`; null for a run of one method with one preconditioner.
[[nodiscard]] Json ladder_json(const RunOutcome& outcome);

/// "ladder" of a document of `solve inspect`.
[[nodiscard]] Json planned_ladder_json(const LadderFacts& facts, const std::string& given_up);

/// W017 where the matrix is singular, W018 with the next command after a run that did not converge.
void warn_about_ladder(const RunOutcome& outcome, Warnings& warnings);

}  // namespace tessera::cli
