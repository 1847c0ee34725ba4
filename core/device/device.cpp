#include "tessera/device.hpp"

#include "core/cuda/device_query.hpp"
#include "core/cuda/memory.hpp"
#include "core/thread_choice.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <string>

namespace tessera {

namespace {

constexpr int max_threads = 4096;

/// Facts about a GPU and the machine, cached for usable GPUs.
CudaSurvey known_gpu(int ordinal) {
  static std::mutex mutex;
  static std::map<int, CudaSurvey> usable;
  const std::scoped_lock lock(mutex);
  if (const auto known = usable.find(ordinal); known != usable.end()) return known->second;
  CudaSurvey found = survey_cuda(ordinal);
  for (const CudaDeviceInfo& gpu : found.devices) {
    if (gpu.ordinal == ordinal && gpu.has_machine_code) usable.emplace(ordinal, found);
  }
  return found;
}

/// Reason why a GPU that the survey does not list cannot be used.
std::string reason_for_absence(const CudaSurvey& found, int ordinal) {
  if (found.devices.empty()) return found.problem;
  const std::size_t count = found.devices.size();
  return fmt::format("there is no GPU {}: {} found, cuda:{}{}", ordinal,
                     count == 1 ? "1 GPU" : fmt::format("{} GPUs", count), found.devices.front().ordinal,
                     count == 1 ? "" : fmt::format(" to cuda:{}", found.devices.back().ordinal));
}

}  // namespace

Device::Device() : Device(Kind::host, 0, host::default_threads()) {}

Device Device::host(int threads) {
  if (threads < 0 || threads > max_threads) {
    throw InvalidArgument(fmt::format("number of threads must be in [0, {}], got {}", max_threads, threads));
  }
  return threads == 0 ? Device{} : Device(Kind::host, 0, threads);
}

Device Device::cuda(int ordinal) {
  if (ordinal < 0) throw InvalidArgument(fmt::format("number of a GPU must not be negative, got {}", ordinal));
  const CudaSurvey found = known_gpu(ordinal);
  const auto gpu = std::find_if(found.devices.begin(), found.devices.end(),
                                [ordinal](const CudaDeviceInfo& each) { return each.ordinal == ordinal; });
  if (gpu == found.devices.end()) {
    throw DeviceUnavailable(
        fmt::format("device cuda:{} cannot be used: {}", ordinal, reason_for_absence(found, ordinal)));
  }
  const std::string which = fmt::format("device cuda:{} ({}, compute capability {}.{}) cannot be used: ", ordinal,
                                        gpu->name, gpu->compute_major, gpu->compute_minor);
  if (!gpu->problem.empty()) throw DeviceUnavailable(which + gpu->problem);
  if (!gpu->has_machine_code) {
    throw DeviceUnavailable(
        fmt::format("{}this build has no machine code for it; configure with -DTESSERA_CUDA_ARCHITECTURES={}{}", which,
                    gpu->compute_major, gpu->compute_minor));
  }
  return {Kind::cuda, ordinal, 0};
}

Device Device::best() { return Device{}; }

Device Device::parse(std::string_view text) {
  if (text == "auto") return best();
  if (text == "host") return Device{};
  if (text == "cuda") return cuda(0);
  constexpr std::string_view prefix = "cuda:";
  if (text.starts_with(prefix)) {
    const std::string_view digits = text.substr(prefix.size());
    int ordinal = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc{} && end == digits.data() + digits.size() && ordinal >= 0) return cuda(ordinal);
  }
  throw InvalidArgument(fmt::format("unknown device \"{}\": expected auto, host, cuda or cuda:N", text));
}

std::string Device::name() const { return is_host() ? "host" : fmt::format("cuda:{}", ordinal_); }

void synchronize(const Device& device) {
  if (!device.is_host()) cuda::synchronize(device);
}

CudaSurvey survey_cuda(int ordinal) { return cuda::survey(ordinal); }

}  // namespace tessera
