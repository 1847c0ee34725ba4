/// \file
/// --plot: a history of residuals as lines of text.
#pragma once

#include "tessera/report.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The residuals of the recurrence over the iterations, by their logarithm, as a curve of dots of Braille or of ASCII;
/// the target as a dotted line. A line of text where there is nothing to draw.
/// \param what the residual's name \param target 0 or NaN: none \param width of a line, at least 40
[[nodiscard]] std::string history_plot(const std::vector<HistoryEntry>& history, std::string_view what, double target,
                                       std::size_t width, bool is_utf8);

}  // namespace tessera::cli
