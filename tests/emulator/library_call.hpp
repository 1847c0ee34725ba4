/// \file
/// A device-wide primitive of a library, such as CUB, as the emulated device runs it: as a kernel of one thread, so
/// that streams, graphs and memory see it like any other kernel.
#pragma once

#include "tests/emulator/launch.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::emulator {

/// Bytes of temporary storage that a call asks for, and overwrites.
inline constexpr std::size_t library_storage_bytes = 512;

/// Follows CUB's protocol. \param storage null: sets `bytes` and does nothing else \param work on the device
template <class Work>
cudaError_t library_call(void* storage, std::size_t& bytes, cudaStream_t stream, const Work& work) {
  if (storage == nullptr) {
    bytes = library_storage_bytes;
    return cudaSuccess;
  }
  if (bytes < library_storage_bytes) return cudaErrorInvalidValue;
  static const char name = 0;  // tells this call apart from kernels
  return launch(&name, GridShape{1, 1, 0}, stream, [=] {
    std::memset(storage, 0xff, library_storage_bytes);
    work();
  });
}

}  // namespace tessera::emulator
