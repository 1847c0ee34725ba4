/// \file
/// Memory of a GPU, in the order of its stream. In a build without CUDA every function but
/// lies_on_a_gpu() throws DeviceUnavailable.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// 256-byte aligned; for work enqueued from now on. \throws OutOfMemory with the bytes asked for and free; the device
/// stays usable
[[nodiscard]] void* allocate_bytes(const Device& device, std::uint64_t bytes);
/// Frees the memory after all work enqueued so far.
void deallocate_bytes(const Device& device, void* data) noexcept;
void zero_bytes(const Device& device, void* data, std::uint64_t bytes);
/// Copies between the host and a GPU, on one GPU, or between two. Returns when the source may be changed; a copy to the
/// host is complete then. \throws CudaError
void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes);
/// Bytes that can be allocated: free ones of the device and unused ones of the pool. \throws CudaError
[[nodiscard]] std::uint64_t available_bytes(const Device& device);
/// Whether kernels on the device may read and write at an address: memory of that GPU, or host memory registered with
/// CUDA. The address may lie inside an array. \throws CudaError
[[nodiscard]] bool is_reachable(const Device& device, const void* address);
/// Whether an address lies in the memory of any GPU; false without asking the driver while no GPU is in use.
/// \throws CudaError
[[nodiscard]] bool lies_on_a_gpu(const void* address);
/// Waits for the device's stream. \throws CudaError
void synchronize(const Device& device);

}  // namespace tessera::cuda
