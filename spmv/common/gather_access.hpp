/// \file
/// Access pattern of a product to x: along a few streams, as on meshes, or scattered, as on graphs. Scattered reads are
/// prefetched by software, since the hardware cannot predict them; streams do not need these instructions.
#pragma once

#include "tessera/csr.hpp"

namespace tessera::detail {

enum class GatherAccess {
  streamed,   ///< neighbours in the matrix read neighbours in x, or x fits a cache
  scattered,  ///< many reads go to cache lines that neighbouring nonzeros do not touch
};

/// Nonzeros between a prefetch and its use: enough to hide the latency of memory, few enough to stay in cache.
inline constexpr offset_t gather_distance = 48;

/// Distinct cache lines of x per nonzero of short rows, from a sample of at most 2^15 nonzeros; between 0 and 1.
/// Depends on the matrix alone. O(1)
template <class T>
[[nodiscard]] double sampled_line_share(const CsrView<T>& a);

/// Decides by the sample, and by whether x fits a cache. O(1)
template <class T>
[[nodiscard]] GatherAccess classify_gathers(const CsrView<T>& a);

}  // namespace tessera::detail
