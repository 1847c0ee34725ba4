/// \file
/// CUDA graphs, recorded from what a thread puts into the stream of a device; also such that go round by themselves, by
/// a conditional while node (CUDA 12.4).
#pragma once

#include "core/cuda/context.hpp"

#include <functional>

namespace tessera::cuda {

/// Whether graphs are to be recorded: not where the driver is too old for those that go round, nor where the
/// environment says so (TESSERA_CUDA_GRAPHS=0), for tools that do not follow kernels into conditional nodes.
[[nodiscard]] bool graphs_are_usable();

/// A graph of one or two parts: what runs once, then perhaps a body that runs for as long as a condition, which kernels
/// set by cudaGraphSetConditional(condition(), 0 or 1), is 1. Before each launch it is 0.
class LoopGraph {
 public:
  /// \throws CudaError
  explicit LoopGraph(const Device& device);
  LoopGraph(const LoopGraph&) = delete;
  LoopGraph& operator=(const LoopGraph&) = delete;
  ~LoopGraph();

  /// Of a graph with a body.
  [[nodiscard]] cudaGraphConditionalHandle condition();

  // Each once at most, in this order. What the calling thread launches meanwhile is recorded instead of run; work of
  // other threads goes its usual way.
  void record_before(const std::function<void()>& work);
  void record_body(const std::function<void()>& work);
  /// Makes it ready to be launched. \throws CudaError
  void complete();

  /// Puts it into the device's stream.
  void launch() const;

 private:
  void record(cudaGraph_t into, const std::function<void()>& work);
  [[nodiscard]] cudaGraph_t add_loop();

  const Context& context_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< for recording
  bool has_condition_ = false;
  cudaGraphConditionalHandle condition_ = 0;
};

}  // namespace tessera::cuda
