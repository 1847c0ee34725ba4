/// \file
/// The figures of a report, each from the documents that hold its numbers; empty where none does.
#pragma once

#include "report/document.hpp"

#include <string>
#include <vector>

namespace tessera::cli::report {

/// Documents with their names in the page.
struct Entry {
  const Document* document = nullptr;
  std::string label;
};

/// Residuals over iterations of all solves, relative to what their tolerance is relative to; changes of all rankings.
[[nodiscard]] std::string residual_figure(const std::vector<Entry>& entries);
[[nodiscard]] std::string change_figure(const std::vector<Entry>& entries);

/// Where the time went: a bar per document and the table of its parts.
[[nodiscard]] std::string time_figure(const std::vector<Entry>& entries);

/// The positions of the entries as an image.
[[nodiscard]] std::string spy_figure(const Json& document, const Json& matrix);
/// How many rows have how many entries.
[[nodiscard]] std::string row_length_table(const Json& matrix);

/// Rates of the products of all comparisons over their flops per byte, below the bandwidth of a copy.
[[nodiscard]] std::string roofline_figure(const std::vector<Entry>& entries);

}  // namespace tessera::cli::report
