/// \file
/// The speed of memory, measured: what vector operations and products get at best.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::support {

struct MemorySpeed {
  double bytes_per_second = 0.0;
  std::uint64_t working_set = 0;  ///< bytes that took part
  int threads = 0;
};

/// y += a x over and over for about 20 ms, the median of its rounds: two elements read and one written. As many bytes
/// take part as the work will hold, so that caches help as much: within 1 and 64 MiB.
/// \param working_set bytes of the work \param most_bytes that may be allocated; 0: no limit
/// \throws OutOfMemory
[[nodiscard]] MemorySpeed measure_memory_speed(std::uint64_t working_set, std::uint64_t most_bytes, const Device& host);

}  // namespace tessera::support
