/// \file
/// HTML of a report: text escaped, numbers short for the eye and in full for programs, tables, facts, figures.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli::report {

/// As text or in an attribute: & < > " ' by their names, control characters replaced.
[[nodiscard]] std::string escaped(std::string_view text);

/// <data value="0.0123456">0.0123</data>: `shown` for the eye, the number as the document has it. A dash for NaN.
[[nodiscard]] std::string number(double value, std::string_view shown);
/// Three digits.
[[nodiscard]] std::string number(double value);
/// A count with its thousands apart, as text.
[[nodiscard]] std::string grouped(double value);
/// The same of a number that a document holds.
[[nodiscard]] std::string count(double value);
/// "4.87e-07".
[[nodiscard]] std::string residual(double value);
/// "12.3 ms" of milliseconds, "1.21 MiB" of bytes.
[[nodiscard]] std::string time(double milliseconds);
[[nodiscard]] std::string size(double bytes);

struct Table {
  std::string caption;                         ///< text
  std::vector<std::string> headings;           ///< HTML
  std::vector<std::vector<std::string>> rows;  ///< HTML
  std::size_t text_columns = 1;                ///< that many are aligned to the left, the others to the right
  bool last_is_text = false;                   ///< and so is the last
};

[[nodiscard]] std::string html(const Table& table);

/// Terms and what they are, as HTML; those without a value are left out.
using Facts = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] std::string html(const Facts& facts);

/// A drawing, what it shows, and its numbers for those who do not see it or want them.
/// \param caption HTML \param data a table, may be empty
[[nodiscard]] std::string figure(const std::string& drawing, const std::string& caption, const std::string& data);

/// A length from 0 to `most` in a cell of a table.
[[nodiscard]] std::string bar(double length, double most);

/// Nothing where the body is empty. \param title text
[[nodiscard]] std::string section(std::string_view title, const std::string& body);

}  // namespace tessera::cli::report
