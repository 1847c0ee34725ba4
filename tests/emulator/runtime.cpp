// The calls of the CUDA runtime, for one emulated device.
#include "tests/emulator/copies.hpp"
#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/graphs.hpp"
#include "tests/emulator/launch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

struct EmulatedPool {};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point recorded;
};

namespace tessera::emulator {

namespace {

constexpr int version = 13000;
// Few, so that persistent blocks have several tiles each.
constexpr int multiprocessors = 2;
constexpr int shared_bytes_without_asking = 49152;
constexpr int shared_bytes_reserved = 1024;
constexpr int l2_bytes = 60 << 20;
constexpr int memory_clock_khz = 3'125'000;
constexpr int memory_bus_bits = 6144;

/// A GPU that can be emulated: the differences between compute capabilities (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
struct EmulatedDevice {
  std::string_view name;
  int major;
  int minor;
  int threads_per_multiprocessor;
  int blocks_per_multiprocessor;
  int shared_bytes_per_multiprocessor;

  [[nodiscard]] constexpr int shared_bytes_per_block() const {
    return shared_bytes_per_multiprocessor - shared_bytes_reserved;
  }
};
constexpr std::array<EmulatedDevice, 4> emulated_devices{{{"8.0", 8, 0, 2048, 32, 164 * 1024},
                                                          {"8.9", 8, 9, 1536, 24, 100 * 1024},
                                                          {"9.0", 9, 0, 2048, 32, 228 * 1024},
                                                          {"12.0", 12, 0, 1536, 24, 100 * 1024}}};

/// The one that TESSERA_EMULATOR_DEVICE names, by its compute capability; 9.0 where it is unset.
const EmulatedDevice& emulated_device() {
  static const EmulatedDevice& chosen = []() -> const EmulatedDevice& {
    const char* const wanted = std::getenv("TESSERA_EMULATOR_DEVICE");
    const std::string_view name = wanted == nullptr ? "9.0" : wanted;
    for (const EmulatedDevice& each : emulated_devices) {
      if (each.name == name) return each;
    }
    std::fprintf(stderr, "TESSERA_EMULATOR_DEVICE=%s: known are 8.0, 8.9, 9.0 and 12.0\n", wanted);
    std::abort();
  }();
  return chosen;
}

/// State of the device, which does one thing at a time; the mutex is held by its user.
struct DeviceState {
  std::mutex mutex;
  DeviceMemory memory;
  std::map<const void*, int> shared_limits;  ///< of kernels that asked for more
  std::uint64_t bytes_to_host = 0;
};

/// Never destroyed: static objects may free arrays at exit.
DeviceState& device() {
  static DeviceState& the_one = *new DeviceState;
  return the_one;
}

struct LastError {
  cudaError_t code = cudaSuccess;
  std::string kernel_failure;
};
thread_local LastError last_error;

cudaError_t report(cudaError_t code) {
  if (code != cudaSuccess) last_error.code = code;
  return code;
}

cudaError_t require(bool condition) { return report(condition ? cudaSuccess : cudaErrorInvalidValue); }

template <class T>
cudaError_t give(T* target, T value) {
  *target = value;
  return cudaSuccess;
}

int shared_limit(const DeviceState& state, const void* kernel) {
  const auto found = state.shared_limits.find(kernel);
  return found == state.shared_limits.end() ? shared_bytes_without_asking : found->second;
}

bool is_possible(const GridShape& shape) {
  return shape.blocks >= 1 && shape.blocks < 1U << 31 && shape.threads >= 1 && shape.threads <= max_threads;
}

/// Makes device memory accessible.
class Access {
 public:
  explicit Access(DeviceState& state) : state_(state), lock_(state.mutex) { state_.memory.open(); }
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
  ~Access() { state_.memory.close(); }

 private:
  DeviceState& state_;
  std::scoped_lock<std::mutex> lock_;
};

}  // namespace

namespace {

cudaError_t run_kernel(const void* kernel_address, const GridShape& shape, cudaStream_t stream,
                       const std::function<void()>& kernel) {
  DeviceState& state = device();
  const Access access(state);
  if (!is_possible(shape)) return report(cudaErrorInvalidConfiguration);
  if (stream == nullptr || shape.shared_bytes > static_cast<std::size_t>(shared_limit(state, kernel_address))) {
    return report(cudaErrorInvalidValue);
  }
  std::string failure = run_grid(shape, kernel);
  if (failure.empty()) return cudaSuccess;
  last_error = {cudaErrorLaunchFailure, std::move(failure)};
  return cudaErrorLaunchFailure;
}

}  // namespace

cudaError_t launch(const void* kernel_address, const GridShape& shape, cudaStream_t stream,
                   const std::function<void()>& kernel) {
  return do_or_record(stream, [=] { return run_kernel(kernel_address, shape, stream, kernel); });
}

std::uint64_t bytes_to_host() {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  return state.bytes_to_host;
}

}  // namespace tessera::emulator

using namespace tessera::emulator;

cudaError_t cudaGetLastError() { return std::exchange(last_error.code, cudaSuccess); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidDevice:
      return "cudaErrorInvalidDevice";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorInvalidDeviceFunction:
      return "cudaErrorInvalidDeviceFunction";
    case cudaErrorNoKernelImageForDevice:
      return "cudaErrorNoKernelImageForDevice";
    case cudaErrorUnsupportedPtxVersion:
      return "cudaErrorUnsupportedPtxVersion";
  }
  return "unknown";
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? last_error.kernel_failure.c_str() : cudaGetErrorName(error);
}

