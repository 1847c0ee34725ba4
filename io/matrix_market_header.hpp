/// \file
/// The first line and the size line of a Matrix Market file.
#pragma once

#include "io/document.hpp"
#include "tessera/matrix_market.hpp"

#include <cstdint>

namespace tessera::io {

struct ParsedHeader {
  MatrixMarketHeader header;
  const char* size_line = nullptr;  ///< first character of the first size
  const char* body = nullptr;       ///< end of the size line
};

/// Whether text starts as a Matrix Market file does.
[[nodiscard]] bool has_banner(const Document& document);

/// \throws ParseError
[[nodiscard]] ParsedHeader parse_header(const Document& document);

}  // namespace tessera::io
