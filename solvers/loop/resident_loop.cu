#include "solvers/loop/resident_loop.hpp"

#include "core/cuda/capture.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.cuh"
#include "solvers/loop/loop_pass.cuh"
#include "tessera/array.hpp"

#include <cstddef>
#include <cstring>

namespace tessera::cuda {

namespace {

/// Iterations between two looks at whether to go on: each look takes some microseconds.
constexpr int iterations_a_look = 4;

/// CUDA version of the first driver that knows conditional nodes.
constexpr int driver_with_loops = 12040;

/// Before the first look of a run.
__global__ void begin_run_kernel(const loop::LoopControl* control, LoopHead* head) {
  head->first = control->iteration;
  head->pause_at = control->iteration + head->chunk;
  head->began = device_nanoseconds();
  cudaGraphSetConditional(head->goes_on, control->halted() ? 0 : 1);
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
  LoopGraph graph;

  Impl(const Device& where, std::uint64_t bytes)
      : device(where),
        state_bytes(bytes),
        head_at(aligned(bytes)),
        memory(static_cast<std::int64_t>(head_at + sizeof(LoopHead)), Init::zero, device),
        mirror(head_at + sizeof(LoopHead)),
        frame{memory.data(), memory.data() + head_at},
        graph(device) {}

  [[nodiscard]] LoopHead& head() const { return *reinterpret_cast<LoopHead*>(mirror.data() + head_at); }

  void copy(void* to, const void* from, std::uint64_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, Context::of(device).stream()),
          "copying the state of a loop");
  }
};

bool can_record_loops(const Device& device) {
  int driver = 0;
  return !device.is_host() && cudaDriverGetVersion(&driver) == cudaSuccess && driver >= driver_with_loops;
}

ResidentLoop::ResidentLoop(const Device& device, std::uint64_t state_bytes) {
  const CurrentDevice current(device);
  impl_ = std::make_unique<Impl>(device, state_bytes);
}

ResidentLoop::~ResidentLoop() = default;

const LoopFrame& ResidentLoop::frame() const noexcept { return impl_->frame; }

void ResidentLoop::record(const std::function<void()>& iteration) {
  const CurrentDevice current(impl_->device);
  const Context& context = Context::of(impl_->device);
  impl_->head().goes_on = impl_->graph.condition();
  impl_->graph.record_before([&] {
    launch("beginning of a run", context, Grid{1, 1}, begin_run_kernel,
           static_cast<const loop::LoopControl*>(impl_->frame.state), static_cast<LoopHead*>(impl_->frame.head));
  });
  impl_->graph.record_body([&] {
    for (int i = 0; i < iterations_a_look; ++i) iteration();
  });
  impl_->graph.complete();
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
  impl_->graph.launch();
  impl_->copy(mirror, frame.state, impl_->head_at + sizeof(LoopHead));
  Context::of(impl_->device).synchronize();
  std::memcpy(state, mirror, impl_->state_bytes);
  const std::int64_t done = reinterpret_cast<const loop::LoopControl*>(mirror)->iteration - head.first;
  return {head.entries, static_cast<std::size_t>(done < loop_entries ? done : loop_entries)};
}

}  // namespace tessera::cuda
