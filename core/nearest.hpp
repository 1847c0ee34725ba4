/// \file
/// Which known name an unknown one was probably meant to be: the library's messages and the command say the same.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera {

/// The candidate that differs from `word` by the fewest typing errors, if they are few enough (one, or a third of the
/// letters); else the only candidate that begins with it; else empty.
[[nodiscard]] std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates);

/// A sentence of its own: "did you mean CANDIDATE?", or empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// The end of a message: "; did you mean 'CANDIDATE'?", or empty text.
[[nodiscard]] std::string nearest_hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace tessera
