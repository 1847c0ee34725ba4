/// \file
/// Which known name an unknown one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// The candidate that fewest insertions, deletions and replacements turn into `word`, if they are at most two; else
/// empty.
[[nodiscard]] std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'CANDIDATE'?", or empty text.
[[nodiscard]] std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tessera
