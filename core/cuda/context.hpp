/// \file
/// What the CUDA backend keeps of one GPU for the life of the process: its stream, its memory pool, its size.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "tessera/device.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace tessera::cuda {

/// Makes a GPU the current one of this thread, and the one before it again at the end.
class CurrentDevice {
 public:
  /// \throws CudaError
  explicit CurrentDevice(const Device& device);
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice();

 private:
  int previous_ = 0;
  bool switched_ = false;
};

/// Where a pass over vectors keeps the sums of its blocks, and where the host finds their total: made once, so that no
/// iteration allocates. One pass at a time may use it.
struct SumSpace {
  static constexpr int values = 1025;
  static constexpr int value_bytes = 64;
  static constexpr int host_bytes = 4096;
  std::mutex mutex;
  void* on_device = nullptr;  ///< values * value_bytes
  void* on_host = nullptr;    ///< host_bytes, page-locked
};

/// What costs time besides work on the GPU, since the context was made.
struct ContextCounts {
  std::uint64_t allocations = 0;
  std::uint64_t waits = 0;
};

/// One GPU in use. All work of the library on it goes into one stream, in order; so memory that one call frees another
/// may take at once, and a copy to the host waits for everything before it.
class Context {
 public:
  /// The context of a GPU, made at its first use and never taken down: static objects may still free arrays at exit.
  /// \throws DeviceUnavailable, CudaError
  [[nodiscard]] static Context& of(const Device& device);

  /// Whether any GPU is in use; asks no driver.
  [[nodiscard]] static bool any() noexcept;

  explicit Context(int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() = delete;

  /// The stream of the GPU; on a thread that records a graph for it (StreamOfThread), the one that is recorded.
  [[nodiscard]] cudaStream_t stream() const noexcept;
  [[nodiscard]] cudaMemPool_t pool() const noexcept { return pool_; }
  [[nodiscard]] const DeviceLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] int multiprocessors() const noexcept { return limits_.multiprocessors; }
  [[nodiscard]] SumSpace& sum_space() const noexcept { return sum_space_; }

  /// Waits for all work of the stream. \throws CudaError for whatever failed meanwhile
  void synchronize() const;

  [[nodiscard]] ContextCounts counts() const noexcept { return {allocations_.load(), waits_.load()}; }
  void count_allocation() const noexcept { ++allocations_; }

 private:
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  DeviceLimits limits_;
  mutable SumSpace sum_space_;
  mutable std::atomic<std::uint64_t> allocations_ = 0;
  mutable std::atomic<std::uint64_t> waits_ = 0;
};

/// Puts what this thread launches on one GPU into another stream than the GPU's own.
class StreamOfThread {
 public:
  StreamOfThread(const Context& context, cudaStream_t stream) noexcept;
  StreamOfThread(const StreamOfThread&) = delete;
  StreamOfThread& operator=(const StreamOfThread&) = delete;
  ~StreamOfThread();
};

/// Some streams beside that of a GPU, made at first use and kept. Usage: Fork, then run(k, work) for pieces of work
/// that need nothing of each other; what comes after the fork's end waits for all of them.
class SideStreams {
 public:
  static constexpr int count = 4;

  /// Those of a GPU. \throws CudaError
  [[nodiscard]] static SideStreams& of(const Device& device);

  explicit SideStreams(const Device& device);
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams() = delete;

  /// Holds the streams for one thread, from what is in the device's stream now to what comes later. Memory must be
  /// neither taken nor given back inside run(), which the stream of the device orders.
  class Fork {
   public:
    /// \throws CudaError
    explicit Fork(const Device& device);
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    /// Joins, also after an exception.
    ~Fork();

    /// Puts what work() launches into stream number k % count.
    template <class Work>
    void run(int k, Work&& work) {
      const StreamOfThread other(context_, enter(k % count));
      work();
    }

   private:
    [[nodiscard]] cudaStream_t enter(int k);

    SideStreams& streams_;
    const Context& context_;
    std::unique_lock<std::mutex> alone_;
    std::array<bool, count> used_{};
  };

 private:
  const Context& context_;
  std::mutex mutex_;
  cudaEvent_t forked_ = nullptr;
  std::array<cudaStream_t, count> streams_{};
  std::array<cudaEvent_t, count> done_{};
};

}  // namespace tessera::cuda
