/// \file
/// Integers of a Matrix Market file that the type of the values rounds.
#pragma once

#include "io/matrix_market_header.hpp"
#include "tessera/matrix_market.hpp"

#include <optional>
#include <span>

namespace tessera::io {

/// The first of them in the file, if there is one. O(values), and O(text) where a value is large enough.
/// \param document whose data lines have all been read without a fault
/// \param values   those of the data lines, in their order
template <class T>
[[nodiscard]] std::optional<RoundedInteger> first_rounded_integer(const Document& document, const ParsedHeader& parsed,
                                                                  std::span<const T> values);

extern template std::optional<RoundedInteger> first_rounded_integer(const Document&, const ParsedHeader&,
                                                                    std::span<const float>);
extern template std::optional<RoundedInteger> first_rounded_integer(const Document&, const ParsedHeader&,
                                                                    std::span<const double>);

}  // namespace tessera::io
