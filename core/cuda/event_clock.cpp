#include "core/cuda/event_clock.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/context.hpp"

#include <memory>

namespace tessera::cuda {

namespace {

class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "making an event"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }

  void record(const Context& context) { check(cudaEventRecord(event_, context.stream()), "recording an event"); }
  /// Of an event that is not earlier. Waits for it.
  [[nodiscard]] double milliseconds_until(const Event& later) const {
    check(cudaEventSynchronize(later.event_), "waiting for an event");
    float milliseconds = 0.0F;
    check(cudaEventElapsedTime(&milliseconds, event_, later.event_), "reading the clock of the device");
    return static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

struct Events {
  Event begin;
  Event end;
};

}  // namespace

TimingClock event_clock(const Device& device) {
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  return [device, &context, events = std::make_shared<Events>()](const std::function<void()>& work) {
    const CurrentDevice same(device);
    events->begin.record(context);
    work();
    events->end.record(context);
    return events->begin.milliseconds_until(events->end);
  };
}

}  // namespace tessera::cuda
