/// \file
/// Memory of the emulated device: a block of the heap per allocation, so that the address sanitizer sees accesses
/// beyond it. With that sanitizer, the host can access device memory only in calls of the runtime.
#pragma once

#include <cstddef>
#include <map>
#include <utility>

namespace tessera::emulator {

class DeviceMemory {
 public:
  static constexpr std::size_t total_bytes = std::size_t{1} << 30;

  /// Null when too little is left. Filled with ones (NaN, -1).
  [[nodiscard]] void* allocate(std::size_t bytes);
  /// \returns whether `data` had been allocated
  [[nodiscard]] bool release(void* data);
  [[nodiscard]] std::size_t free_bytes() const noexcept { return total_bytes - used_; }
  /// The allocation that holds an address, and its size; null for memory of the host.
  [[nodiscard]] std::pair<void*, std::size_t> find(const void* address) const;
  /// Whether all bytes from `address` on lie in one allocation, or none lies in any.
  [[nodiscard]] bool is_range(const void* address, std::size_t bytes) const;

  /// For kernels and copies.
  void open();
  void close();

 private:
  std::map<std::byte*, std::size_t> blocks_;
  std::size_t used_ = 0;
};

}  // namespace tessera::emulator
