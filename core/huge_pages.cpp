#include "core/huge_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace tessera::host {

void prefer_huge_pages(void* data, std::uint64_t bytes) noexcept {
  if (bytes < huge_buffer_bytes) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  // Advice only: where it is refused, memory is as good as before.
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

}  // namespace tessera::host
