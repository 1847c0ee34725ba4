/// \file
/// CUDA graphs, recorded from the work that a thread puts into the stream of a device; also loops on the device, by a
/// conditional while node (CUDA 12.4).
#pragma once

#include "core/cuda/context.hpp"

#include <functional>

namespace tessera::cuda {

/// Whether to record graphs: the driver must know conditional nodes. TESSERA_CUDA_GRAPHS=0 turns graphs off, for tools
/// that do not follow kernels into conditional nodes.
[[nodiscard]] bool graphs_are_usable();

/// Whether work that this thread puts into the stream of the context is being recorded. \throws CudaError
[[nodiscard]] bool is_recording(const Context& context);

/// Adds a while loop to the graph that is being recorded from the stream of the context, after everything recorded so
/// far. Loops nest. Where the graph belongs to others, it is theirs to instantiate and to launch.
/// \param stream to record the body from, recording nothing else
/// \param before puts a kernel into the stream that sets the condition, 0 or 1, by cudaGraphSetConditional
/// \param body   recorded once; repeats while the condition is 1. Kernels of it set the condition \throws CudaError
void record_loop(const Context& context, cudaStream_t stream,
                 const std::function<void(cudaGraphConditionalHandle condition)>& before,
                 const std::function<void()>& body);

/// A graph of one or two parts: work that runs once, then an optional body that repeats while its condition is 1.
/// Kernels set the condition by cudaGraphSetConditional(condition(), 0 or 1). Each launch begins with 0.
class LoopGraph {
 public:
  /// \throws CudaError
  explicit LoopGraph(const Device& device);
  LoopGraph(const LoopGraph&) = delete;
  LoopGraph& operator=(const LoopGraph&) = delete;
  ~LoopGraph();

  /// Condition of a graph with a body.
  [[nodiscard]] cudaGraphConditionalHandle condition();

  // Each at most once, in this order. Launches of the calling thread are recorded instead of run; other threads are not
  // affected.
  void record_before(const std::function<void()>& work);
  void record_body(const std::function<void()>& work);
  /// Instantiates the graph. \throws CudaError
  void complete();

  /// Launches the graph in the device's stream.
  void launch() const;

 private:
  [[nodiscard]] cudaGraph_t add_loop();

  const Context& context_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< for recording
  bool has_condition_ = false;
  cudaGraphConditionalHandle condition_ = 0;
};

}  // namespace tessera::cuda
