#include "tessera/array.hpp"

#include "core/checked.hpp"
#include "core/huge_pages.hpp"
#include "core/parallel.hpp"

#include <cstring>
#include <new>

namespace tessera::detail {

namespace {

constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

/// Arrays of this size lie on huge pages where the system has them: random reads of x then seldom miss the TLB, and
/// hardware prefetchers, which stop at the end of a page, stop less often (bench/NOTES.md).
constexpr std::uint64_t huge_array_bytes = 2 * huge_page_bytes;

constexpr std::align_val_t alignment_of(std::uint64_t bytes) {
  return std::align_val_t{bytes >= huge_array_bytes ? huge_page_bytes : 64};
}

/// From this size on the system is asked what it has: it promises memory freely and kills the process later.
constexpr std::uint64_t ask_first_bytes = std::uint64_t{64} << 20;

void require_host(const Device& device) {
  if (!device.is_host()) throw DeviceUnavailable("no memory on " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

void* allocate_bytes(const Device& device, std::int64_t count, std::size_t element_bytes) {
  require_host(device);
  const auto bytes =
      checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(count), element_bytes, "array size in bytes");
  if (bytes >= ask_first_bytes) {
    const std::uint64_t available = available_host_memory_bytes();
    if (available != 0 && bytes > available) throw OutOfMemory(bytes, available, "array on the host");
  }
  void* data = ::operator new(bytes, alignment_of(bytes), std::nothrow);
  if (data == nullptr) throw OutOfMemory(bytes, available_host_memory_bytes(), "array on the host");
  host::prefer_huge_pages(data, bytes);
  return data;
}

void deallocate_bytes(const Device& /*device*/, void* data, std::uint64_t bytes) noexcept {
  ::operator delete(data, alignment_of(bytes));
}

void zero_bytes(const Device& device, void* data, std::uint64_t bytes) {
  require_host(device);
  host::parallel_for(device, static_cast<std::int64_t>(bytes), [data](host::Range range) {
    std::memset(static_cast<char*>(data) + range.begin, 0, static_cast<std::size_t>(range.size()));
  });
}

void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes) {
  require_host(to);
  require_host(from);
  host::parallel_for(to, static_cast<std::int64_t>(bytes), [=](host::Range range) {
    if (range.size() == 0) return;
    std::memcpy(static_cast<char*>(target) + range.begin, static_cast<const char*>(source) + range.begin,
                static_cast<std::size_t>(range.size()));
  });
}

}  // namespace tessera::detail
