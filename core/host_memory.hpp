/// \file
/// Memory of the host: caches and large pages. How much is free: available_host_memory_bytes() of tessera/device.hpp.
#pragma once

#include <cstdint>

namespace tessera {

/// A vector of this size mostly stays in the second-level cache of a core, so that random reads of x are cheap.
inline constexpr std::uint64_t cached_vector_bytes = std::uint64_t{1} << 20;

namespace host {

/// Large buffers in large pages have fewer page faults when first written and fewer TLB misses afterwards.
inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// From this size on memory contains whole huge pages, wherever it begins.
inline constexpr std::uint64_t huge_buffer_bytes = 2 * huge_page_bytes;

/// Asks the system to back freshly allocated memory by huge pages. Does nothing below huge_buffer_bytes and on systems
/// without huge pages.
void prefer_huge_pages(void* data, std::uint64_t bytes) noexcept;

}  // namespace host

}  // namespace tessera
