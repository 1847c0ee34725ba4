/// \file
/// Page-locked memory of the host, between which and a GPU copies run at the speed of the bus, beside kernels.
#pragma once

#include "core/cuda/check.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace tessera::cuda {

/// Owns it. The caller waits for copies from or to it before it goes.
class PageLockedMemory {
 public:
  PageLockedMemory() = default;
  /// \param purpose for the exception \throws OutOfMemory, CudaError
  PageLockedMemory(std::uint64_t bytes, const std::string& purpose) : bytes_(bytes) {
    if (bytes == 0) return;
    void* data = nullptr;
    const cudaError_t code = cudaMallocHost(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      throw OutOfMemory(bytes, available_host_memory_bytes(), purpose);
    }
    check(code, "allocating page-locked memory");
    data_ = static_cast<std::byte*>(data);
  }
  PageLockedMemory(PageLockedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  PageLockedMemory& operator=(PageLockedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  PageLockedMemory(const PageLockedMemory&) = delete;
  PageLockedMemory& operator=(const PageLockedMemory&) = delete;
  ~PageLockedMemory() {
    if (data_ != nullptr && cudaFreeHost(data_) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }

  [[nodiscard]] std::byte* data() noexcept { return data_; }
  [[nodiscard]] const std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace tessera::cuda
