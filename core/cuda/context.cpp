#include "core/cuda/context.hpp"

#include "core/cuda/check.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

namespace tessera::cuda {

void fail(cudaError_t code, std::string_view call) {
  static_cast<void>(cudaGetLastError());
  throw CudaError(static_cast<int>(code),
                  fmt::format("CUDA: {} failed: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code)));
}

namespace {

constexpr int max_devices = 64;
std::atomic<bool> some_context_exists = false;

/// Streams that StreamGuards have set, the innermost last: loops of a graph are recorded inside each other.
struct OtherStreams {
  static constexpr std::size_t most = 8;
  struct Redirection {
    const Context* context = nullptr;
    cudaStream_t stream = nullptr;
  };
  std::array<Redirection, most> set;
  std::size_t count = 0;
};
thread_local OtherStreams other_streams;

int attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, ordinal), "asking for a property of the device");
  return value;
}

/// A separate pool: freed memory stays with the process, and the default pool of the user keeps its settings.
cudaMemPool_t make_pool(int ordinal) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  cudaMemPool_t pool = nullptr;
  check(cudaMemPoolCreate(&pool, &properties), "making a memory pool");
  std::uint64_t keep_all = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all), "setting up the memory pool");
  return pool;
}

}  // namespace

DeviceGuard::DeviceGuard(const Device& device) {
  check(cudaGetDevice(&previous_), "asking for the current device");
  if (previous_ == device.ordinal()) return;
  check(cudaSetDevice(device.ordinal()), "selecting the device");
  switched_ = true;
}

DeviceGuard::~DeviceGuard() {
  if (switched_) static_cast<void>(cudaSetDevice(previous_));
}

bool Context::any() noexcept { return some_context_exists.load(); }

Context& Context::of(const Device& device) {
  static std::mutex mutex;
  static std::array<Context*, max_devices> contexts{};
  if (device.is_host()) throw DeviceUnavailable("the host has no CUDA context");
  if (device.context_ != nullptr) return *device.context_;
  const auto index = static_cast<std::size_t>(device.ordinal());
  if (index >= contexts.size()) {
    throw DeviceUnavailable(fmt::format("device {}: at most {} GPUs are served", device.name(), max_devices));
  }
  const std::scoped_lock lock(mutex);
  if (contexts[index] == nullptr) {
    const DeviceGuard current(device);
    contexts[index] = new Context(device);
    some_context_exists = true;
  }
  return *contexts[index];
}

DeviceLimits device_limits(int ordinal) {
  const auto ask = [ordinal](cudaDeviceAttr name) { return attribute(name, ordinal); };
  DeviceLimits limits;
  limits.compute_capability = 10 * ask(cudaDevAttrComputeCapabilityMajor) + ask(cudaDevAttrComputeCapabilityMinor);
  limits.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  limits.threads_per_multiprocessor = ask(cudaDevAttrMaxThreadsPerMultiProcessor);
  limits.blocks_per_multiprocessor = ask(cudaDevAttrMaxBlocksPerMultiprocessor);
  limits.shared_per_multiprocessor = ask(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  limits.shared_per_block = ask(cudaDevAttrMaxSharedMemoryPerBlock);
  limits.largest_shared_per_block = ask(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  limits.reserved_shared_per_block = ask(cudaDevAttrReservedSharedMemoryPerBlock);
  limits.launches_cooperative_grids = ask(cudaDevAttrCooperativeLaunch) != 0;
  return limits;
}

Device Context::make(const Device& device, ContextOptions&& options) {
  Device plain = device;
  plain.context_ = nullptr;
  const Context& first = of(plain);
  const DeviceGuard current(plain);
  Device result = plain;
  result.context_ = std::make_shared<Context>(plain, first, std::move(options));
  return result;
}

Context::Context(const Device& device)
    : ordinal_(device.ordinal()), pool_(make_pool(device.ordinal())), limits_(device_limits(device.ordinal())) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  make_event_and_sum_space();
}

Context::Context(const Device& device, const Context& first, ContextOptions&& options)
    : ordinal_(device.ordinal()),
      owns_stream_(!options.stream.has_value()),
      stream_(options.stream.value_or(nullptr)),
      pool_(first.pool_),
      resource_(std::move(options.memory)),
      limits_(first.limits_) {
  if (owns_stream_) check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  make_event_and_sum_space();
}

void Context::make_event_and_sum_space() {
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
  check(cudaMalloc(&sum_space_.on_device, std::size_t{SumSpace::values} * SumSpace::value_bytes),
        "allocating the space of sums");
  check(cudaMallocHost(&sum_space_.on_host, SumSpace::host_bytes), "allocating page-locked memory");
}

/// Waits for the work of the context. Errors come from earlier work, or from the end of the process.
Context::~Context() {
  try {
    companions_.clear();
    Device device = Device(Device::Kind::cuda, ordinal_, 0);
    const DeviceGuard current(device);
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaFree(sum_space_.on_device));
    static_cast<void>(cudaFreeHost(sum_space_.on_host));
    static_cast<void>(cudaEventDestroy(event_));
    if (owns_stream_) static_cast<void>(cudaStreamDestroy(stream_));
    static_cast<void>(cudaGetLastError());
  } catch (...) {
    return;
  }
}

void Context::record_event() const {
  const DeviceGuard current(Device(Device::Kind::cuda, ordinal_, 0));
  check(cudaEventRecord(event_, stream()), "recording an event");
}

cudaStream_t Context::stream() const noexcept {
  for (std::size_t k = other_streams.count; k-- > 0;) {
    if (other_streams.set[k].context == this) return other_streams.set[k].stream;
  }
  return stream_;
}

StreamGuard::StreamGuard(const Context& context, cudaStream_t stream) noexcept {
  assert(other_streams.count < OtherStreams::most);
  other_streams.set[other_streams.count++] = {&context, stream};
}
StreamGuard::~StreamGuard() { --other_streams.count; }

void Context::synchronize() const {
  ++waits_;
  check(cudaStreamSynchronize(stream_), "waiting for the device");
}

SideStreams& SideStreams::of(const Device& device) {
  const Context& context = Context::of(device);
  return context.companion<SideStreams>([&] {
    const DeviceGuard current(device);
    return std::make_unique<SideStreams>(context);
  });
}

/// The device must be current.
SideStreams::SideStreams(const Context& context) : context_(context) {
  check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "making an event");
  for (int k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    check(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreateWithFlags(&done_[i], cudaEventDisableTiming), "making an event");
  }
}

SideStreams::~SideStreams() {
  for (int k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    static_cast<void>(cudaStreamDestroy(streams_[i]));
    static_cast<void>(cudaEventDestroy(done_[i]));
  }
  static_cast<void>(cudaEventDestroy(forked_));
}

SideStreams::Fork::Fork(const Device& device)
    : streams_(of(device)), context_(streams_.context_), alone_(streams_.mutex_) {
  check(cudaEventRecord(streams_.forked_, context_.stream()), "recording an event");
}

cudaStream_t SideStreams::Fork::enter(int k) {
  const auto i = static_cast<std::size_t>(k);
  if (!used_[i]) check(cudaStreamWaitEvent(streams_.streams_[i], streams_.forked_, 0), "waiting for an event");
  used_[i] = true;
  return streams_.streams_[i];
}

SideStreams::Fork::~Fork() {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) continue;
    // An error here comes from earlier work and shows at the next call.
    static_cast<void>(cudaEventRecord(streams_.done_[i], streams_.streams_[i]));
    static_cast<void>(cudaStreamWaitEvent(context_.stream(), streams_.done_[i], 0));
  }
}

}  // namespace tessera::cuda
