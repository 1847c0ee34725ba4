/// \file
/// Several right-hand sides in the summary and in a JSON document.
#pragma once

#include "outcome.hpp"
#include "report_json.hpp"

#include <cstddef>
#include <string>

namespace tessera::cli {

/// Line "columns" of the summary: how many ended how. Empty for one right-hand side.
[[nodiscard]] std::string columns_line(const RunOutcome& outcome);

/// A table of the columns, the worst ones first where there are many. Empty for one right-hand side.
/// \param width of the terminal; 0: none
[[nodiscard]] std::string columns_table(const RunOutcome& outcome, std::size_t width);

/// Key "columns"; null for one right-hand side.
[[nodiscard]] Json columns_json(const RunOutcome& outcome);

}  // namespace tessera::cli
