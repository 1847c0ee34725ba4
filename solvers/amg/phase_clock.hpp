/// \file
/// Times of the phases of a set-up: wall-clock times on the host, times between events of the stream on a GPU, where
/// nothing waits for them.
#pragma once

#include "core/stopwatch.hpp"
#include "tessera/amg.hpp"
#include "tessera/device.hpp"

#include <memory>
#include <vector>

namespace tessera::cuda {

/// Events of one stream.
class EventClock {
 public:
  explicit EventClock(const Device& device);
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;
  ~EventClock();

  /// \throws CudaError
  void mark();
  /// Between marks. Waits for the last one.
  [[nodiscard]] std::vector<double> milliseconds() const;

 private:
  Device device_;
  std::vector<void*> events_;
};

}  // namespace tessera::cuda

namespace tessera::detail {

class PhaseClock {
 public:
  using Phase = double AmgSetupTimes::*;

  explicit PhaseClock(const Device& device)
      : events_(device.is_host() ? nullptr : std::make_unique<cuda::EventClock>(device)) {
    if (events_) events_->mark();
  }

  /// What happened since the last end, or since the clock was made, was `phase`.
  void end(Phase phase) {
    phases_.push_back(phase);
    if (events_) return events_->mark();
    const double now = watch_.milliseconds();
    durations_.push_back(now - last_);
    last_ = now;
  }

  /// Adds all phases so far. Waits for the device. Once.
  void add_to(AmgSetupTimes& times) {
    if (events_) durations_ = events_->milliseconds();
    for (std::size_t i = 0; i < phases_.size(); ++i) times.*phases_[i] += durations_[i];
  }

 private:
  Stopwatch watch_;
  double last_ = 0.0;
  std::unique_ptr<cuda::EventClock> events_;
  std::vector<Phase> phases_;
  std::vector<double> durations_;
};

}  // namespace tessera::detail
