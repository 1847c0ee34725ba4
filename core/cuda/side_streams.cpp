#include "core/cuda/side_streams.hpp"

#include "core/cuda/check.hpp"

#include <map>

namespace tessera::cuda {

SideStreams& SideStreams::of(const Device& device) {
  static std::mutex mutex;
  // Never taken down, as the streams: work may still be on its way at exit.
  static auto& all = *new std::map<int, SideStreams*>;
  const std::scoped_lock lock(mutex);
  SideStreams*& known = all[device.ordinal()];
  if (known == nullptr) known = new SideStreams(device);
  return *known;
}

SideStreams::SideStreams(const Device& device) : context_(Context::of(device)) {
  const CurrentDevice current(device);
  check(cudaEventCreateWithFlags(&forked_, cudaEventDisableTiming), "making an event");
  for (int k = 0; k < count; ++k) {
    const auto i = static_cast<std::size_t>(k);
    check(cudaStreamCreateWithFlags(&streams_[i], cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreateWithFlags(&done_[i], cudaEventDisableTiming), "making an event");
  }
}

SideStreams::Fork::Fork(const Device& device)
    : streams_(of(device)), context_(streams_.context_), alone_(streams_.mutex_) {
  check(cudaEventRecord(streams_.forked_, context_.stream()), "recording an event");
}

cudaStream_t SideStreams::Fork::enter(int k) {
  const auto i = static_cast<std::size_t>(k);
  if (!used_[i]) check(cudaStreamWaitEvent(streams_.streams_[i], streams_.forked_, 0), "waiting for an event");
  used_[i] = true;
  return streams_.streams_[i];
}

SideStreams::Fork::~Fork() {
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) continue;
    // An error here comes from earlier work, and shows at the next call.
    static_cast<void>(cudaEventRecord(streams_.done_[i], streams_.streams_[i]));
    static_cast<void>(cudaStreamWaitEvent(context_.stream(), streams_.done_[i], 0));
  }
}

}  // namespace tessera::cuda
