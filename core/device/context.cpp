#include "tessera/context.hpp"

#include "core/cuda/memory.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera {

namespace {

Device device_with(const Device& device, ContextOptions&& options) {
  if (!device.is_host()) return cuda::make_context(device, std::move(options));
  if (options.stream.has_value()) throw InvalidArgument("Context: the host has no stream");
  if (options.memory != nullptr) throw InvalidArgument("Context: a memory resource serves GPUs alone, not the host");
  return device;
}

}  // namespace

Context::Context(const Device& device, ContextOptions options) : device_(device_with(device, std::move(options))) {}

CUstream_st* Context::stream() const { return device_.is_host() ? nullptr : cuda::stream_of(device_); }

void Context::wait_for(const Context& other) const {
  if (device_.is_host() != other.device_.is_host()) {
    throw InvalidArgument(
        fmt::format("Context::wait_for: {} cannot wait for {}", device_.name(), other.device_.name()));
  }
  if (!device_.is_host()) cuda::order(other.device_, device_);
}

ContextCounts Context::counts() const { return device_.is_host() ? ContextCounts{} : cuda::counts_of(device_); }

}  // namespace tessera
