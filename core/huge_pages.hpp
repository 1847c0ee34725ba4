/// \file
/// Large buffers in large pages: fewer page faults when they are first written, fewer TLB misses ever after.
#pragma once

#include <cstdint>

namespace tessera::host {

/// Asks the system to back large freshly allocated memory by large pages; small buffers, and systems without such
/// pages, are left as they are.
void prefer_huge_pages(void* data, std::uint64_t bytes) noexcept;

}  // namespace tessera::host
