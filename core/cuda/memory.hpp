/// \file
/// Memory and stream of a GPU, in the context that a Device stands for. In a build without CUDA every function but
/// lies_on_a_gpu() throws DeviceUnavailable.
#pragma once

#include "tessera/context.hpp"
#include "tessera/device.hpp"

#include <cstdint>

namespace tessera::cuda {

/// 256-byte aligned; for work enqueued from now on. \throws OutOfMemory with the bytes asked for and free; the device
/// stays usable
[[nodiscard]] void* allocate_bytes(const Device& device, std::uint64_t bytes);
/// Frees the memory after all work enqueued so far. \param bytes as allocated
void deallocate_bytes(const Device& device, void* data, std::uint64_t bytes) noexcept;
void zero_bytes(const Device& device, void* data, std::uint64_t bytes);
/// Copies between the host and a GPU, on one GPU, or between two. A copy from or to the host is complete on return;
/// others run in the stream of `to`, and later work of `from` waits for them. \throws CudaError
void copy_bytes(const Device& to, void* target, const Device& from, const void* source, std::uint64_t bytes);
/// Copies from memory of a GPU that opened it to `to`, in the stream of `to`; what it reads is complete, no stream of
/// the other GPU takes part. \throws CudaError
void copy_from_peer(const Device& to, void* target, int ordinal, const void* source, std::uint64_t bytes);
/// Bytes that can be allocated: free ones of the device and unused ones of the pool. \throws CudaError
[[nodiscard]] std::uint64_t available_bytes(const Device& device);
/// Whether kernels on the device may read and write at an address: memory of that GPU, or host memory registered with
/// CUDA. The address may lie inside an array. \throws CudaError
[[nodiscard]] bool is_reachable(const Device& device, const void* address);
/// Whether an address lies in the memory of any GPU; false without asking the driver while no GPU is in use.
/// \throws CudaError
[[nodiscard]] bool lies_on_a_gpu(const void* address);
/// Work that `later` gets from now on waits for all that `earlier` has got; the host does not wait. Nothing to do where
/// both have one stream. \throws CudaError
void order(const Device& earlier, const Device& later);
/// The device with a stream and memory as Context describes them. \throws CudaError, OutOfMemory
[[nodiscard]] Device make_context(const Device& device, ContextOptions&& options);
[[nodiscard]] CUstream_st* stream_of(const Device& device);
[[nodiscard]] ContextCounts counts_of(const Device& device);
/// Waits for the device's stream. \throws CudaError
void synchronize(const Device& device);

}  // namespace tessera::cuda
