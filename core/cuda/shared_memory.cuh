/// \file
/// The dynamic shared memory of a block. A separate header, because the emulator (tests/emulator) replaces it.
#pragma once

namespace tessera::cuda {

/// The block's dynamic shared memory, aligned to 128 bytes.
[[nodiscard]] __device__ inline unsigned char* dynamic_shared_memory() {
  extern __shared__ __align__(128) unsigned char tessera_dynamic_shared_memory[];
  return tessera_dynamic_shared_memory;
}

}  // namespace tessera::cuda
