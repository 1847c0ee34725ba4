/// \file
/// Large buffers in large pages: fewer page faults when they are first written, fewer TLB misses ever after.
#pragma once

#include <cstdint>

namespace tessera::host {

inline constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// Memory of this size or more is worth huge pages: whole ones lie in it wherever it begins.
inline constexpr std::uint64_t huge_buffer_bytes = 2 * huge_page_bytes;

/// Asks the system to back freshly allocated memory by huge pages; less than huge_buffer_bytes, and systems without
/// such pages, are left as they are.
void prefer_huge_pages(void* data, std::uint64_t bytes) noexcept;

}  // namespace tessera::host
