/// \file
/// How much a processor keeps close by: what decides whether reading x at random is dear.
#pragma once

#include <cstdint>

namespace tessera {

/// A vector of this size mostly stays in a core's second-level cache.
inline constexpr std::uint64_t cached_vector_bytes = std::uint64_t{1} << 20;

}  // namespace tessera
