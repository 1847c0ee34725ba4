// The calls of the CUDA runtime, for one emulated device.
#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/graphs.hpp"
#include "tests/emulator/launch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

struct EmulatedPool {};
struct EmulatedEvent {
  std::chrono::steady_clock::time_point recorded;
};

namespace tessera::emulator {

namespace {

// The limits of compute capability 9.0; few multiprocessors, so that persistent blocks have several tiles each.
constexpr int version = 13000;
constexpr int capability_major = 9;
constexpr int capability_minor = 0;
constexpr int multiprocessors = 2;
constexpr int threads_per_multiprocessor = 2048;
constexpr int blocks_per_multiprocessor = 32;
constexpr int shared_bytes_per_multiprocessor = 233472;
constexpr int shared_bytes_per_block = 232448;
constexpr int shared_bytes_without_asking = 49152;
constexpr int shared_bytes_reserved = 1024;
constexpr int l2_bytes = 60 << 20;

/// Held by whoever uses the device, which does one thing at a time.
struct DeviceState {
  std::mutex mutex;
  DeviceMemory memory;
  std::map<const void*, int> shared_limits;  ///< of kernels that asked for more
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

/// Keeps the device's memory open.
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
  *properties = {"emulated on the host", DeviceMemory::total_bytes, capability_major,
                 capability_minor,       multiprocessors,           l2_bytes};
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int ordinal) {
  if (ordinal != 0) return report(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      return give(value, multiprocessors);
  }
  return report(cudaErrorInvalidValue);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  return give(stream, new EmulatedStream);
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
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr /*attribute*/, void* value) {
  return require(pool != nullptr && value != nullptr);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr /*attribute*/, void* value) {
  if (pool == nullptr || value == nullptr) return report(cudaErrorInvalidValue);
  // The emulated pool keeps nothing back.
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
  attributes->ptxVersion = 10 * capability_major + capability_minor;
  return require(kernel != nullptr);
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  // In percent, -1 for the default; a wish, which changes no result.
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return require(value >= -1 && value <= 100);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > shared_bytes_per_block) {
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
  const int by_shared = shared_bytes_per_multiprocessor / (static_cast<int>(shared_bytes) + shared_bytes_reserved);
  return give(blocks, std::min({threads_per_multiprocessor / threads, by_shared, blocks_per_multiprocessor}));
}