cudaError_t cudaRuntimeGetVersion(int* result) { return give(result, version); }
cudaError_t cudaDriverGetVersion(int* result) { return give(result, version); }
cudaError_t cudaGetDeviceCount(int* count) { return give(count, 1); }
cudaError_t cudaGetDevice(int* ordinal) { return give(ordinal, 0); }
cudaError_t cudaSetDevice(int ordinal) { return report(ordinal == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
  if (ordinal != 0) return report(cudaErrorInvalidDevice);
  const EmulatedDevice& gpu = emulated_device();
  *properties = {"emulated on the host", DeviceMemory::total_bytes, gpu.major, gpu.minor, multiprocessors, l2_bytes};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  if (ordinal != 0) return report(cudaErrorInvalidDevice);
  const EmulatedDevice& gpu = emulated_device();
  switch (attribute) {
    case cudaDevAttrL2CacheSize:
      return give(value, static_cast<int>(l2_bytes));
    case cudaDevAttrMultiProcessorCount:
      return give(value, multiprocessors);
    case cudaDevAttrComputeCapabilityMajor:
      return give(value, gpu.major);
    case cudaDevAttrComputeCapabilityMinor:
      return give(value, gpu.minor);
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return give(value, gpu.threads_per_multiprocessor);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return give(value, gpu.blocks_per_multiprocessor);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return give(value, gpu.shared_bytes_per_multiprocessor);
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return give(value, shared_bytes_without_asking);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return give(value, gpu.shared_bytes_per_block());
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return give(value, shared_bytes_reserved);
    case cudaDevAttrCooperativeLaunch:
      return give(value, 1);
    case cudaDevAttrMemoryClockRate:
      return give(value, memory_clock_khz);
    case cudaDevAttrGlobalMemoryBusWidth:
      return give(value, memory_bus_bits);
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  return give(stream, new CUstream_st);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return require(stream != nullptr && stream->recorded == nullptr);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return give(event, new EmulatedEvent); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) { return cudaEventCreate(event); }
/// All work is done by then.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  return require(stream != nullptr && event != nullptr);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->recorded = std::chrono::steady_clock::now();
  return require(stream != nullptr);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return require(event != nullptr); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return give(milliseconds, std::chrono::duration<float, std::milli>(end->recorded - begin->recorded).count());
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  static EmulatedPool the_one;
  const bool known = properties->allocType == cudaMemAllocationTypePinned &&
                     properties->location.type == cudaMemLocationTypeDevice && properties->location.id == 0;
  if (!known) return report(cudaErrorInvalidValue);
  return give(pool, &the_one);
}
cudaError_t cudaDeviceCanAccessPeer(int* /*can*/, int /*ordinal*/, int /*other*/) {
  return report(cudaErrorInvalidDevice);  // there is one GPU
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t /*pool*/, const cudaMemAccessDesc* /*access*/, std::size_t /*count*/) {
  return report(cudaErrorInvalidDevice);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr /*attribute*/, void* value) {
  return require(pool != nullptr && value != nullptr);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr /*attribute*/, void* value) {
  if (pool == nullptr || value == nullptr) return report(cudaErrorInvalidValue);
  // The emulated pool caches nothing.
  *static_cast<std::uint64_t*>(value) = 0;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t /*bytes*/) { return require(pool != nullptr); }

cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (pool == nullptr || stream == nullptr || bytes == 0) return report(cudaErrorInvalidValue);
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  *data = state.memory.allocate(bytes);
  return report(*data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  *data = state.memory.allocate(bytes);
  return report(*data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = std::malloc(bytes);
  return report(*data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess);
}

cudaError_t cudaFree(void* data) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  return require(data == nullptr || state.memory.release(data));
}

cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  return require(stream != nullptr && state.memory.release(data));
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  *total_bytes = DeviceMemory::total_bytes;
  return give(free_bytes, state.memory.free_bytes());
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  return do_or_record(stream, [=] {
    DeviceState& state = device();
    const Access access(state);
    const bool on_device = state.memory.find(data).first != nullptr && state.memory.is_range(data, bytes);
    if (stream == nullptr || !on_device) return report(cudaErrorInvalidValue);
    std::memset(data, value, bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind /*kind*/,
                            cudaStream_t stream) {
  return do_or_record(stream, [=] {
    DeviceState& state = device();
    const Access access(state);
    const bool inside = state.memory.is_range(target, bytes) && state.memory.is_range(source, bytes);
    if (stream == nullptr || !inside) return report(cudaErrorInvalidValue);
    std::memmove(target, source, bytes);
    const bool from_device = state.memory.find(source).first != nullptr;
    if (from_device && state.memory.find(target).first == nullptr) state.bytes_to_host += bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  attributes->type = state.memory.find(address).first != nullptr ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = 0;
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  attributes->maxThreadsPerBlock = static_cast<int>(max_threads);
  attributes->ptxVersion = 10 * emulated_device().major + emulated_device().minor;
  return require(kernel != nullptr);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  // In percent, -1 for the default; a hint without effect on results.
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return require(value >= -1 && value <= 100);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      value > emulated_device().shared_bytes_per_block()) {
    return report(cudaErrorInvalidValue);
  }
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  state.shared_limits[kernel] = value;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int threads,
                                                          std::size_t shared_bytes) {
  DeviceState& state = device();
  const std::scoped_lock lock(state.mutex);
  if (threads < 1 || shared_bytes > static_cast<std::size_t>(shared_limit(state, kernel))) {
    return report(cudaErrorInvalidValue);
  }
  const EmulatedDevice& gpu = emulated_device();
  const int by_shared = gpu.shared_bytes_per_multiprocessor / (static_cast<int>(shared_bytes) + shared_bytes_reserved);
  return give(blocks, std::min({gpu.threads_per_multiprocessor / threads, by_shared, gpu.blocks_per_multiprocessor}));
}
