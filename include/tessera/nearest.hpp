/// \file
/// "Did you mean ...?" for unknown names, in messages of the library and of the command.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// The candidate with the smallest edit distance from `word`, if that is at most one or a third of the letters; else
/// the only candidate that begins with `word`; else empty.
[[nodiscard]] std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// A separate sentence: "did you mean CANDIDATE?", or empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// The end of a message: "; did you mean 'CANDIDATE'?", or empty text.
[[nodiscard]] std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tessera
