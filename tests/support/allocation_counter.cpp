#include "tests/support/allocation_counter.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> live{0};
std::atomic<std::int64_t> peak{0};
/// Allocations before the one that fails; negative: none does.
std::atomic<std::int64_t> before_failure{-1};
/// Memory is filled, so that nothing finds what it left there before.
std::atomic<bool> fills{false};

[[nodiscard]] bool fails() noexcept {
  return before_failure.load(std::memory_order_relaxed) >= 0 &&
         before_failure.fetch_sub(1, std::memory_order_relaxed) == 0;
}

void* noted(void* memory) noexcept {
  if (memory == nullptr) return nullptr;
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto bytes = static_cast<std::int64_t>(::malloc_usable_size(memory));
  if (fills.load(std::memory_order_relaxed)) std::memset(memory, 0x7f, static_cast<std::size_t>(bytes));
  const std::int64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t most = peak.load(std::memory_order_relaxed);
  while (most < now && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void release(void* memory) noexcept {
  live.fetch_sub(static_cast<std::int64_t>(::malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

void* counted(std::size_t bytes) noexcept {
  if (fails()) return nullptr;
  return noted(std::malloc(bytes == 0 ? 1 : bytes));
}

void* counted(std::size_t bytes, std::align_val_t alignment) noexcept {
  if (fails()) return nullptr;
  const auto unit = static_cast<std::size_t>(alignment);
  // aligned_alloc wants a multiple of the alignment.
  return noted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit + (bytes == 0 ? unit : 0)));
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace tessera::testing {

std::int64_t allocation_count() noexcept { return allocations.load(); }
std::int64_t live_bytes() noexcept { return live.load(); }
std::int64_t peak_bytes() noexcept { return peak.load(); }
void forget_peak() noexcept { peak.store(live.load()); }
void fail_allocation(std::int64_t number) noexcept {
  fills.store(true);
  before_failure.store(number);
}
bool forgive_allocations() noexcept {
  fills.store(false);
  return before_failure.exchange(-1) < 0;
}

}  // namespace tessera::testing

void* operator new(std::size_t bytes) { return or_throw(counted(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(counted(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return or_throw(counted(bytes, alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return or_throw(counted(bytes, alignment)); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted(bytes, alignment);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
