/// \file
/// Memory of a GPU that counts how much of it is held.
#pragma once

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"
#include "tessera/context.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace tessera::testing {

/// Memory of the pool of the library's own context, with the most that was ever held.
class MeasuredMemory final : public MemoryResource {
 public:
  void* allocate(std::uint64_t bytes, CUstream_st* stream) override {
    held += static_cast<std::int64_t>(bytes);
    peak = std::max(peak.load(), held.load());
    void* data = nullptr;
    cuda::check(cudaMallocFromPoolAsync(&data, bytes, cuda::Context::of(Device::cuda(0)).pool(), stream), "allocating");
    return data;
  }
  void deallocate(void* data, std::uint64_t bytes, CUstream_st* stream) noexcept override {
    held -= static_cast<std::int64_t>(bytes);
    static_cast<void>(cudaFreeAsync(data, stream));
  }
  std::atomic<std::int64_t> held = 0;
  std::atomic<std::int64_t> peak = 0;
};

}  // namespace tessera::testing
