#include "core/cuda/memory.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <utility>

namespace tessera::cuda {

namespace {

std::uint64_t free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return free;
}

/// Null when there is no memory.
void* try_allocate(const Context& context, std::uint64_t bytes) {
  context.count_allocation();
  if (MemoryResource* const resource = context.resource()) return resource->allocate(bytes, context.stream());
  void* data = nullptr;
  const cudaError_t code = cudaMallocFromPoolAsync(&data, bytes, context.pool(), context.stream());
  if (code == cudaSuccess) return data;
  if (code != cudaErrorMemoryAllocation) fail(code, fmt::format("allocating {} bytes", bytes));
  static_cast<void>(cudaGetLastError());
  return nullptr;
}

}  // namespace

void* allocate_bytes(const Device& device, std::uint64_t bytes) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  if (void* data = try_allocate(context, bytes)) return data;
  // The pool may still hold freed memory in pieces of other sizes.
  context.synchronize();
  check(cudaMemPoolTrimTo(context.pool(), 0), "returning unused memory");
  if (void* data = try_allocate(context, bytes)) return data;
  throw OutOfMemory(bytes, free_bytes(), "array on " + device.name());
}

void deallocate_bytes(const Device& device, void* data, std::uint64_t bytes) noexcept {
  // Can only fail after an earlier error of the context or at the end of the process.
  try {
    const DeviceGuard current(device);
    const Context& context = Context::of(device);
    if (MemoryResource* const resource = context.resource()) return resource->deallocate(data, bytes, context.stream());
    if (cudaFreeAsync(data, context.stream()) != cudaSuccess) static_cast<void>(cudaGetLastError());
  } catch (...) {
    return;
  }
}

void zero_bytes(const Device& device, void* data, std::uint64_t bytes) {
  if (bytes == 0) return;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  check(cudaMemsetAsync(data, 0, bytes, context.stream()), fmt::format("clearing {} bytes", bytes));
}

namespace {

/// A few numbers to the host: through page-locked memory, which the driver need not stage.
void fetch_few_bytes(const Device& from, void* target, const void* source, std::uint64_t bytes) {
  const Context& context = Context::of(from);
  const DeviceGuard current(from);
  SumSpace& space = context.sum_space();
  const std::scoped_lock alone(space.mutex);
  check(cudaMemcpyAsync(space.on_host, source, bytes, cudaMemcpyDeviceToHost, context.stream()),
        "bringing numbers to the host");
  context.synchronize();
  std::memcpy(target, space.on_host, bytes);
}

}  // namespace

void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (to.is_host() && bytes <= SumSpace::host_bytes) return fetch_few_bytes(from, target, source, bytes);
  const Device& device = to.is_host() ? from : to;
  // Copies on GPUs run in the stream of the target, after all work of the source.
  if (!to.is_host() && !from.is_host()) order(from, to);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  // Memory of a pool is open to its own GPU alone; between two, the driver has to be told which.
  const bool crosses = !to.is_host() && !from.is_host() && to.ordinal() != from.ordinal();
  check(crosses ? cudaMemcpyPeerAsync(target, to.ordinal(), source, from.ordinal(), bytes, context.stream())
                : cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, context.stream()),
        fmt::format("copying {} bytes from {} to {}", bytes, from.name(), to.name()));
  if (to.is_host() || from.is_host()) return context.synchronize();
  order(to, from);
}

void copy_from_peer(const Device& to, void* target, int ordinal, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return;
  const Context& context = Context::of(to);
  const DeviceGuard current(to);
  check(ordinal == to.ordinal() ? cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, context.stream())
                                : cudaMemcpyPeerAsync(target, to.ordinal(), source, ordinal, bytes, context.stream()),
        fmt::format("copying {} bytes from cuda:{} to {}", bytes, ordinal, to.name()));
}

std::uint64_t available_bytes(const Device& device) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  check(cudaMemPoolGetAttribute(context.pool(), cudaMemPoolAttrReservedMemCurrent, &reserved), "asking a memory pool");
  check(cudaMemPoolGetAttribute(context.pool(), cudaMemPoolAttrUsedMemCurrent, &used), "asking a memory pool");
  return free_bytes() + (reserved - used);
}

bool is_reachable(const Device& device, const void* address) {
  const DeviceGuard current(device);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "asking where a vector lies");
  if (attributes.type == cudaMemoryTypeDevice) return attributes.device == device.ordinal();
  return attributes.type != cudaMemoryTypeUnregistered;
}

bool lies_on_a_gpu(const void* address) {
  if (address == nullptr || !Context::any()) return false;
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "asking where an array lies");
  return attributes.type == cudaMemoryTypeDevice;
}

void order(const Device& earlier, const Device& later) {
  const Context& first = Context::of(earlier);
  const Context& second = Context::of(later);
  // Default streams of two GPUs have one name.
  if (earlier == later && first.stream() == second.stream()) return;
  first.record_event();
  const DeviceGuard current(later);
  check(cudaStreamWaitEvent(second.stream(), first.event(), 0), "waiting for an event");
}

Device make_context(const Device& device, ContextOptions&& options) {
  return Context::make(device, std::move(options));
}

CUstream_st* stream_of(const Device& device) { return Context::of(device).stream(); }

ContextCounts counts_of(const Device& device) { return Context::of(device).counts(); }

void synchronize(const Device& device) {
  const DeviceGuard current(device);
  Context::of(device).synchronize();
}

}  // namespace tessera::cuda
