/// \file
/// The loop of an iterative method, written once and run in one of two ways: step by step, by the host, on whatever
/// device the vectors lie; or recorded and then run by a GPU alone, where the operators can be put into its stream
/// without waiting for it.
///
/// A method gives its iteration as products and passes. A pass is a Step:
///   using Body, State;
///   void begin(State&) const                     what follows from the scalars so far; may halt the loop
///   Body bind(const State&) const                what to do at every index; Body::Sums is what it adds up
///   void finish(State&, const Body::Sums&) const what follows from the sums; may halt the loop
/// begin() and finish() run on the host or a GPU. After a halt nothing runs any more, until the state is mended and
/// run() called again.
#pragma once

#include "core/stopwatch.hpp"
#include "solvers/loop/resident_loop.hpp"
#include "solvers/passes/run.hpp"
#include "tessera/linear_operator.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace tessera::loop {

/// How long a GPU runs before it reports: the delay of progress, time limits and interrupts.
inline constexpr double report_seconds = 0.01;
inline constexpr std::int64_t first_report_iterations = 16;
inline constexpr std::int64_t most_report_iterations = 1000;

template <class State>
class Loop {
 public:
  /// \param resident whether every product of the iteration can be enqueued
  Loop(const Device& device, bool resident) : device_(device), resident_(resident && cuda::can_record_loops(device)) {}

  /// Between runs.
  [[nodiscard]] State& state() noexcept { return state_; }
  [[nodiscard]] const State& state() const noexcept { return state_; }

  /// Runs iteration(*this) until the state halts or note(entry), called for every completed iteration in order, says
  /// false. A resident loop may be some iterations ahead by then, of which note() hears too.
  template <class Iteration, class Note>
  void run(Iteration&& iteration, Note&& note) {
    if (resident_) {
      run_resident(iteration, note);
    } else {
      run_stepwise(iteration, note);
    }
  }

  // For the iteration.

  /// One step over [0, n). With n = 0 scalars alone.
  template <class Step>
  void pass(std::int64_t n, const Step& step) {
    if (recorded_ != nullptr) {
      return cuda::LoopPass<Step>::record(device_, recorded_->frame(), n, step, std::exchange(dot_parts_, {}));
    }
    if (state_.halted()) return;
    step.begin(state_);
    if (state_.halted()) return;
    step.finish(state_, n > 0 ? run_pass(device_, n, step.bind(state_)) : typename Step::Body::Sums{});
  }

  /// out.current() = A x; the state's dots are those with w.
  template <class T>
  void product(const LinearOperator<T>& a, std::span<const T> x, DualBuffer<T>& out, std::span<const T> w) {
    if (recorded_ != nullptr) {
      enqueue_product(a, x, out, w);
    } else if (!state_.halted()) {
      state_.dots = a.apply_and_dot(x, out, w);
    }
  }
  template <class T>
  void product(const LinearOperator<T>& a, std::span<const T> x, std::span<T> y, std::span<const T> w) {
    if (recorded_ != nullptr) {
      enqueue_product(a, x, y, w);
    } else if (!state_.halted()) {
      state_.dots = a.apply_and_dot(x, y, w);
    }
  }

 private:
  /// In a graph nothing comes between the product and the pass that adds its parts up; without one, another thread
  /// might multiply with the same plan.
  template <class T, class Output>
  void enqueue_product(const LinearOperator<T>& a, std::span<const T> x, Output&& out, std::span<const T> w) {
    ProductDots* const dots = &static_cast<LoopControl*>(recorded_->frame().state)->dots;
    if (!recorded_->is_graph()) return a.enqueue_apply_and_dot(x, out, w, dots);
    const std::span<const ProductDots> parts = a.enqueue_apply_and_dot_parts(x, out, w, dots);
    if (parts.data() != dots) dot_parts_ = parts;
  }

  template <class Iteration, class Note>
  void run_stepwise(Iteration& iteration, Note& note) {
    while (!state_.halted()) {
      const std::int64_t before = state_.iteration;
      iteration(*this);
      if (state_.iteration == before) continue;
      if (!note(LoopEntry{state_.iteration, state_.norm, watch_.seconds()})) return;
    }
  }

  template <class Iteration, class Note>
  void run_resident(Iteration& iteration, Note& note) {
    if (state_.halted()) return;
    if (!graph_) record(iteration);
    bool enter = true;
    std::int64_t chunk = first_report_iterations;
    while (!state_.halted()) {
      const double started = watch_.seconds();
      const auto entries = graph_->run(chunk, &state_, enter);
      const double each = (watch_.seconds() - started) / static_cast<double>(std::max<std::size_t>(entries.size(), 1));
      chunk = std::clamp(static_cast<std::int64_t>(report_seconds / each), std::int64_t{1}, most_report_iterations);
      enter = false;
      bool go_on = true;
      for (const LoopEntry& entry : entries) {
        go_on = note(LoopEntry{entry.iteration, entry.norm, started + entry.seconds}) && go_on;
      }
      if (!go_on) return;
    }
  }

  /// The iteration may be called later too, so all that it refers to has to outlive the loop.
  template <class Iteration>
  void record(Iteration& iteration) {
    auto graph = std::make_unique<cuda::ResidentLoop>(device_, sizeof(State));
    graph->record([this, iteration, into = graph.get()]() mutable {
      const Recording recording(recorded_, into);
      iteration(*this);
    });
    graph_ = std::move(graph);
  }

  /// Sets a pointer for a while.
  class Recording {
   public:
    Recording(cuda::ResidentLoop*& place, cuda::ResidentLoop* into) noexcept : place_(place) { place_ = into; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
    ~Recording() { place_ = nullptr; }

   private:
    cuda::ResidentLoop*& place_;
  };

  Device device_;
  bool resident_;
  State state_;
  Stopwatch watch_;
  std::unique_ptr<cuda::ResidentLoop> graph_;
  cuda::ResidentLoop* recorded_ = nullptr;  ///< while it is being recorded
  std::span<const ProductDots> dot_parts_;  ///< of the latest product, for the pass after it to add up
};

}  // namespace tessera::loop
