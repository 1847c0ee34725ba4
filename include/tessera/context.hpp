/// \file
/// Context: the stream and the memory in which the library works on a device.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>
#include <memory>
#include <optional>

/// A CUDA stream as the driver names it: cudaStream_t is a pointer to it.
struct CUstream_st;

namespace tessera {

/// Memory of a GPU in the order of a stream; derive from it to hand the library memory of your own. Calls may come from
/// several threads. Made after RMM's device_memory_resource.
class MemoryResource {
 public:
  virtual ~MemoryResource() = default;

  /// \param bytes above 0
  /// \param stream the memory is for work that is put into it from now on
  /// \returns memory of the context's GPU, 256-byte aligned; null when there is none, and the library throws
  /// OutOfMemory. Exceptions pass through the library
  [[nodiscard]] virtual void* allocate(std::uint64_t bytes, CUstream_st* stream) = 0;

  /// \param data,bytes as allocated \param stream work already put into it may still use the memory
  virtual void deallocate(void* data, std::uint64_t bytes, CUstream_st* stream) noexcept = 0;

 protected:
  MemoryResource() = default;
  MemoryResource(const MemoryResource&) = default;
  MemoryResource& operator=(const MemoryResource&) = default;
};

/// What a Context takes from its user.
struct ContextOptions {
  /// A stream of the caller on that GPU, which outlives the context and all that was made with it; a null pointer is
  /// CUDA's default stream. Nothing: the context makes a stream, which does not wait for the default stream.
  std::optional<CUstream_st*> stream = std::nullopt;
  /// Null: a memory pool, one per GPU, that keeps freed memory.
  std::shared_ptr<MemoryResource> memory = nullptr;
};

/// What the library did in a context since it was made. Each costs time that a loop over many solves can save.
struct ContextCounts {
  std::uint64_t allocations = 0;  ///< of memory of the GPU
  std::uint64_t waits = 0;        ///< of the host for the stream
  std::uint64_t recordings = 0;   ///< of CUDA graphs
};

/// A device with a stream and memory. It converts to the Device that vectors, plans, SpGEMM and preconditioners take;
/// they and what they make keep the context alive, and a solver works in that of its matrix. All of their work is
/// put into this stream, in order; the library waits for this stream alone, never for the device, and only where the
/// host needs a result. Contexts work side by side, each from a thread of its own; one context serves one thread at a
/// time.
///
/// An object of one context may be read in another after wait_for(). A Device that comes from no context stands for
/// the library's own stream on that GPU. On the host a context is the device alone.
class Context {
 public:
  /// \throws InvalidArgument for a stream or a memory resource on the host; CudaError, OutOfMemory
  explicit Context(const Device& device = Device{}, ContextOptions options = {});

  [[nodiscard]] const Device& device() const noexcept { return device_; }
  operator const Device&() const noexcept { return device_; }  // NOLINT(google-explicit-constructor)

  /// Null on the host, and for CUDA's default stream.
  [[nodiscard]] CUstream_st* stream() const;

  /// Work put into this context from now on waits for all that `other` has got; the host does not wait.
  /// \throws InvalidArgument where one is the host and the other is not; CudaError
  void wait_for(const Context& other) const;

  /// Waits on the host for all work of this context. \throws CudaError when it failed
  void synchronize() const { tessera::synchronize(device_); }

  /// Zero on the host.
  [[nodiscard]] ContextCounts counts() const;

 private:
  Device device_;
};

}  // namespace tessera
