/// \file
/// Numbers as people write them: 1e-8, 1%, 300s, 5m, 8GiB.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::cli {

// Each returns nothing for text that is not wholly a number of its kind, or that overflows.

/// "1e-8", "0.5", "1%" (0.01). Infinity and NaN are not accepted.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A whole number >= 0: "10000", "1e6".
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text);

/// Seconds: "300", "300s", "5m", "2h", "500ms".
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

/// Bytes: "1000000", "8GiB", "500MB", "64KiB", "1TiB"; B, K, M, G, T alone mean powers of 1024.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace tessera::cli
