/// \file
/// Text with the name under which its errors are reported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::io {

struct Document {
  std::string_view text;
  std::string name;

  [[nodiscard]] const char* begin() const noexcept { return text.data(); }
  [[nodiscard]] const char* end() const noexcept { return text.data() + text.size(); }
};

/// \throws ParseError for the line and column of `where`, which lies in the document's text or at its end
[[noreturn]] void fail_at(const Document& document, const char* where, const std::string& message);

/// 1-based number of the line that holds `where`.
[[nodiscard]] std::int64_t line_number(const Document& document, const char* where);

/// Text for a message: in double quotes, cut when long, with control and non-ASCII bytes as \xNN.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace tessera::io
