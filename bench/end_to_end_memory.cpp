// Peak memory of a row of bench_end_to_end: resident size of the process, and the library's pool on a GPU.
#include "bench/end_to_end.hpp"

#include <malloc.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tessera::bench {

namespace {

/// A line of /proc/self/status in bytes: "VmRSS:", "VmHWM:"; 0 where there is none.
[[nodiscard]] std::uint64_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kib = 0;
    if (word == key && status >> kib) return kib * 1024;
  }
  return 0;
}

/// Gives freed memory back to the system, and forgets the peak so far.
void reset_resident_peak() {
  ::malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5\n";
}

[[nodiscard]] std::uint64_t above(std::uint64_t now, std::uint64_t before) { return std::max(now, before) - before; }

}  // namespace

MemoryWatch::MemoryWatch(const Device& device) : device_(device) {
  if (!device_.is_host()) {
    const DeviceMemory memory = device_memory(device_, true);
    held_ = memory.held;
    outside_ = memory.outside;
  }
  reset_resident_peak();
  resident_ = status_bytes("VmRSS:");
}

Json MemoryWatch::figures() const {
  const std::uint64_t peak = status_bytes("VmHWM:");
  ::malloc_trim(0);
  Json json{{"host_peak_bytes", above(peak, resident_)},
            {"host_left_bytes", above(status_bytes("VmRSS:"), resident_)},
            {"device_peak_bytes", nullptr},
            {"device_left_bytes", nullptr}};
  if (device_.is_host()) return json;
  const DeviceMemory memory = device_memory(device_, false);
  const std::uint64_t outside = above(memory.outside, outside_);
  json["device_peak_bytes"] = above(memory.peak, held_) + outside;
  json["device_left_bytes"] = above(memory.held, held_) + outside;
  return json;
}

}  // namespace tessera::bench
