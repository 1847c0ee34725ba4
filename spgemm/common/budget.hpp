/// \file
/// Memory budget of a product: refuses what exceeds the limit, and records the peak.
#pragma once

#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tessera {

/// Counts bytes; allocates nothing itself.
class SpgemmBudget {
 public:
  /// \param limit_bytes 0: what the machine has free at this moment, which also bounds a larger limit
  explicit SpgemmBudget(std::uint64_t limit_bytes) : SpgemmBudget(limit_bytes, available_host_memory_bytes()) {}

  /// \param limit_bytes 0: all that is available \param available_bytes 0: not known
  SpgemmBudget(std::uint64_t limit_bytes, std::uint64_t available_bytes)
      : limit_(available_bytes == 0 ? std::numeric_limits<std::uint64_t>::max() : available_bytes) {
    if (limit_bytes != 0) limit_ = std::min(limit_, limit_bytes);
  }

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_; }
  [[nodiscard]] bool fits(std::uint64_t bytes) const noexcept { return used_ <= limit_ && bytes <= limit_ - used_; }

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

/// Bytes of a CSR matrix. \param value_bytes of a value, 0 for a pattern
[[nodiscard]] inline std::uint64_t csr_bytes(std::int64_t rows, std::int64_t nnz, std::size_t value_bytes) noexcept {
  return (static_cast<std::uint64_t>(rows) + 1) * sizeof(std::int64_t) +
         static_cast<std::uint64_t>(nnz) * (sizeof(std::int32_t) + value_bytes);
}

}  // namespace tessera
