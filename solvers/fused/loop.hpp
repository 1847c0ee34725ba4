/// \file
/// The loop of an iterative method, written once and run in one of two ways. The host calls its operations one by one,
/// on whatever device the vectors lie; or a GPU runs them by itself in a GraphLoop, where every product can be
/// enqueued. There a method may give a kernel that is the whole loop.
///
/// On a device that is a rank of a group every rank runs the same loop, in step: its sums are those over all ranks.
///
/// A method gives its iteration as products and fused operations (fused/ops.hpp). After a halt nothing runs any more,
/// until the host has dealt with the halt and calls run() again.
#pragma once

#include "core/enqueued_product.hpp"
#include "core/group_rank.hpp"
#include "core/stopwatch.hpp"
#include "solvers/fused/block_pass.hpp"
#include "solvers/fused/graph_loop.hpp"
#include "solvers/fused/recorded_iteration.hpp"
#include "solvers/fused/transform_reduce.hpp"
#include "tessera/fused_operator.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <utility>

namespace tessera::fused {

/// How long a GPU runs between two reports: the delay of progress, time limits and interrupts.
inline constexpr double report_seconds = 0.01;
inline constexpr std::int64_t first_report_iterations = 16;
/// Of one kernel, whose iterations take some 5 µs.
inline constexpr std::int64_t first_report_iterations_of_kernel = 64;
inline constexpr std::int64_t most_report_iterations = 1000;

/// Evaluating the condition of a graph takes some microseconds, so short iterations are recorded four times per
/// evaluation. After a halt their operations do nothing, but products run on: long iterations, whose preconditioner is
/// a product, are recorded once.
inline constexpr int short_iterations_per_check = 4;

/// A fused operation on n > 0 elements, called by the host.
template <class Op>
void apply_from_host(const Device& device, std::int64_t n, const Op& op, typename Op::State& state) {
  if (state.halted()) return;
  op.scalars_before(state);
  if (state.halted()) return;
  op.scalars_after(state, transform_reduce(device, n, BoundOp<Op>{op, op.scalars(state)}));
}

/// y = A x in the stream of a GPU; the dots of the state are those with w. In a graph the next operation adds the parts
/// of the inner products. Without a graph, another thread might multiply with the same plan in between, so the product
/// adds them itself.
/// \returns the parts that the next operation has to add. Those of a product before, which none has taken, do not count
template <class T>
[[nodiscard]] std::span<const ProductDots> enqueue_product(const FusedOperator<T>& a, std::span<const T> x,
                                                           std::span<T> y, std::span<const T> w,
                                                           const cuda::LoopFrame& frame, bool is_graph) {
  auto* const control = static_cast<LoopControl*>(frame.state);
  ProductDots* const dots = &control->dots;
  const detail::EnqueuedProduct<T>& product = *detail::EnqueuedProduct<T>::of(a);
  if (!is_graph) {
    product.enqueue(x, y, w, dots);
    return {};
  }
  const std::span<const ProductDots> parts =
      product.enqueue_parts(x, y, w, dots, reinterpret_cast<const std::int32_t*>(&control->halt));
  return parts.data() != dots ? parts : std::span<const ProductDots>{};
}

template <class State>
class Loop {
 public:
  /// \param enqueueable whether every product of the iteration can be enqueued
  Loop(const Device& device, bool enqueueable, int iterations_per_check = short_iterations_per_check)
      : device_(device),
        on_gpu_(enqueueable && cuda::has_graph_loops(device)),
        iterations_per_check_(iterations_per_check) {}

  /// launch(cuda::LoopFrame) puts a kernel into the device's stream that does the work of the iterations (GraphLoop::
  /// run_by_kernel()), on a GPU alone. Before the first run.
  void run_by_kernel(std::function<void(const cuda::LoopFrame&)> launch) {
    graph_ = std::make_unique<cuda::GraphLoop>(device_, sizeof(State), iterations_per_check_);
    graph_->run_by_kernel([launch = std::move(launch), frame = graph_->frame()] { launch(frame); });
    chunk_ = first_report_iterations_of_kernel;
  }

  /// Before another solve by the same iteration: a new state and clock. What a GPU has recorded stays.
  void reset() {
    state_ = State{};
    watch_ = Stopwatch{};
    dot_parts_ = {};
  }

  /// Between runs.
  [[nodiscard]] State& state() noexcept { return state_; }
  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// Where the operations find the state while the loop runs, and scalars beside it.
  [[nodiscard]] Device device_of_state() const { return on_gpu_ ? device_ : Device{}; }

