/// \file
/// One value in page-locked memory of the host, into which a GPU copies without staging.
#pragma once

#include "core/cuda/check.hpp"

#include <cuda_runtime_api.h>

#include <memory>

namespace tessera::bench {

template <class T>
class PinnedValue {
 public:
  /// \throws CudaError
  PinnedValue() {
    void* memory = nullptr;
    cuda::check(cudaMallocHost(&memory, sizeof(T)), "allocating page-locked memory");
    value_.reset(static_cast<T*>(memory));
  }

  /// Copies a value from the device and waits for all work before it. \throws CudaError
  const T& bring(const T* on_device, cudaStream_t stream) {
    cuda::check(cudaMemcpyAsync(value_.get(), on_device, sizeof(T), cudaMemcpyDeviceToHost, stream),
                "bringing a value to the host");
    cuda::check(cudaStreamSynchronize(stream), "waiting for a value");
    return *value_;
  }

 private:
  struct Free {
    void operator()(T* memory) const noexcept { static_cast<void>(cudaFreeHost(memory)); }
  };
  std::unique_ptr<T, Free> value_;
};

}  // namespace tessera::bench
