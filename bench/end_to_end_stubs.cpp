// bench_end_to_end without CUDA: there is no GPU to measure.
#include "bench/end_to_end_device.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {

DeviceMemory device_memory(const Device& /*device*/, bool /*reset_peak*/) { return {}; }

struct RecordedStep::Impl {};

RecordedStep::RecordedStep() { throw DeviceUnavailable("this build has no CUDA backend"); }
RecordedStep::~RecordedStep() = default;
CUstream_st* RecordedStep::stream() const { return nullptr; }
void RecordedStep::record(const std::function<void()>& /*work*/) {}
void RecordedStep::launch() {}
void RecordedStep::wait() {}
void RecordedStep::enqueue_scaled(double /*factor*/, std::span<const double> /*u*/, std::span<double> /*b*/) {}

}  // namespace tessera::bench
