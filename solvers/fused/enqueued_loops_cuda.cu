/// Nested while loops in CUDA graphs, for a solve without the host.
#include "solvers/fused/enqueued_loops.hpp"

#include "core/cuda/capture.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "solvers/fused/kernels.cuh"
#include "tessera/array.hpp"
#include "tessera/error.hpp"

#include <array>
#include <cstddef>
#include <limits>

namespace tessera::cuda {

namespace {

/// Loops inside each other.
constexpr int depth = 2;

/// Iterations that no loop reaches.
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// Before the iterations, and where the graph has their condition.
__global__ void enter_iterations_kernel(const fused::LoopControl* control, LoopControlBlock* block,
                                        cudaGraphConditionalHandle condition) {
  block->first = control->iteration;
  block->pause_at = never;
  block->goes_on = condition;
  if (condition != 0) cudaGraphSetConditional(condition, control->halted() ? 0 : 1);
}

__global__ void end_round_kernel(const fused::LoopControl* control, cudaGraphConditionalHandle condition) {
  cudaGraphSetConditional(condition, control->halt == fused::Halt::done ? 0 : 1);
}

constexpr std::uint64_t alignment = 256;

}  // namespace

struct EnqueuedLoops::Impl {
  Device device;
  const Context& context;
  std::uint64_t block_at;   ///< bytes from the state to the control block
  Array<std::byte> memory;  ///< the state, then the control block
  LoopFrame frame;
  std::unique_ptr<LoopGraph> graph;
  std::array<cudaStream_t, depth> streams{};  ///< to record the bodies of loops from
  int level = 0;                              ///< loops that are being recorded
  bool records = false;

  Impl(const Device& where, std::uint64_t bytes)
      : device(where),
        context(Context::of(where)),
        block_at((bytes + alignment - 1) / alignment * alignment),
        memory(static_cast<std::int64_t>(block_at + sizeof(LoopControlBlock)), Init::zero, where),
        frame{memory.data(), memory.data() + block_at} {
    for (cudaStream_t& stream : streams) {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream to record from");
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    for (const cudaStream_t stream : streams) {
      if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
    }
  }

  [[nodiscard]] fused::LoopControl* control() const { return static_cast<fused::LoopControl*>(frame.state); }

  void enter_iterations(cudaGraphConditionalHandle condition) const {
    launch("beginning of a loop", context, Grid{1, 1}, enter_iterations_kernel, control(),
           static_cast<LoopControlBlock*>(frame.control_block), condition);
  }
  void end_round(cudaGraphConditionalHandle condition) const {
    launch("end of a round", context, Grid{1, 1}, end_round_kernel, control(), condition);
  }

  /// Without a graph: waits.
  [[nodiscard]] fused::Halt halt() const {
    fused::Halt result{};
    check(cudaMemcpyAsync(&result, &control()->halt, sizeof result, cudaMemcpyDefault, context.stream()),
          "copying the state of a loop");
    context.synchronize();
    return result;
  }

  void record(const std::function<void(cudaGraphConditionalHandle)>& before, const std::function<void()>& body) {
    const cudaStream_t stream = streams.at(static_cast<std::size_t>(level++));
    record_loop(context, stream, before, body);
    --level;
  }

  void record_into_stream(const std::function<void()>& loops) {
    records = true;
    level = 0;
    try {
      loops();
    } catch (...) {
      records = false;
      throw;
    }
    records = false;
  }
};

EnqueuedLoops::EnqueuedLoops(const Device& device, std::uint64_t state_bytes) {
  const DeviceGuard current(device);
  impl_ = std::make_unique<Impl>(device, state_bytes);
}

EnqueuedLoops::~EnqueuedLoops() = default;

const LoopFrame& EnqueuedLoops::frame() const noexcept { return impl_->frame; }
bool EnqueuedLoops::is_graph() const noexcept { return impl_->records; }
void EnqueuedLoops::forget() noexcept { impl_->graph.reset(); }

void EnqueuedLoops::enqueue(const std::function<void()>& loops) {
  Impl& impl = *impl_;
  const DeviceGuard current(impl.device);
  if (is_recording(impl.context)) {
    if (!graphs_are_usable()) {
      throw DeviceUnavailable("a solve inside a CUDA graph needs a driver of CUDA 12.4 or later on " +
                              impl.device.name() + ", and TESSERA_CUDA_GRAPHS other than 0");
    }
    return impl.record_into_stream(loops);
  }
  if (!graphs_are_usable()) return loops();
  if (!impl.graph) {
    auto graph = std::make_unique<LoopGraph>(impl.device);
    graph->record_before([&] { impl.record_into_stream(loops); });
    graph->complete();
    impl.graph = std::move(graph);
  }
  impl.graph->launch();
}

void EnqueuedLoops::repeat_until_halted(const std::function<void()>& body) {
  Impl& impl = *impl_;
  if (impl.records) {
    return impl.record([&](cudaGraphConditionalHandle condition) { impl.enter_iterations(condition); }, body);
  }
  impl.enter_iterations(0);
  while (impl.halt() == fused::Halt::none) body();
}

void EnqueuedLoops::repeat_until_done(const std::function<void()>& body) {
  Impl& impl = *impl_;
  if (!impl.records) {
    while (impl.halt() != fused::Halt::done) body();
    return;
  }
  cudaGraphConditionalHandle goes_on = 0;
  impl.record(
      [&](cudaGraphConditionalHandle condition) {
        goes_on = condition;
        impl.end_round(condition);
      },
      [&] {
        body();
        impl.end_round(goes_on);
      });
}

}  // namespace tessera::cuda
