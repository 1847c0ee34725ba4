/// \file
/// Launches that need not wait for each other.
#pragma once

#include "core/cuda/context.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <mutex>

namespace tessera::cuda {

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
