/// \file
/// Model of the processor, as Linux tells it.
#include "core/cpu_name.hpp"

#include <fstream>

namespace tessera::detail {

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(": \t", line.find(':'));
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "unknown";
}

}  // namespace tessera::detail
