#include "tests/emulator/device_memory.hpp"

#include <cstdlib>
#include <cstring>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes) (static_cast<void>(data), static_cast<void>(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes) (static_cast<void>(data), static_cast<void>(bytes))
#endif

namespace tessera::emulator {

namespace {

constexpr std::size_t alignment = 256;
constexpr int unwritten = 0xff;

}  // namespace

void* DeviceMemory::allocate(std::size_t bytes) {
  void* data = nullptr;
  if (bytes > free_bytes() || posix_memalign(&data, alignment, bytes) != 0) return nullptr;
  std::memset(data, unwritten, bytes);
  ASAN_POISON_MEMORY_REGION(data, bytes);
  blocks_.emplace(static_cast<std::byte*>(data), bytes);
  used_ += bytes;
  return data;
}

bool DeviceMemory::release(void* data) {
  const auto found = blocks_.find(static_cast<std::byte*>(data));
  if (found == blocks_.end()) return false;
  used_ -= found->second;
  ASAN_UNPOISON_MEMORY_REGION(data, found->second);
  blocks_.erase(found);
  std::free(data);
  return true;
}

std::pair<void*, std::size_t> DeviceMemory::find(const void* address) const {
  auto after = blocks_.upper_bound(static_cast<std::byte*>(const_cast<void*>(address)));
  if (after == blocks_.begin()) return {};
  --after;
  const bool inside = static_cast<const std::byte*>(address) < after->first + after->second;
  return inside ? std::pair<void*, std::size_t>(after->first, after->second) : std::pair<void*, std::size_t>();
}

bool DeviceMemory::is_range(const void* address, std::size_t bytes) const {
  const auto [block, size] = find(address);
  const auto* const first = static_cast<const std::byte*>(address);
  if (block != nullptr) return first + bytes <= static_cast<std::byte*>(block) + size;
  const auto next = blocks_.lower_bound(static_cast<std::byte*>(const_cast<void*>(address)));
  return next == blocks_.end() || first + bytes <= next->first;
}

void DeviceMemory::open() {
  for (const auto& [data, bytes] : blocks_) ASAN_UNPOISON_MEMORY_REGION(data, bytes);
}

void DeviceMemory::close() {
  for (const auto& [data, bytes] : blocks_) ASAN_POISON_MEMORY_REGION(data, bytes);
}

}  // namespace tessera::emulator
