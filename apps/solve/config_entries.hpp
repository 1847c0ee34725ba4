/// \file
/// Reads the keys and values of a configuration file, whatever they mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct ConfigEntry {
  enum class Type { boolean, number, string, other };

  std::string key;
  std::string text;  ///< as it would be typed after the option; of Type::other what it is: "a table"
  Type type = Type::string;
  std::string place;  ///< "run.toml:3"; the file alone where the line is not known
};

/// Shortest text that reads back as the same double; whole numbers in digits.
[[nodiscard]] std::string number_text(double value);

/// \param text contents of the file
/// \throws ParseError with line and column
[[nodiscard]] std::vector<ConfigEntry> toml_entries(const std::string& file, std::string_view text);

/// The members of an object; of a document with a "schema", those of its "config" that are not defaults.
/// \throws ParseError with line and column; also for a key that occurs twice
[[nodiscard]] std::vector<ConfigEntry> json_entries(const std::string& file, std::string_view text);

}  // namespace tessera::cli
