/// \file
/// Stands in for loops that run on a GPU where the CUDA backend is not built.
#include "solvers/loop/resident_loop.hpp"
#include "tessera/error.hpp"

#include <utility>

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no loop on " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

struct ResidentLoop::Impl {
  LoopFrame frame;
  std::function<void()> iteration;
};

bool can_record_loops(const Device& /*device*/) { return false; }

ResidentLoop::ResidentLoop(const Device& device, std::uint64_t /*state_bytes*/) { refuse(device); }
ResidentLoop::~ResidentLoop() = default;
const LoopFrame& ResidentLoop::frame() const noexcept { return impl_->frame; }
bool ResidentLoop::is_graph() const noexcept { return false; }
void ResidentLoop::record(std::function<void()> iteration) { impl_->iteration = std::move(iteration); }
std::span<const loop::LoopEntry> ResidentLoop::run(std::int64_t /*iterations*/, void* /*state*/, bool /*enter*/) {
  return {};
}

template <class Step>
void LoopPass<Step>::record(const Device& device, const LoopFrame& /*frame*/, std::int64_t /*n*/, const Step& /*step*/,
                            std::span<const ProductDots> /*dot_parts*/) {
  refuse(device);
}

}  // namespace tessera::cuda

#include "solvers/loop/krylov_steps_list.hpp"
