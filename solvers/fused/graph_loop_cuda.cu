/// While loops on a GPU by conditional CUDA graphs.
#include "solvers/fused/graph_loop.hpp"

#include "core/cuda/capture.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "core/group_rank.hpp"
#include "solvers/fused/kernels.cuh"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace tessera::cuda {

namespace {

/// Without a graph: rounds of the body that the host launches before it reads the state.
constexpr std::int64_t launched_rounds = 4;

/// Runs before the condition is evaluated for the first time.
__global__ void begin_run_kernel(const fused::LoopControl* control, LoopControlBlock* block) {
  block->first = control->iteration;
  block->pause_at = control->iteration + block->chunk;
  block->began = device_nanoseconds();
  if (block->goes_on != 0) cudaGraphSetConditional(block->goes_on, control->halted() ? 0 : 1);
}

/// Page-locked memory.
class HostBuffer {
 public:
  explicit HostBuffer(std::size_t bytes) {
    check(cudaMallocHost(&data_, bytes), "allocating page-locked memory");
    std::memset(data_, 0, bytes);
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { static_cast<void>(cudaFreeHost(data_)); }
  [[nodiscard]] std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

PeerExchange* exchange_of(const Device& device) {
  const GroupRank* const rank = rank_of(device);
  return rank == nullptr ? nullptr : rank->exchange;
}

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

struct GraphLoop::Impl {
  Device device;
  std::uint64_t state_bytes;
  int iterations_per_check;
  std::uint64_t block_at;   ///< bytes from the state to the control block
  Array<std::byte> memory;  ///< the state, then the control block
  HostBuffer mirror;        ///< the same on the host
  LoopFrame frame;
  bool is_graph = graphs_are_usable();  ///< else the host launches every operation
  std::unique_ptr<LoopGraph> graph;
  std::function<void()> iteration;  ///< what the host launches without a graph
  std::function<void()> kernel;     ///< launches the kernel that is the loop, if one is

  Impl(const Device& where, std::uint64_t bytes, int per_check)
      : device(where),
        state_bytes(bytes),
        iterations_per_check(per_check),
        block_at(aligned(bytes)),
        memory(static_cast<std::int64_t>(block_at + sizeof(LoopControlBlock)), Init::zero, device),
        mirror(block_at + sizeof(LoopControlBlock)),
        frame{memory.data(), memory.data() + block_at, exchange_of(device)} {}

  void begin_run() const;
  void launch_run(std::int64_t iterations) const;

  [[nodiscard]] LoopControlBlock& control_block() const {
    return *reinterpret_cast<LoopControlBlock*>(mirror.data() + block_at);
  }

  void copy(void* to, const void* from, std::uint64_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Context::of(device).stream()),
          "copying the state of a loop");
  }
};

bool has_graph_loops(const Device& device) { return !device.is_host(); }

GraphLoop::GraphLoop(const Device& device, std::uint64_t state_bytes, int iterations_per_check) {
  const DeviceGuard current(device);
  impl_ = std::make_unique<Impl>(device, state_bytes, iterations_per_check);
}

GraphLoop::~GraphLoop() = default;

const LoopFrame& GraphLoop::frame() const noexcept { return impl_->frame; }
bool GraphLoop::is_graph() const noexcept { return impl_->is_graph; }

void GraphLoop::Impl::begin_run() const {
  launch("beginning of a loop", Context::of(device), Grid{1, 1}, begin_run_kernel,
         static_cast<const fused::LoopControl*>(frame.state), static_cast<LoopControlBlock*>(frame.control_block));
}

void GraphLoop::Impl::launch_run(std::int64_t iterations) const {
  if (graph) return graph->launch();
  begin_run();
  if (kernel) return kernel();
  const std::int64_t rounds = (iterations + iterations_per_check - 1) / iterations_per_check;
  for (std::int64_t i = 0; i < iterations_per_check * (rounds < launched_rounds ? rounds : launched_rounds); ++i)
    iteration();
}

void GraphLoop::record(std::function<void()> iteration) {
  const DeviceGuard current(impl_->device);
  if (!impl_->is_graph) {
    impl_->iteration = std::move(iteration);
    return;
  }
  impl_->graph = std::make_unique<LoopGraph>(impl_->device);
  impl_->control_block().goes_on = impl_->graph->condition();
  impl_->graph->record_before([this] { impl_->begin_run(); });
  impl_->graph->record_body([&] {
    for (int i = 0; i < impl_->iterations_per_check; ++i) iteration();
  });
  impl_->graph->complete();
}

void GraphLoop::run_by_kernel(std::function<void()> launch) { impl_->kernel = std::move(launch); }

std::span<const fused::LoopEntry> GraphLoop::run(std::int64_t iterations, void* state, bool enter) {
  const DeviceGuard current(impl_->device);
  const LoopFrame& frame = impl_->frame;
  std::byte* const mirror = impl_->mirror.data();
  LoopControlBlock& block = impl_->control_block();
  const std::int64_t most = loop_entries - impl_->iterations_per_check;
  block.chunk = iterations < most ? iterations : most;
  block.finished = 0;
  if (enter) std::memcpy(mirror, state, impl_->state_bytes);
  const std::uint64_t up = impl_->block_at + offsetof(LoopControlBlock, entries);
  impl_->copy(frame.state, mirror, up);
  impl_->launch_run(block.chunk);
  impl_->copy(mirror, frame.state, impl_->block_at + sizeof(LoopControlBlock));
  Context::of(impl_->device).synchronize();
  std::memcpy(state, mirror, impl_->state_bytes);
  const std::int64_t done = reinterpret_cast<const fused::LoopControl*>(mirror)->iteration - block.first;
  return {block.entries, static_cast<std::size_t>(done < loop_entries ? done : loop_entries)};
}

}  // namespace tessera::cuda
