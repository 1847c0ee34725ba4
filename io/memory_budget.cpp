#include "io/memory_budget.hpp"

#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <limits>

namespace tessera::io {

namespace {

std::uint64_t machine_limit() {
  const std::uint64_t available = available_host_memory_bytes();
  return available == 0 ? std::numeric_limits<std::uint64_t>::max() : available;
}

}  // namespace

MemoryBudget::MemoryBudget(std::uint64_t limit_bytes) : limit_(limit_bytes == 0 ? machine_limit() : limit_bytes) {}

void MemoryBudget::reserve(std::uint64_t bytes, const char* purpose) {
  const std::uint64_t left = limit_ - used_;
  if (bytes > left) throw OutOfMemory(bytes, left, purpose);
  used_ += bytes;
}

}  // namespace tessera::io
