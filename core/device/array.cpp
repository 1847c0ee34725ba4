#include "tessera/array.hpp"

#include "core/checked.hpp"
#include "core/cuda/memory.hpp"
#include "core/host_memory.hpp"
#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

namespace tessera::detail {

namespace {

using host::huge_page_bytes;

/// From this size on arrays lie on huge pages: random reads of x then seldom miss the TLB (bench/NOTES.md).
constexpr std::uint64_t huge_array_bytes = host::huge_buffer_bytes;

/// Large arrays begin at different offsets in their page. Otherwise entry i of all vectors of a loop would have the
/// same low address bits and compete for the same cache sets and memory banks: products were a fifth slower
/// (bench/NOTES.md).
constexpr std::uint64_t stagger_bytes = 4096 + 5 * 64;
constexpr std::uint64_t stagger_steps = 32;

std::uint64_t next_stagger() noexcept {
  static std::atomic<std::uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed) % stagger_steps * stagger_bytes;
}

constexpr std::align_val_t small_alignment{64};
constexpr std::align_val_t large_alignment{huge_page_bytes};

/// Null when there is no memory.
void* allocate_large(std::uint64_t bytes) noexcept {
  const std::uint64_t padded = bytes + stagger_steps * stagger_bytes;
  if (padded < bytes) return nullptr;
  void* page = ::operator new(padded, large_alignment, std::nothrow);
  if (page == nullptr) return nullptr;
  host::prefer_huge_pages(page, padded);
  return static_cast<char*>(page) + next_stagger();
}

void deallocate_large(void* data) noexcept {
  const std::uint64_t distance = reinterpret_cast<std::uintptr_t>(data) % huge_page_bytes;
  ::operator delete(static_cast<char*>(data) - distance, large_alignment);
}

static_assert(stagger_steps * stagger_bytes < huge_page_bytes);

/// From this size on the free memory is checked first: the system overcommits and would kill the process later.
constexpr std::uint64_t ask_first_bytes = std::uint64_t{64} << 20;

}  // namespace

void* allocate_bytes(const Device& device, std::int64_t count, std::size_t element_bytes) {
  const auto bytes =
      checked_multiply<std::uint64_t>(static_cast<std::uint64_t>(count), element_bytes, "array size in bytes");
  if (!device.is_host()) return cuda::allocate_bytes(device, bytes);
  if (bytes >= ask_first_bytes) {
    const std::uint64_t available = available_host_memory_bytes();
    if (available != 0 && bytes > available) throw OutOfMemory(bytes, available, "array on the host");
  }
  const bool large = bytes >= huge_array_bytes;
  void* data = large ? allocate_large(bytes) : ::operator new(bytes, small_alignment, std::nothrow);
  if (data == nullptr) throw OutOfMemory(bytes, available_host_memory_bytes(), "array on the host");
  return data;
}

void deallocate_bytes(const Device& device, void* data, std::uint64_t bytes) noexcept {
  if (!device.is_host()) {
    cuda::deallocate_bytes(device, data, bytes);
  } else if (bytes >= huge_array_bytes) {
    deallocate_large(data);
  } else {
    ::operator delete(data, small_alignment);
  }
}

namespace {

/// Calls body(first byte, bytes) on parts of an array, cut at multiples of 8. Small arrays stay on one thread, like all
/// loops of that length.
template <class Body>
void share_out_bytes(const Device& device, std::uint64_t bytes, const Body& body) {
  constexpr std::int64_t word = 8;
  const auto total = static_cast<std::int64_t>(bytes);
  host::parallel_for(device, (total + word - 1) / word, [&](host::Range range) {
    const std::int64_t begin = range.begin * word;
    const std::int64_t end = std::min(range.end * word, total);
    if (begin < end) body(begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

void zero_bytes(const Device& device, void* data, std::uint64_t bytes) {
  if (!device.is_host()) return cuda::zero_bytes(device, data, bytes);
  share_out_bytes(device, bytes, [data](std::int64_t begin, std::size_t size) {
    std::memset(static_cast<char*>(data) + begin, 0, size);
  });
}

void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes) {
  if (!to.is_host() || !from.is_host()) return cuda::copy_bytes(to, target, from, source, bytes);
  share_out_bytes(to, bytes, [=](std::int64_t begin, std::size_t size) {
    std::memcpy(static_cast<char*>(target) + begin, static_cast<const char*>(source) + begin, size);
  });
}

}  // namespace tessera::detail
