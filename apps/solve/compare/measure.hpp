/// \file
/// What timing needs besides the protocol of tessera/timing.hpp: caches that are cold, and a yardstick.
#pragma once

#include "tessera/timing.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace tessera::cli {

/// Bytes of the largest cache; 64 MiB where the system does not tell.
[[nodiscard]] std::uint64_t last_level_cache_bytes();

/// Evicts what the caches hold by writing a buffer of twice the last-level cache with all threads.
class CacheFlusher {
 public:
  explicit CacheFlusher(int threads);
  [[nodiscard]] static std::uint64_t bytes();
  void operator()();

 private:
  int threads_;
  std::uint64_t pass_ = 0;
  std::vector<std::uint64_t> buffer_;
};

/// Copies between two arrays, so that as many bytes are moved as a product has to move at least (up to 512 MiB).
class CopyYardstick {
 public:
  CopyYardstick(std::uint64_t bytes, int threads);
  [[nodiscard]] static std::uint64_t capped(std::uint64_t bytes);
  /// Read and written by one call.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return 2 * sizeof(std::uint64_t) * source_.size(); }
  void operator()();

 private:
  int threads_;
  std::vector<std::uint64_t> source_;
  std::vector<std::uint64_t> target_;
};

}  // namespace tessera::cli
