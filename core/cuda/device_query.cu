#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/device_query.hpp"

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace tessera::cuda {

namespace {

/// Whether a query succeeded. The first failure is recorded; the runtime's error state is cleared.
bool succeeded(cudaError_t code, const char* question, CudaSurvey& survey) {
  if (code == cudaSuccess) return true;
  if (survey.problem.empty()) survey.problem = std::string(question) + ": " + cudaGetErrorString(code);
  static_cast<void>(cudaGetLastError());
  return false;
}

/// Queried, never launched: its attributes exist only where this build has machine code for the GPU.
__global__ void probe_kernel() {}

bool means_no_machine_code(cudaError_t code) {
  return code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction ||
         code == cudaErrorUnsupportedPtxVersion;
}

/// Queries that need a context on the current device.
cudaError_t look_into(CudaDeviceInfo& gpu) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const cudaError_t memory = cudaMemGetInfo(&free_bytes, &total_bytes);
  if (memory != cudaSuccess) return memory;
  gpu.memory_free_bytes = free_bytes;
  cudaFuncAttributes attributes{};
  const cudaError_t probe = cudaFuncGetAttributes(&attributes, probe_kernel);
  gpu.has_machine_code = probe == cudaSuccess;
  return means_no_machine_code(probe) ? cudaSuccess : probe;
}

/// Fills in free memory and machine code. Restores the current device of the caller.
void look_into_device(CudaDeviceInfo& gpu) {
  int previous = 0;
  cudaError_t code = cudaGetDevice(&previous);
  if (code == cudaSuccess) code = cudaSetDevice(gpu.ordinal);
  if (code == cudaSuccess) code = look_into(gpu);
  if (code != cudaSuccess) gpu.problem = cudaGetErrorString(code);
  static_cast<void>(cudaSetDevice(previous));
  static_cast<void>(cudaGetLastError());
}

}  // namespace

CudaSurvey survey(int ordinal) {
  CudaSurvey result;
  result.compiled_in = true;
  int count = 0;
  if (!succeeded(cudaRuntimeGetVersion(&result.runtime_version), "runtime version", result)) return result;
  if (!succeeded(cudaDriverGetVersion(&result.driver_version), "driver version", result)) return result;
  if (result.driver_version == 0) {
    result.problem = "no NVIDIA driver is installed";
    return result;
  }
  if (!succeeded(cudaGetDeviceCount(&count), "number of devices", result)) return result;
  if (count == 0) result.problem = "the driver sees no GPU";
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (!succeeded(cudaGetDeviceProperties(&properties, i), "device properties", result)) continue;
    CudaDeviceInfo gpu{i,
                       properties.name,
                       properties.major,
                       properties.minor,
                       properties.multiProcessorCount,
                       properties.totalGlobalMem,
                       0,
                       static_cast<std::uint64_t>(properties.l2CacheSize),
                       false,
                       {}};
    if (ordinal < 0 || ordinal == i) look_into_device(gpu);
    result.devices.push_back(std::move(gpu));
  }
  return result;
}

namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }

  void record(const Context& context) { check(cudaEventRecord(event_, context.stream()), "recording an event"); }
  /// Waits for `later`.
  [[nodiscard]] double milliseconds_until(const Event& later) const {
    check(cudaEventSynchronize(later.event_), "waiting for an event");
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, event_, later.event_), "reading the clock of the device");
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct Events {
  Event begin;
  Event end;
};

}  // namespace

TimingClock event_clock(const Device& device) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  return [device, &context, events = std::make_shared<Events>()](const std::function<void()>& work) {
    const DeviceGuard same(device);
    events->begin.record(context);
    work();
    events->end.record(context);
    return events->begin.milliseconds_until(events->end);
  };
}

}  // namespace tessera::cuda
