/// \file
/// Recording the iteration of a loop into a graph.
#pragma once

#include "solvers/fused/graph_loop.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>

namespace tessera::fused {

/// Sets a pointer for a scope.
class Recording {
 public:
  Recording(cuda::GraphLoop*& pointer, cuda::GraphLoop* into) noexcept : pointer_(pointer) { pointer_ = into; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording() { pointer_ = nullptr; }

 private:
  cuda::GraphLoop*& pointer_;
};

/// A loop on a GPU by iteration(loop), which may be called later too: all that it refers to has to outlive the loop.
/// \param recording of the loop: the graph while the iteration is being recorded \throws as GraphLoop
template <class Loop, class Iteration>
[[nodiscard]] std::unique_ptr<cuda::GraphLoop> record_iteration(const Device& device, std::uint64_t state_bytes,
                                                                int iterations_per_check, Loop& loop,
                                                                cuda::GraphLoop*& recording,
                                                                const Iteration& iteration) {
  auto graph = std::make_unique<cuda::GraphLoop>(device, state_bytes, iterations_per_check);
  graph->record([&loop, &recording, iteration, into = graph.get()]() mutable {
    const Recording current(recording, into);
    iteration(loop);
  });
  return graph;
}

}  // namespace tessera::fused
