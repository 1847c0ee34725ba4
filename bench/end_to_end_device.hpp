/// \file
/// The parts of bench_end_to_end that call the CUDA runtime: memory of the library's pool, a recorded step.
#pragma once

#include "tessera/device.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

/// A CUDA stream as the driver names it.
struct CUstream_st;

namespace tessera::bench {

/// Bytes that the library holds on a GPU, the most since the last reset, and what others took there.
struct DeviceMemory {
  std::uint64_t held = 0;
  std::uint64_t peak = 0;
  std::uint64_t outside = 0;
};
[[nodiscard]] DeviceMemory device_memory(const Device& device, bool reset_peak);

/// A stream of the benchmark's own on a GPU, and a step that is recorded there as a CUDA graph.
/// \throws Error with the words of the CUDA runtime; DeviceUnavailable in a build without CUDA
class RecordedStep {
 public:
  RecordedStep();
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;
  ~RecordedStep();

  [[nodiscard]] CUstream_st* stream() const;
  /// \param work puts work into stream()
  void record(const std::function<void()>& work);
  void launch();
  void wait();
  /// b = factor u, both on the GPU of the stream.
  void enqueue_scaled(double factor, std::span<const double> u, std::span<double> b);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::bench
