#include "support/machine.hpp"

#include "core/cpu_name.hpp"
#include "tessera/error.hpp"

#include <fmt/chrono.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace tessera::support {

namespace {

/// Version of the kernel's driver, "580.95.05"; "unknown" where the system does not tell.
[[nodiscard]] std::string gpu_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) return word;
  }
  return "unknown";
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string cpu_name() { return detail::cpu_name(); }

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

std::string utc_now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

std::uint64_t memory_budget(std::uint64_t limit_bytes) {
  return limit_bytes != 0 ? limit_bytes : available_host_memory_bytes();
}

void require_memory(std::uint64_t limit_bytes, std::uint64_t resident_bytes, std::uint64_t needed_bytes,
                    const std::string& purpose) {
  const std::uint64_t budget = memory_budget(limit_bytes);
  const std::uint64_t needed = needed_bytes + (limit_bytes != 0 ? resident_bytes : 0);
  if (budget != 0 && needed > budget) throw OutOfMemory(needed, budget, purpose);
}

std::string cuda_version(int number) {
  if (number == 0) return "none";
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::optional<CudaDeviceInfo> gpu_info(const Device& device) {
  if (device.is_host()) return std::nullopt;
  for (const CudaDeviceInfo& gpu : survey_cuda(device.ordinal()).devices) {
    if (gpu.ordinal == device.ordinal()) return gpu;
  }
  return std::nullopt;
}

std::string gpu_name(const Device& device) {
  const auto gpu = gpu_info(device);
  return gpu ? gpu->name : std::string();
}

std::string threads_text(int count) { return count == 1 ? "1 thread" : fmt::format("{} threads", count); }

std::string device_text(const Device& device, const Device& host) {
  if (const auto gpu = gpu_info(device)) return fmt::format("{} ({})", device.name(), gpu->name);
  return fmt::format("{} with {} on {}", device.name(), threads_text(host.threads()), cpu_name());
}

Json gpu_json(const Device& device) {
  if (device.is_host()) return nullptr;
  const CudaSurvey survey = survey_cuda(device.ordinal());
  Json json{{"device", device.name()}};
  for (const CudaDeviceInfo& gpu : survey.devices) {
    if (gpu.ordinal != device.ordinal()) continue;
    json["name"] = gpu.name;
    json["sm"] = fmt::format("{}.{}", gpu.compute_major, gpu.compute_minor);
    json["multiprocessors"] = gpu.multiprocessors;
    json["mem_total_bytes"] = gpu.memory_total_bytes;
  }
  json["driver"] = gpu_driver();
  json["driver_cuda"] = cuda_version(survey.driver_version);
  json["runtime"] = cuda_version(survey.runtime_version);
  return json;
}

}  // namespace tessera::support
