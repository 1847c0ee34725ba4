/// \file
/// Words separated by commas, as --kernels and --solvers take them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The words in their order. \param option name without dashes, for messages
/// \throws UsageError for an empty word, a repeated one, and one that is not known (naming the nearest)
[[nodiscard]] std::vector<std::string> parse_word_list(std::string_view option, std::string_view text,
                                                       std::span<const std::string_view> known);

}  // namespace tessera::cli
