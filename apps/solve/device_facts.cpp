#include "device_facts.hpp"

#include "machine.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace tessera::cli {

namespace {

[[nodiscard]] std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

}  // namespace

std::string cuda_version(int number) {
  if (number == 0) return "none";
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

std::string gpu_driver() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const std::string& word : words_of(line)) {
    if (is_digit(word.front()) && word.find('.') != std::string::npos) return word;
  }
  return "unknown";
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

std::string device_text(const Device& device, const Device& host) {
  if (const auto gpu = gpu_info(device)) return fmt::format("{} ({})", device.name(), gpu->name);
  return fmt::format("{} with {} threads on {}", device.name(), host.threads(), cpu_name());
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

}  // namespace tessera::cli
