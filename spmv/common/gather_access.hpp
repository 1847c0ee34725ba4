/// \file
/// How a product reads x: along a few streams, as on meshes, or all over, as on graphs. Reads that the hardware cannot
/// foresee are asked for ahead of time, which costs instructions that a stream does not need.
#pragma once

#include "tessera/csr.hpp"

namespace tessera {

enum class GatherAccess {
  streamed,   ///< neighbours in the matrix read neighbours in x, or x fits a cache
  scattered,  ///< a good part of the reads goes to cache lines that the nonzeros around it do not touch
};

/// Nonzeros between a product and the request for its x. Far enough for memory's latency, near enough to stay in cache.
inline constexpr offset_t gather_distance = 48;

/// Share of distinct cache lines of x among the nonzeros of short rows, from a sample of at most 2^15 nonzeros; between
/// 0 and 1. Depends on the matrix alone. O(1)
template <class T>
[[nodiscard]] double sampled_line_share(const CsrView<T>& a);

/// Judges by the sample, and by whether x can stay in a cache. O(1)
template <class T>
[[nodiscard]] GatherAccess classify_gathers(const CsrView<T>& a);

}  // namespace tessera
