/// \file
/// Memory of a GPU, in the order of its stream. In a build without CUDA every function but
/// lies_on_a_gpu() throws DeviceUnavailable.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// 256-byte aligned. Ready for work that is put into the device's stream from now on.
/// \throws OutOfMemory with what was asked and what was free; the device stays usable
[[nodiscard]] void* allocate_bytes(const Device& device, std::uint64_t bytes);
/// The memory is taken back once all work of the stream so far is done.
void deallocate_bytes(const Device& device, void* data) noexcept;
void zero_bytes(const Device& device, void* data, std::uint64_t bytes);
/// Between the host and a GPU, on one GPU, or between two. Returns when the source may be changed and, for a copy to
/// the host, when the target is complete. \throws CudaError
void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes);
/// Bytes that can be allocated: free ones of the device and unused ones of the pool. \throws CudaError
[[nodiscard]] std::uint64_t available_bytes(const Device& device);
/// Whether a kernel on the device may read and write at an address: memory of that GPU, or of the host where CUDA
/// has been told of it. An address into an array will do. \throws CudaError
[[nodiscard]] bool is_reachable(const Device& device, const void* address);
/// Whether an address lies in the memory of any GPU; false, without asking the driver, while none is in use.
/// \throws CudaError
[[nodiscard]] bool lies_on_a_gpu(const void* address);
/// Waits for the device's stream. \throws CudaError
void synchronize(const Device& device);

}  // namespace tessera::cuda
