// Memory that the system can still give, by its own account; large pages.
#include "core/host_memory.hpp"

#include "tessera/device.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

namespace tessera {

namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// The number a file begins with; nothing when there is none ("max" in a control group without limit).
std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::uint64_t left_of(std::uint64_t limit, std::uint64_t used) { return limit > used ? limit - used : 0; }

/// Free memory of the machine and what it can reclaim without swapping.
std::uint64_t machine_memory() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  while (meminfo >> key >> kib) {
    if (key == "MemAvailable:") return kib * 1024;
    meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return unlimited;
}

/// Containers: the limit of the control group (version 2) that is the root of what this process sees.
std::uint64_t control_group_memory() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  if (!limit) return unlimited;
  return left_of(*limit, number_in("/sys/fs/cgroup/memory.current").value_or(0));
}

/// ulimit -v
std::uint64_t address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return left_of(limit.rlim_cur, number_in("/proc/self/statm").value_or(0) * page_bytes);
}

}  // namespace

std::uint64_t available_host_memory_bytes() {
  const std::uint64_t least = std::min({machine_memory(), control_group_memory(), address_space()});
  return least == unlimited ? 0 : std::max<std::uint64_t>(least, 1);
}

void host::prefer_huge_pages(void* data, std::uint64_t bytes) noexcept {
  if (bytes < huge_buffer_bytes) return;
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = (reinterpret_cast<std::uintptr_t>(data) + page - 1) / page * page;
  const std::uintptr_t end = (reinterpret_cast<std::uintptr_t>(data) + bytes) / page * page;
  // Advice only: where it is refused, memory is as good as before.
  static_cast<void>(::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE));
}

}  // namespace tessera
