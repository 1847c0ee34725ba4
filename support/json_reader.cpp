#include "support/json_reader.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace tessera::support {

namespace {

/// nlohmann's text is "[json.exception.parse_error.101] parse error at line 2, column 3: what is wrong".
[[nodiscard]] std::string reason_of(const Json::parse_error& error) {
  const std::string text = error.what();
  const std::size_t place = text.find(": ");
  return "not JSON: " + (place == std::string::npos ? text : text.substr(place + 2));
}

/// Where a number stands first, outside of texts. \param text valid JSON as far as that
[[nodiscard]] std::size_t place_of_number(std::string_view text, std::string_view number) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!quoted && text.substr(i, number.size()) == number) return i;
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    }
  }
  return text.size();
}

[[nodiscard]] std::string read_file(const std::string& path) {
  const auto fail = [&](int number) {
    throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(number)));
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail(EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) fail(errno);
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) fail(EIO);
  return text.str();
}

}  // namespace

void refuse_json(const std::string& file, std::string_view text, std::size_t byte, const std::string& message) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw ParseError(file, line, static_cast<std::int64_t>(before.size() - line_start) + 1, message);
}

Json parse_json(const std::string& file, std::string_view text, const Json::parser_callback_t& watch) {
  try {
    return Json::parse(text, watch);
  } catch (const Json::parse_error& error) {
    refuse_json(file, text, error.byte == 0 ? 0 : error.byte - 1, reason_of(error));
  } catch (const Json::out_of_range& error) {  // "[json.exception.out_of_range.406] number overflow parsing '1e999'"
    const std::string what = error.what();
    const std::size_t number = what.find('\'') + 1;
    refuse_json(file, text, place_of_number(text, std::string_view(what).substr(number, what.rfind('\'') - number)),
                what.substr(what.find("] ") + 2));
  }
}

Json read_json(const std::string& path) { return parse_json(path, read_file(path)); }

}  // namespace tessera::support
