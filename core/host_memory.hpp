/// \file
/// Memory of the host: caches and large pages. How much is free: available_host_memory_bytes() of tessera/device.hpp.
#pragma once

#include <cstdint>

namespace tessera {

/// A vector of this size mostly stays in a core's second-level cache.
inline constexpr std::uint64_t cached_vector_bytes = std::uint64_t{1} << 20;

namespace host {

/// Large buffers in large pages have fewer page faults when first written and fewer TLB misses afterwards.
inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// Memory of this size or more is worth huge pages: whole ones lie in it wherever it begins.
inline constexpr std::uint64_t huge_buffer_bytes = 2 * huge_page_bytes;

/// Asks the system to back freshly allocated memory by huge pages; less than huge_buffer_bytes, and systems without
/// such pages, are left as they are.
void prefer_huge_pages(void* data, std::uint64_t bytes) noexcept;

}  // namespace host

}  // namespace tessera
