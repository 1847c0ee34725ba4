/// \file
/// State of one GPU for the life of the process: its stream, memory pool, limits and side streams.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "tessera/device.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace tessera::cuda {

/// Makes a GPU the current one of this thread; the destructor restores the previous one.
class DeviceGuard {
 public:
  /// \throws CudaError
  explicit DeviceGuard(const Device& device);
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  ~DeviceGuard();

 private:
  int previous_ = 0;
  bool switched_ = false;
};

/// Memory for sums over vectors: partial sums per block on the device, the total on the host. Allocated once, so that
/// no iteration allocates. One sum at a time may use it.
struct SumSpace {
  static constexpr int values = 1025;
  static constexpr int value_bytes = 64;
  static constexpr int host_bytes = 4096;
  std::mutex mutex;
  void* on_device = nullptr;  ///< values * value_bytes
  void* on_host = nullptr;    ///< host_bytes, page-locked
};

/// Allocations and waits since the context was made: both cost time.
struct ContextCounts {
  std::uint64_t allocations = 0;
  std::uint64_t waits = 0;
};

/// One GPU in use. All work of the library on it goes into one stream, in order. So a call may reuse memory that an
/// earlier call freed, and a copy to the host waits for everything before it.
class Context {
 public:
  /// The context of a GPU, made at first use and never destroyed: static objects may still free arrays at exit.
  /// \throws DeviceUnavailable, CudaError
  [[nodiscard]] static Context& of(const Device& device);

  /// Whether any GPU is in use; asks no driver.
  [[nodiscard]] static bool any() noexcept;

  explicit Context(int ordinal);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() = delete;

  /// The stream of the GPU, or the stream that StreamGuard has set for this thread.
  [[nodiscard]] cudaStream_t stream() const noexcept;
  [[nodiscard]] cudaMemPool_t pool() const noexcept { return pool_; }
  [[nodiscard]] const DeviceLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] int multiprocessors() const noexcept { return limits_.multiprocessors; }
  [[nodiscard]] SumSpace& sum_space() const noexcept { return sum_space_; }

  /// Waits for all work of the stream. \throws CudaError when earlier work failed
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

/// Redirects the launches of this thread on one GPU to another stream.
class StreamGuard {
 public:
  StreamGuard(const Context& context, cudaStream_t stream) noexcept;
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard();
};

/// Further streams of a GPU for independent launches, made at first use and kept. Usage: Fork, then run(k, work) for
/// independent pieces of work; work enqueued after the end of the fork waits for all of them.
class SideStreams {
 public:
  static constexpr int count = 4;

  /// The side streams of a GPU. \throws CudaError
  [[nodiscard]] static SideStreams& of(const Device& device);

  explicit SideStreams(const Device& device);
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams() = delete;

  /// Fork and join: the side streams wait for the work enqueued so far, later work waits for the side streams. Memory
  /// must be neither allocated nor freed inside run(): the stream of the device orders both.
  class Fork {
   public:
    /// \throws CudaError
    explicit Fork(const Device& device);
    Fork(const Fork&) = delete;
    Fork& operator=(const Fork&) = delete;
    /// Joins, also after an exception.
    ~Fork();

    /// Runs work() with its launches in stream k % count.
    template <class Work>
    void run(int k, Work&& work) {
      const StreamGuard other(context_, enter(k % count));
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
