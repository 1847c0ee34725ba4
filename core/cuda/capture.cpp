#include "core/cuda/capture.hpp"

#include "core/cuda/check.hpp"

#include <cstdlib>
#include <string_view>
#include <vector>

namespace tessera::cuda {

namespace {

/// CUDA version of the first driver that knows conditional nodes.
constexpr int driver_with_loops = 12040;

/// Where the recording of a stream stands.
struct Recorded {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* last = nullptr;  ///< what the next node waits for
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
};

Recorded recorded_from(cudaStream_t stream) {
  Recorded result;
#if CUDART_VERSION >= 13000
  check(cudaStreamGetCaptureInfo(stream, &result.status, nullptr, &result.graph, &result.last, &result.edges,
                                 &result.count),
        "asking for a recording");
#else
  check(cudaStreamGetCaptureInfo_v3(stream, &result.status, nullptr, &result.graph, &result.last, &result.edges,
                                    &result.count),
        "asking for a recording");
#endif
  return result;
}

void continue_after(cudaStream_t stream, cudaGraphNode_t node) {
#if CUDART_VERSION >= 13000
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies),
        "recording after a loop");
#else
  check(cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies),
        "recording after a loop");
#endif
}

cudaGraphNodeParams while_loop(cudaGraphConditionalHandle condition) {
  cudaGraphNodeParams loop{};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.handle = condition;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  return loop;
}

cudaGraphNode_t add_node(cudaGraph_t graph, const Recorded& after, cudaGraphNodeParams& parameters) {
  cudaGraphNode_t node = nullptr;
#if CUDART_VERSION >= 13000
  check(cudaGraphAddNode(&node, graph, after.last, after.edges, after.count, &parameters), "adding a loop to a graph");
#else
  check(cudaGraphAddNode_v2(&node, graph, after.last, after.edges, after.count, &parameters),
        "adding a loop to a graph");
#endif
  return node;
}

cudaGraphConditionalHandle new_condition(cudaGraph_t graph) {
  cudaGraphConditionalHandle condition = 0;
  check(cudaGraphConditionalHandleCreate(&condition, graph, 0, cudaGraphCondAssignDefault),
        "making the condition of a graph");
  return condition;
}

/// Records the work that this thread puts into the stream of the context, by another stream.
void record_into(cudaGraph_t graph, const Context& context, cudaStream_t stream, const std::function<void()>& work) {
  check(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal),
        "beginning to record a graph");
  cudaGraph_t recorded = nullptr;
  try {
    const StreamGuard instead(context, stream);
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &recorded));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream, &recorded), "recording a graph");
}

}  // namespace

bool is_recording(const Context& context) {
  return recorded_from(context.stream()).status == cudaStreamCaptureStatusActive;
}

void record_loop(const Context& context, cudaStream_t stream,
                 const std::function<void(cudaGraphConditionalHandle)>& before, const std::function<void()>& body) {
  CUstream_st* const outer = context.stream();
  auto* const graph = recorded_from(outer).graph;
  const cudaGraphConditionalHandle condition = new_condition(graph);
  before(condition);
  cudaGraphNodeParams loop = while_loop(condition);
  continue_after(outer, add_node(graph, recorded_from(outer), loop));
  record_into(loop.conditional.phGraph_out[0], context, stream, body);
}

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
  if (!has_condition_) condition_ = new_condition(graph_);
  has_condition_ = true;
  return condition_;
}

void LoopGraph::record_before(const std::function<void()>& work) { record_into(graph_, context_, stream_, work); }

void LoopGraph::record_body(const std::function<void()>& work) { record_into(add_loop(), context_, stream_, work); }

/// The while node, after everything recorded so far. \returns its body
cudaGraph_t LoopGraph::add_loop() {
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph_, nullptr, &count), "looking at a graph");
  std::vector<cudaGraphNode_t> before(count);
  if (count > 0) check(cudaGraphGetNodes(graph_, before.data(), &count), "looking at a graph");
  cudaGraphNodeParams loop = while_loop(condition());
  add_node(graph_, {.last = before.data(), .count = count}, loop);
  return loop.conditional.phGraph_out[0];
}

void LoopGraph::complete() {
  context_.count_recording();
  check(cudaGraphInstantiate(&ready_, graph_, 0), "making a graph ready");
}

void LoopGraph::launch() const { check(cudaGraphLaunch(ready_, context_.stream()), "launching a graph"); }

}  // namespace tessera::cuda
