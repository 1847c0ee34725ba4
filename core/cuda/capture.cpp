#include "core/cuda/capture.hpp"

#include "core/cuda/check.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace tessera::cuda {

namespace {

/// CUDA version of the first driver that knows conditional nodes.
constexpr int driver_with_loops = 12040;

}  // namespace

bool graphs_are_usable() {
  const char* const wish = std::getenv("TESSERA_CUDA_GRAPHS");
  if (wish != nullptr && std::string_view(wish) == "0") return false;
  int driver = 0;
  return cudaDriverGetVersion(&driver) == cudaSuccess && driver >= driver_with_loops;
}

LoopGraph::LoopGraph(const Device& device) : context_(Context::of(device)) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream to record from");
  check(cudaGraphCreate(&graph_, 0), "making a graph");
}

LoopGraph::~LoopGraph() {
  if (ready_ != nullptr) static_cast<void>(cudaGraphExecDestroy(ready_));
  if (graph_ != nullptr) static_cast<void>(cudaGraphDestroy(graph_));
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

cudaGraphConditionalHandle LoopGraph::condition() {
  if (has_condition_) return condition_;
  check(cudaGraphConditionalHandleCreate(&condition_, graph_, 0, cudaGraphCondAssignDefault),
        "making the condition of a graph");
  has_condition_ = true;
  return condition_;
}

void LoopGraph::record(cudaGraph_t into, const std::function<void()>& work) {
  check(cudaStreamBeginCaptureToGraph(stream_, into, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
        "beginning to record a graph");
  cudaGraph_t recorded = nullptr;
  try {
    const StreamGuard instead(context_, stream_);
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream_, &recorded));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream_, &recorded), "recording a graph");
}

void LoopGraph::record_before(const std::function<void()>& work) { record(graph_, work); }

void LoopGraph::record_body(const std::function<void()>& work) { record(add_loop(), work); }

/// The while node, after everything recorded so far. \returns its body
cudaGraph_t LoopGraph::add_loop() {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph_, nullptr, &count), "looking at a graph");
  std::vector<cudaGraphNode_t> before(count);
  if (count > 0) check(cudaGraphGetNodes(graph_, before.data(), &count), "looking at a graph");
  cudaGraphNodeParams loop{};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.handle = condition();
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph_, before.data(), nullptr, count, &loop), "adding a loop to a graph");
#else
  check(cudaGraphAddNode(&node, graph_, before.data(), count, &loop), "adding a loop to a graph");
#endif
  return loop.conditional.phGraph_out[0];
}

void LoopGraph::complete() {
  context_.count_recording();
  check(cudaGraphInstantiate(&ready_, graph_, 0), "making a graph ready");
}

void LoopGraph::launch() const { check(cudaGraphLaunch(ready_, context_.stream()), "launching a graph"); }

}  // namespace tessera::cuda
