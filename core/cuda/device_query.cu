#include "core/cuda/device_query.hpp"

#include <cuda_runtime.h>

#include <string>

namespace tessera::cuda {

namespace {

/// Asks one question; a failure is recorded once and clears the runtime's error state.
bool succeeded(cudaError_t code, const char* question, CudaSurvey& survey) {
  if (code == cudaSuccess) return true;
  if (survey.problem.empty()) survey.problem = std::string(question) + ": " + cudaGetErrorString(code);
  static_cast<void>(cudaGetLastError());
  return false;
}

/// Free memory needs a context on the device, so the caller's current device is put back afterwards.
std::uint64_t free_memory_bytes(int ordinal, CudaSurvey& survey) {
  int previous = 0;
  if (!succeeded(cudaGetDevice(&previous), "current device", survey)) return 0;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  const bool known = succeeded(cudaSetDevice(ordinal), "select device", survey) &&
                     succeeded(cudaMemGetInfo(&free_bytes, &total_bytes), "free memory", survey);
  succeeded(cudaSetDevice(previous), "restore device", survey);
  return known ? free_bytes : 0;
}

/// Asked for its attributes only: a GPU that this build has no machine code for cannot give them.
__global__ void probe_kernel() {}

bool has_machine_code(int ordinal) {
  int previous = 0;
  if (cudaGetDevice(&previous) != cudaSuccess || cudaSetDevice(ordinal) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  cudaFuncAttributes attributes{};
  const bool usable = cudaFuncGetAttributes(&attributes, probe_kernel) == cudaSuccess;
  static_cast<void>(cudaGetLastError());
  static_cast<void>(cudaSetDevice(previous));
  return usable;
}

}  // namespace

CudaSurvey survey() {
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
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (!succeeded(cudaGetDeviceProperties(&properties, ordinal), "device properties", result)) continue;
    result.devices.push_back({ordinal, properties.name, properties.major, properties.minor,
                              properties.multiProcessorCount, properties.totalGlobalMem,
                              free_memory_bytes(ordinal, result), static_cast<std::uint64_t>(properties.l2CacheSize),
                              has_machine_code(ordinal)});
  }
  return result;
}

}  // namespace tessera::cuda
