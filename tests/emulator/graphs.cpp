// Graphs of the CUDA runtime: recorded work in its order, and loops of it.
#include "tests/emulator/graphs.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

struct EmulatedGraphNode {
  std::function<cudaError_t()> work;
};

struct EmulatedGraph {
  std::vector<std::unique_ptr<EmulatedGraphNode>> nodes;
  std::vector<cudaGraphNode_t> listed;                 ///< the same, for the caller
  std::vector<std::unique_ptr<EmulatedGraph>> bodies;  ///< of its loops
  cudaGraph_t newest_body = nullptr;
  std::map<cudaGraphConditionalHandle, unsigned> conditions;  ///< and what they are before a launch
};

struct EmulatedGraphExec {
  EmulatedGraph* graph;
};

namespace tessera::emulator {

namespace {

/// Set by kernels.
struct Conditions {
  std::mutex mutex;
  std::map<cudaGraphConditionalHandle, unsigned> values;
  cudaGraphConditionalHandle last = 0;
};

Conditions& conditions() {
  static Conditions all;
  return all;
}

bool holds(cudaGraphConditionalHandle handle) {
  const std::scoped_lock lock(conditions().mutex);
  return conditions().values.at(handle) != 0;
}

cudaError_t run(const EmulatedGraph& graph) {
  for (const auto& node : graph.nodes) {
    if (const cudaError_t code = node->work(); code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

void add(EmulatedGraph& graph, std::function<cudaError_t()> work) {
  graph.nodes.push_back(std::make_unique<EmulatedGraphNode>(EmulatedGraphNode{std::move(work)}));
}

}  // namespace

cudaError_t do_or_record(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (stream == nullptr || stream->recorded == nullptr) return work();
  add(*stream->recorded, std::move(work));
  return cudaSuccess;
}

}  // namespace tessera::emulator

using namespace tessera::emulator;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned /*flags*/) {
  *graph = new EmulatedGraph;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph, unsigned value,
                                             unsigned flags) {
  if (flags != cudaGraphCondAssignDefault) return cudaErrorInvalidValue;
  const std::scoped_lock lock(conditions().mutex);
  *handle = ++conditions().last;
  conditions().values[*handle] = value;
  graph->conditions[*handle] = value;
  return cudaSuccess;
}

void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  const std::scoped_lock lock(conditions().mutex);
  conditions().values.at(handle) = value;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* /*before*/,
                             const cudaGraphEdgeData* /*edges*/, std::size_t count, cudaGraphNodeParams* parameters) {
  const bool follows_all = count == graph->nodes.size();
  if (!follows_all || parameters->type != cudaGraphNodeTypeConditional ||
      parameters->conditional.type != cudaGraphCondTypeWhile || parameters->conditional.size != 1) {
    return cudaErrorInvalidValue;
  }
  graph->bodies.push_back(std::make_unique<EmulatedGraph>());
  graph->newest_body = graph->bodies.back().get();
  parameters->conditional.phGraph_out = &graph->newest_body;
  add(*graph, [body = graph->newest_body, handle = parameters->conditional.handle] {
    while (holds(handle)) {
      if (const cudaError_t code = run(*body); code != cudaSuccess) return code;
    }
    return cudaSuccess;
  });
  *node = graph->nodes.back().get();
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  for (std::size_t i = 0; nodes != nullptr && i < *count; ++i) nodes[i] = graph->nodes[i].get();
  if (nodes == nullptr) *count = graph->nodes.size();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* /*before*/,
                                          const cudaGraphEdgeData* /*edges*/, std::size_t count,
                                          cudaStreamCaptureMode /*mode*/) {
  if (stream->recorded != nullptr || count != 0) return cudaErrorInvalidValue;
  stream->recorded = graph;
  return cudaSuccess;
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* /*id*/,
                                     cudaGraph_t* graph, const cudaGraphNode_t** last, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
  const bool is_active = stream != nullptr && stream->recorded != nullptr;
  *status = is_active ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  if (!is_active) return cudaSuccess;
  EmulatedGraph& recorded = *stream->recorded;
  recorded.listed.clear();
  for (const auto& node : recorded.nodes) recorded.listed.push_back(node.get());
  *graph = &recorded;
  *last = recorded.listed.data();
  *edges = nullptr;
  *count = recorded.listed.size();
  return cudaSuccess;
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* nodes,
                                                const cudaGraphEdgeData* /*edges*/, std::size_t count, unsigned flags) {
  const bool is_latest = stream->recorded != nullptr && count == 1 && nodes[0] == stream->recorded->nodes.back().get();
  return is_latest && flags == cudaStreamSetCaptureDependencies ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream->recorded, nullptr);
  return *graph != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long /*flags*/) {
  *ready = new EmulatedGraphExec{graph};
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready) {
  delete ready;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream) {
  if (stream == nullptr || stream->recorded != nullptr) return cudaErrorInvalidValue;
  for (const auto& [handle, value] : ready->graph->conditions) cudaGraphSetConditional(handle, value);
  return run(*ready->graph);
}
