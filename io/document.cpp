#include "io/document.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::io {

void fail_at(const Document& document, const char* where, const std::string& message) {
  const char* line = where;
  while (line > document.begin() && line[-1] != '\n') --line;
  throw ParseError(document.name, line_number(document, where), where - line + 1, message);
}

std::int64_t line_number(const Document& document, const char* where) {
  return 1 + std::count(document.begin(), where, '\n');
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "\"";
  for (const char c : text.substr(0, longest)) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (c == '\t' || (c >= ' ' && c <= '~')) {
      result += c == '\t' ? ' ' : c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (text.size() > longest ? "...\"" : "\"");
}

}  // namespace tessera::io
