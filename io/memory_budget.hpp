/// \file
/// Keeps a reader from going beyond what the caller or the machine allows.
#pragma once

#include <cstdint>

namespace tessera::io {

class MemoryBudget {
 public:
  /// \param limit_bytes 0 means what the machine has free at this moment (no limit when it does not tell)
  explicit MemoryBudget(std::uint64_t limit_bytes);

  /// Counts `bytes` as in use. \throws OutOfMemory naming `purpose` when they exceed what is left
  void reserve(std::uint64_t bytes, const char* purpose);
  /// Counts `bytes` that were reserved as free again.
  void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }
  [[nodiscard]] std::uint64_t left() const noexcept { return limit_ - used_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
};

}  // namespace tessera::io
