#include "solvers/loop/resident_loop.hpp"

#include "core/cuda/capture.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "solvers/loop/loop_pass.cuh"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

namespace tessera::cuda {

namespace {

/// Iterations between two looks at whether to go on: each look takes some microseconds.
constexpr int iterations_a_look = 4;

/// Rounds of the body that are launched before the host looks, where there is no graph.
constexpr std::int64_t launched_rounds = 4;

/// Before the first look of a run.
__global__ void begin_run_kernel(const loop::LoopControl* control, LoopHead* head) {
  head->first = control->iteration;
  head->pause_at = control->iteration + head->chunk;
  head->began = device_nanoseconds();
  if (head->goes_on != 0) cudaGraphSetConditional(head->goes_on, control->halted() ? 0 : 1);
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

constexpr std::uint64_t alignment = 256;
constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

struct ResidentLoop::Impl {
  Device device;
  std::uint64_t state_bytes;
  std::uint64_t head_at;    ///< bytes from the state to the head
  Array<std::byte> memory;  ///< the state, then the head
  HostBuffer mirror;        ///< the same on the host
  LoopFrame frame;
  std::unique_ptr<LoopGraph> graph;  ///< none: every pass is launched by itself
  std::function<void()> iteration;   ///< that is launched then

  Impl(const Device& where, std::uint64_t bytes)
      : device(where),
        state_bytes(bytes),
        head_at(aligned(bytes)),
        memory(static_cast<std::int64_t>(head_at + sizeof(LoopHead)), Init::zero, device),
        mirror(head_at + sizeof(LoopHead)),
        frame{memory.data(), memory.data() + head_at} {
    if (graphs_are_usable()) graph = std::make_unique<LoopGraph>(device);
  }

  void begin_run() const;
  void launch_run(std::int64_t iterations) const;

  [[nodiscard]] LoopHead& head() const { return *reinterpret_cast<LoopHead*>(mirror.data() + head_at); }

  void copy(void* to, const void* from, std::uint64_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Context::of(device).stream()),
          "copying the state of a loop");
  }
};

bool can_record_loops(const Device& device) { return !device.is_host(); }

ResidentLoop::ResidentLoop(const Device& device, std::uint64_t state_bytes) {
  const CurrentDevice current(device);
  impl_ = std::make_unique<Impl>(device, state_bytes);
}

ResidentLoop::~ResidentLoop() = default;

const LoopFrame& ResidentLoop::frame() const noexcept { return impl_->frame; }
bool ResidentLoop::is_graph() const noexcept { return impl_->graph != nullptr; }

void ResidentLoop::Impl::begin_run() const {
  launch("beginning of a run", Context::of(device), Grid{1, 1}, begin_run_kernel,
         static_cast<const loop::LoopControl*>(frame.state), static_cast<LoopHead*>(frame.head));
}

void ResidentLoop::Impl::launch_run(std::int64_t iterations) const {
  if (graph) return graph->launch();
  begin_run();
  const std::int64_t rounds = (iterations + iterations_a_look - 1) / iterations_a_look;
  for (std::int64_t i = 0; i < iterations_a_look * (rounds < launched_rounds ? rounds : launched_rounds); ++i)
    iteration();
}

void ResidentLoop::record(std::function<void()> iteration) {
  const CurrentDevice current(impl_->device);
  if (!impl_->graph) {
    impl_->iteration = std::move(iteration);
    return;
  }
  impl_->head().goes_on = impl_->graph->condition();
  impl_->graph->record_before([this] { impl_->begin_run(); });
  impl_->graph->record_body([&] {
    for (int i = 0; i < iterations_a_look; ++i) iteration();
  });
  impl_->graph->complete();
}

std::span<const loop::LoopEntry> ResidentLoop::run(std::int64_t iterations, void* state, bool enter) {
  const CurrentDevice current(impl_->device);
  const LoopFrame& frame = impl_->frame;
  std::byte* const mirror = impl_->mirror.data();
  LoopHead& head = impl_->head();
  head.chunk = iterations < loop_entries - iterations_a_look ? iterations : loop_entries - iterations_a_look;
  head.finished = 0;
  if (enter) std::memcpy(mirror, state, impl_->state_bytes);
  const std::uint64_t up = impl_->head_at + offsetof(LoopHead, entries);
  impl_->copy(frame.state, mirror, up);
  impl_->launch_run(head.chunk);
  impl_->copy(mirror, frame.state, impl_->head_at + sizeof(LoopHead));
  Context::of(impl_->device).synchronize();
  std::memcpy(state, mirror, impl_->state_bytes);
  const std::int64_t done = reinterpret_cast<const loop::LoopControl*>(mirror)->iteration - head.first;
  return {head.entries, static_cast<std::size_t>(done < loop_entries ? done : loop_entries)};
}

}  // namespace tessera::cuda
