/// \file
/// The observer of a solve that was started from Python: the caller's callback, and Ctrl-C.
#pragma once

#include "tessera/report.hpp"

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <string>

namespace tessera::python {

/// Calls the callback after every iteration, and asks for signals every 20 ms. An exception of either passes through
/// the solver. Works without the interpreter's lock between.
class Watch {
 public:
  /// \param callback called with an IterationInfo; what it returns, if true, stops the solve. None: no callback
  explicit Watch(nanobind::object callback = nanobind::none()) : callback_(std::move(callback)) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] Control operator()(const IterationInfo& info);

  /// From now on every look asks the solver to stop, without the interpreter's lock.
  void cancel() noexcept { is_cancelled_.store(true); }

  /// For the garbage collector: a callback may refer to the solver that it serves.
  [[nodiscard]] nanobind::handle callback() const { return callback_; }
  void drop_callback() { callback_ = nanobind::none(); }

  /// Makes the watch the observer of these options; it outlives the solve.
  template <class Options>
  void observe(Options& options) {
    options.observer = [this](const IterationInfo& info) { return (*this)(info); };
    options.stop_cause = [] { return std::string("stopped by the callback"); };
  }

 private:
  using Clock = std::chrono::steady_clock;

  nanobind::object callback_;
  Clock::time_point next_look_ = Clock::now();
  std::atomic<bool> is_cancelled_{false};
};

/// Raises what a signal asked for: a Ctrl-C during work without an observer. With the interpreter's lock.
void raise_signals();

}  // namespace tessera::python