  /// Runs iteration(*this) until the state halts or note(entry) says false. note() is called once per completed
  /// iteration, in order. A GraphLoop may be some iterations ahead by then; note() hears of these too.
  template <class Iteration, class Note>
  void run(Iteration&& iteration, Note&& note) {
    if (on_gpu_) {
      run_on_gpu(iteration, note);
    } else {
      run_from_host(iteration, note);
    }
  }

  // For the iteration.

  /// A fused operation on n > 0 elements.
  template <class Op>
  void apply(std::int64_t n, const Op& op) {
    if (recording_ != nullptr) return record(n, op);
    apply_from_host(device_, n, op, state_);
  }

  /// A block operation on n > 0 elements.
  template <class Op>
  void apply_block(std::int64_t n, const Op& op, BlockSpace& space) {
    if (recording_ != nullptr) {
      const std::span<const ProductDots> parts = std::exchange(dot_parts_, {});
      return cuda::LoopBlock<Op>::record(device_, recording_->frame(), n, op, space, parts);
    }
    if (state_.halted()) return;
    op.scalars_before(state_);
    if (state_.halted()) return;
    op.scalars_after(state_, block_pass(device_, n, op, op.scalars(state_), op.columns(state_), space));
  }

  /// An operation on scalars alone.
  template <class Op>
  void apply_scalars(const Op& op) {
    if (recording_ != nullptr) return record(0, op);
    if (!state_.halted()) op.scalars_before(state_);
  }

  /// enqueue(cuda::LoopFrame) puts kernels of the method's own into the iteration, on a GPU alone. They do nothing
  /// while the state is halted.
  template <class Enqueue>
  void enqueue(const Enqueue& enqueue) {
    enqueue(recording_->frame());
  }

  /// out.current() = A x; the state's dots are those with w.
  template <class T>
  void product(const FusedOperator<T>& a, std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) {
    if (recording_ != nullptr) {
      out.set_prepared_for(0);
      record_product<T>(a, x, out.current(), w);
    } else if (!state_.halted()) {
      state_.dots = a.apply_and_dot(x, out, w);
    }
  }
  template <class T>
  void product(const FusedOperator<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w) {
    if (recording_ != nullptr) {
      record_product<T>(a, x, y, w);
    } else if (!state_.halted()) {
      state_.dots = a.apply_and_dot(x, y, w);
    }
  }

 private:
  template <class Op>
  void record(std::int64_t n, const Op& op) {
    cuda::LoopOp<Op>::record(device_, recording_->frame(), n, op, std::exchange(dot_parts_, {}));
  }

  template <class T>
  void record_product(const FusedOperator<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w) {
    dot_parts_ = enqueue_product<T>(a, x, y, w, recording_->frame(), recording_->is_graph());
  }

  template <class Iteration, class Note>
  void run_from_host(Iteration& iteration, Note& note) {
    while (!state_.halted()) {
      const std::int64_t before = state_.iteration;
      iteration(*this);
      if (state_.iteration == before) continue;
      const bool proceed = note(LoopEntry{state_.iteration, state_.norm, watch_.seconds()});
      if (!tessera::detail::decided_by_first(device_, proceed)) return;
    }
  }

  template <class Iteration, class Note>
  void run_on_gpu(Iteration& iteration, Note& note) {
    if (state_.halted()) return;
    if (!graph_) {
      graph_ = record_iteration(device_, sizeof(State), iterations_per_check_, *this, recording_, iteration);
      // Recording takes memory, for which a GPU may have to wait for others: none of them may wait in a kernel by then.
      static_cast<void>(tessera::detail::decided_by_first(device_, true));
    }
    bool enter = true;
    while (!state_.halted()) {
      const double started = watch_.seconds();
      const auto entries = graph_->run(chunk_, &state_, enter);
      const double each = (watch_.seconds() - started) / static_cast<double>(std::max<std::size_t>(entries.size(), 1));
      const auto next = static_cast<std::int64_t>(report_seconds / each);
      chunk_ = std::clamp(tessera::detail::decided_by_first(device_, next), std::int64_t{1}, most_report_iterations);
      enter = false;
      bool proceed = true;
      for (const LoopEntry& entry : entries) {
        proceed = note(LoopEntry{entry.iteration, entry.norm, started + entry.seconds}) && proceed;
      }
      if (!tessera::detail::decided_by_first(device_, proceed)) return;
    }
  }

  Device device_;
  bool on_gpu_;
  int iterations_per_check_;
  State state_;
  Stopwatch watch_;
  std::unique_ptr<cuda::GraphLoop> graph_;
  std::int64_t chunk_ = first_report_iterations;  ///< iterations until the next report
  cuda::GraphLoop* recording_ = nullptr;          ///< while an iteration is being recorded
  std::span<const ProductDots> dot_parts_;        ///< of the latest product, for the next operation to add
};

}  // namespace tessera::fused
