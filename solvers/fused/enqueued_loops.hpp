/// \file
/// A solve without the host: operations and nested loops that are put into the stream of a GPU as a whole, as CUDA
/// graphs with conditional nodes. On the host, and on a GPU without graphs, they run when they are called.
#pragma once

#include "solvers/fused/loop.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace tessera::cuda {

/// The state of a solve on its GPU, and the loops that ask it.
class EnqueuedLoops {
 public:
  /// \throws OutOfMemory, CudaError; DeviceUnavailable in a build without CUDA
  EnqueuedLoops(const Device& device, std::uint64_t state_bytes);
  EnqueuedLoops(const EnqueuedLoops&) = delete;
  EnqueuedLoops& operator=(const EnqueuedLoops&) = delete;
  ~EnqueuedLoops();

  [[nodiscard]] const LoopFrame& frame() const noexcept;
  /// Whether the loops are being recorded.
  [[nodiscard]] bool is_graph() const noexcept;

  /// Puts the loops into the stream of the device. Where that is being recorded, they go into that graph;
  /// else into a graph that is recorded at the first call, and launched. `loops` may neither allocate nor wait, and
  /// what it refers to stays where it is. \throws CudaError; DeviceUnavailable where it is recorded and the driver
  /// has no loops in graphs
  void enqueue(const std::function<void()>& loops);
  /// The next enqueue() records anew.
  void forget() noexcept;

  // Inside of enqueue().

  void repeat_until_halted(const std::function<void()>& body);
  /// Until the state's halt is Halt::done.
  void repeat_until_done(const std::function<void()>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The kernel of an operation on the state alone, op(state), which runs in a halted state too:
///   using State;
///   void operator()(State&) const;
template <class Op>
struct StateOp {
  static void enqueue(const Device& device, const LoopFrame& frame, const Op& op);
};

}  // namespace tessera::cuda

namespace tessera::fused {

/// The operations of a solve and its state, on the host or on a GPU, where every product can be enqueued.
template <class State>
class EnqueuedSolve {
 public:
  explicit EnqueuedSolve(const Device& device)
      : device_(device),
        loops_(device.is_host() ? nullptr : std::make_unique<cuda::EnqueuedLoops>(device, sizeof(State))) {}

  /// What is recorded in it stays valid for later calls.
  void enqueue(const std::function<void()>& loops) {
    if (loops_) return loops_->enqueue(loops);
    loops();
  }
  void forget() noexcept {
    if (loops_) loops_->forget();
  }

  template <class Op>
  void update_state(const Op& op) {
    if (loops_) return cuda::StateOp<Op>::enqueue(device_, loops_->frame(), op);
    op(state_);
  }

  /// A fused operation on n > 0 elements.
  template <class Op>
  void apply(std::int64_t n, const Op& op) {
    if (loops_) return cuda::LoopOp<Op>::record(device_, loops_->frame(), n, op, std::exchange(dot_parts_, {}));
    apply_from_host(device_, n, op, state_);
  }

  /// y = A x; the state's dots are those with w.
  template <class T>
  void product(const FusedOperator<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w) {
    if (loops_) {
      dot_parts_ = enqueue_product(a, x, y, w, loops_->frame(), loops_->is_graph());
    } else if (!state_.halted()) {
      state_.dots = a.apply_and_dot(x, y, w);
    }
  }

  template <class Body>
  void repeat_until_halted(const Body& body) {
    if (loops_) return loops_->repeat_until_halted(body);
    while (!state_.halted()) body();
  }
  template <class Body>
  void repeat_until_done(const Body& body) {
    if (loops_) return loops_->repeat_until_done(body);
    while (state_.halt != Halt::done) body();
  }

 private:
  Device device_;
  State state_;  ///< on the host
  std::unique_ptr<cuda::EnqueuedLoops> loops_;
  std::span<const ProductDots> dot_parts_;  ///< of the latest product, for the next operation to add
};

}  // namespace tessera::fused
