/// \file
/// A loop that a GPU runs by itself: recorded once into a CUDA graph, it goes round until its state halts, without the
/// host in between. With a driver for CUDA before 12.4, or TESSERA_CUDA_GRAPHS=0 in the environment, the host launches
/// some rounds at a time instead.
#pragma once

#include "solvers/loop/loop_control.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace tessera::cuda {

/// Where a loop lies in the memory of its GPU. The state begins with its LoopControl.
struct LoopFrame {
  void* state = nullptr;
  void* head = nullptr;  ///< a LoopHead
};

/// Whether loops can be recorded on a device: false for the host.
[[nodiscard]] bool can_record_loops(const Device& device);

/// One loop on one GPU.
class ResidentLoop {
 public:
  /// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
  ResidentLoop(const Device& device, std::uint64_t state_bytes);
  ResidentLoop(const ResidentLoop&) = delete;
  ResidentLoop& operator=(const ResidentLoop&) = delete;
  ~ResidentLoop();

  [[nodiscard]] const LoopFrame& frame() const noexcept;
  /// Whether it goes round by itself; otherwise the host launches every pass.
  [[nodiscard]] bool is_graph() const noexcept;

  /// Records what `iteration` puts into the device's stream on this thread; nothing of it runs yet. It is called
  /// several times and may neither allocate nor wait, in run() too.
  void record(std::function<void()> iteration);

  /// Runs until the state halts or about `iterations` more are done (some more than asked for are possible).
  /// \param state in: where the loop starts, when `enter`; out: where it stands
  /// \returns what it noted, one entry an iteration; seconds count from the beginning of this call. Valid until the
  /// next \throws CudaError
  std::span<const loop::LoopEntry> run(std::int64_t iterations, void* state, bool enter);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Records one pass of a loop: step.begin(state), the body that step.bind(state) gives for every index in [0, n), and
/// step.finish(state, sums). Does nothing while the state is halted. For the steps that krylov_steps_list.hpp lists.
/// \param dot_parts on the device, to be added up into the state's dots first, if there are any
template <class Step>
struct LoopPass {
  static void record(const Device& device, const LoopFrame& frame, std::int64_t n, const Step& step,
                     std::span<const ProductDots> dot_parts);
};

}  // namespace tessera::cuda
