/// \file
/// Index types used throughout Tessera.
#pragma once

#include <cstdint>

namespace tessera {

/// Row and column index, 0-based. A matrix has at most 2^31 - 1 rows and as many columns.
using index_t = std::int32_t;

/// Position in the nonzero arrays and count of nonzeros: 64 bits, so that a matrix may hold more than 2^31 of them.
using offset_t = std::int64_t;

}  // namespace tessera
