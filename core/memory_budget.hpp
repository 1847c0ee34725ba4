/// \file
/// Keeps an operation within the memory that the caller or the machine allows.
#pragma once

#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tessera::detail {

/// Counts bytes and remembers the most that were held; allocates nothing itself.
class MemoryBudget {
 public:
  /// \param limit_bytes 0: what the machine has free at this moment, which also bounds a larger limit
  explicit MemoryBudget(std::uint64_t limit_bytes) : MemoryBudget(limit_bytes, available_host_memory_bytes()) {}

  /// \param limit_bytes 0: all that is available \param available_bytes 0: not known
  MemoryBudget(std::uint64_t limit_bytes, std::uint64_t available_bytes)
      : limit_(available_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : available_bytes) {
    if (limit_bytes != 0) limit_ = std::min(limit_, limit_bytes);
  }

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return limit_ - used_; }
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }
  [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept { return bytes <= left(); }

  /// Counts `bytes` as held. \throws OutOfMemory with all that would be held then, when it is more than the limit
  void reserve(std::uint64_t bytes, const char* purpose) {
    if (!fits(bytes)) throw OutOfMemory(used_ + bytes, limit_, purpose);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
  }
  void release(std::uint64_t bytes) noexcept { used_ -= bytes; }

 private:
  std::uint64_t limit_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t peak_ = 0;
};

/// Bytes of a CSR matrix. \param value_bytes per value, 0 for a pattern
[[nodiscard]] inline std::uint64_t csr_bytes(std::int64_t rows, std::int64_t nnz, std::size_t value_bytes) noexcept {
  return (static_cast<std::uint64_t>(rows) + 1) * sizeof(std::int64_t) +
         static_cast<std::uint64_t>(nnz) * (sizeof(std::int32_t) + value_bytes);
}

}  // namespace tessera::detail
