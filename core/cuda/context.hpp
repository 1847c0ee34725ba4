/// \file
/// State behind a tessera::Context on a GPU: its stream, memory, limits and side streams.
#pragma once

#include "core/cuda/device_limits.hpp"
#include "tessera/context.hpp"
#include "tessera/device.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>

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

/// One stream of a GPU in use. All work of the library for a Device goes into the stream of its context, in order. So a
/// call may reuse memory that an earlier call freed, and a copy to the host waits for everything before it.
class Context {
 public:
  /// The context that a Device carries, else the library's own for that GPU, which is made at first use and never
  /// destroyed: static objects may still free arrays at exit. \throws DeviceUnavailable, CudaError
  [[nodiscard]] static Context& of(const Device& device);

  /// The same GPU with a context of its own. \throws as of()
  [[nodiscard]] static Device make(const Device& device, ContextOptions&& options);

  /// Whether any GPU is in use; asks no driver.
  [[nodiscard]] static bool any() noexcept;

  /// The library's own of a GPU. The device must be current.
  explicit Context(const Device& device);
  /// One with the pool and the limits of `first`.
  Context(const Device& device, const Context& first, ContextOptions&& options);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  /// The stream of the context, or the stream that StreamGuard has set for this thread.
  [[nodiscard]] cudaStream_t stream() const noexcept;
  [[nodiscard]] cudaMemPool_t pool() const noexcept { return pool_; }
  /// Null: the pool.
  [[nodiscard]] MemoryResource* resource() const noexcept { return resource_.get(); }
  [[nodiscard]] const DeviceLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] int multiprocessors() const noexcept { return limits_.multiprocessors; }
  [[nodiscard]] SumSpace& sum_space() const noexcept { return sum_space_; }

  /// Waits for all work of the stream. \throws CudaError when earlier work failed
  void synchronize() const;

  /// Records the work enqueued so far in event(). \throws CudaError
  void record_event() const;
  [[nodiscard]] cudaEvent_t event() const noexcept { return event_; }

  [[nodiscard]] ContextCounts counts() const noexcept {
    return {allocations_.load(), waits_.load(), recordings_.load()};
  }
  void count_allocation() const noexcept { ++allocations_; }
  void count_recording() const noexcept { ++recordings_; }

  /// An object that lives as long as the context, made at first use: side streams, handles of libraries. At most one
  /// of each type.
  template <class Companion, class Make>
  [[nodiscard]] Companion& companion(const Make& make) const {
    const std::scoped_lock lock(companions_mutex_);
    std::shared_ptr<void>& known = companions_[typeid(Companion)];
    if (known == nullptr) known = std::shared_ptr<Companion>(make());
    return *static_cast<Companion*>(known.get());
  }

 private:
  void make_event_and_sum_space();

  int ordinal_;
  bool owns_stream_ = true;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  std::shared_ptr<MemoryResource> resource_;
  DeviceLimits limits_;
  mutable SumSpace sum_space_;
  mutable std::atomic<std::uint64_t> allocations_ = 0;
  mutable std::atomic<std::uint64_t> waits_ = 0;
  mutable std::atomic<std::uint64_t> recordings_ = 0;
  mutable std::mutex companions_mutex_;
  mutable std::map<std::type_index, std::shared_ptr<void>> companions_;
};

/// Redirects the launches of this thread on one GPU to another stream.
class StreamGuard {
 public:
  StreamGuard(const Context& context, cudaStream_t stream) noexcept;
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;
  ~StreamGuard();
};

/// Further streams of a context for independent launches, made at first use and kept. Usage: Fork, then run(k, work)
/// for independent pieces of work; work enqueued after the end of the fork waits for all of them.
class SideStreams {
 public:
  static constexpr int count = 4;

  /// The side streams of a context. \throws CudaError
  [[nodiscard]] static SideStreams& of(const Device& device);

  explicit SideStreams(const Context& context);
  SideStreams(const SideStreams&) = delete;
  SideStreams& operator=(const SideStreams&) = delete;
  ~SideStreams();

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
