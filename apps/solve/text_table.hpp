/// \file
/// Tables as aligned text and as Markdown, and numbers short enough for them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::cli {

/// Heading of a column on two lines; the first column is aligned to the left, all others to the right.
struct Heading {
  std::string top;
  std::string bottom;
  int spare = 0;  ///< 0: always shown; of the others the largest is the first to go where a line is too short
};

struct TextTable {
  std::vector<Heading> columns;
  std::vector<std::vector<std::string>> rows;  ///< as many cells as there are columns
};

/// Columns as wide as they need to be, one blank between them, no blanks at line ends. Cells may hold UTF-8.
/// \param width of a line; columns that can be spared give way to it, and a last line names them. 0: no limit
[[nodiscard]] std::string aligned_text(const TextTable& table, std::size_t width = 0);

/// A table of GitHub's Markdown; bars and line breaks in cells are escaped.
[[nodiscard]] std::string markdown_text(const TextTable& table);

/// Three significant digits without an exponent where that is short: "4.32", "432", "0.0123", "1.2e-07".
[[nodiscard]] std::string short_number(double value);

}  // namespace tessera::cli
