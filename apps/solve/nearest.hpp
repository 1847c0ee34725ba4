/// \file
/// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tessera::cli {

/// The candidate that differs from `word` by the fewest typing errors, if they are few enough (one, or a third of the
/// letters); else the only candidate that begins with it; else empty.
[[nodiscard]] std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// "did you mean CANDIDATE?", or empty text.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace tessera::cli
