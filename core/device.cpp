#include "tessera/device.hpp"

#include "core/device_query.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <charconv>
#include <string>

namespace tessera {

namespace {

/// The CUDA backend answers device queries only: there are no kernels to run on a GPU yet.
constexpr bool has_cuda_kernels = false;

constexpr int max_threads = 4096;

int all_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
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
  if (!has_cuda_kernels) {
    throw DeviceUnavailable(fmt::format("device cuda:{} cannot be used: this version has no CUDA kernels", ordinal));
  }
  const CudaSurvey survey = survey_cuda();
  if (static_cast<std::size_t>(ordinal) >= survey.devices.size()) {
    throw DeviceUnavailable(fmt::format("device cuda:{} does not exist: {} found{}{}", ordinal, survey.devices.size(),
                                        survey.problem.empty() ? "" : "; ", survey.problem));
  }
  return {Kind::cuda, ordinal, 0};
}

Device Device::best() {
  if (has_cuda_kernels && !survey_cuda().devices.empty()) return cuda(0);
  return Device{};
}

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

CudaSurvey survey_cuda() { return cuda::survey(); }

}  // namespace tessera
