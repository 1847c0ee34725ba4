#include "tessera/device.hpp"

#include "core/cuda/device_query.hpp"
#include "core/cuda/memory.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <charconv>
#include <string>

namespace tessera {

namespace {

constexpr int max_threads = 4096;

int all_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Which GPUs there are does not change while a program runs.
const CudaSurvey& known_gpus() {
  static const CudaSurvey found = survey_cuda();
  return found;
}

}  // namespace

Device::Device() : Device(Kind::host, 0, all_threads()) {}

Device Device::host(int threads) {
  if (threads < 0 || threads > max_threads) {
    throw InvalidArgument(fmt::format("number of threads must be in [0, {}], got {}", max_threads, threads));
  }
  return threads == 0 ? Device{} : Device(Kind::host, 0, threads);
}

Device Device::cuda(int ordinal) {
  if (ordinal < 0) throw InvalidArgument(fmt::format("number of a GPU must not be negative, got {}", ordinal));
  const CudaSurvey& found = known_gpus();
  if (static_cast<std::size_t>(ordinal) >= found.devices.size()) {
    throw DeviceUnavailable(
        fmt::format("device cuda:{} cannot be used: {}", ordinal,
                    found.problem.empty() ? fmt::format("{} found", found.devices.size()) : found.problem));
  }
  const CudaDeviceInfo& gpu = found.devices[static_cast<std::size_t>(ordinal)];
  if (!gpu.has_machine_code) {
    throw DeviceUnavailable(
        fmt::format("device cuda:{} ({}, compute capability {}.{}) cannot be used: this build has no machine code for "
                    "it; configure with -DTESSERA_CUDA_ARCHITECTURES={}{}",
                    ordinal, gpu.name, gpu.compute_major, gpu.compute_minor, gpu.compute_major, gpu.compute_minor));
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

CudaSurvey survey_cuda() { return cuda::survey(); }

}  // namespace tessera
