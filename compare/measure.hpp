/// \file
/// What timing of products needs besides the protocol of timing.hpp: cold caches, and the bandwidth of a copy.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::compare {

/// Bytes of the largest cache of a device; 64 MiB where the system does not tell.
[[nodiscard]] std::uint64_t last_level_cache_bytes(const Device& device);

/// Evicts what the caches of a device hold by writing a buffer of twice the largest, on the host with all threads.
class CacheFlusher {
 public:
  explicit CacheFlusher(const Device& device);
  [[nodiscard]] static std::uint64_t bytes(const Device& device);
  void operator()();

 private:
  std::uint64_t pass_ = 0;
  Array<std::uint64_t> buffer_;
};

/// The bandwidth of a plain copy: moves `bytes` between two arrays on a device (at most 512 MiB on the host).
class CopyYardstick {
 public:
  CopyYardstick(std::uint64_t bytes, const Device& device);
  [[nodiscard]] static std::uint64_t capped(std::uint64_t bytes, const Device& device);
  /// Read and written by one call.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return 2 * source_.bytes(); }
  void operator()();

 private:
  Array<std::uint64_t> source_;
  Array<std::uint64_t> target_;
};

}  // namespace tessera::compare
