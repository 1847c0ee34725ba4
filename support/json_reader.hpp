/// \file
/// JSON as others wrote it: what is wrong is named with its line and column.
#pragma once

#include "support/json_text.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::support {

/// \param byte 0-based place in the text \throws ParseError always
[[noreturn]] void refuse_json(const std::string& file, std::string_view text, std::size_t byte,
                              const std::string& message);

/// \param file name of the text, for messages
/// \param watch called as nlohmann's parser does; may be empty
/// \throws ParseError with line and column, also for a number that no double holds; what `watch` throws
[[nodiscard]] Json parse_json(const std::string& file, std::string_view text,
                              const Json::parser_callback_t& watch = nullptr);

/// \throws IoError for a file that cannot be read; as parse_json()
[[nodiscard]] Json read_json(const std::string& path);

}  // namespace tessera::support
