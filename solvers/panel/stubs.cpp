/// Stands in for the kernels of panels in a build without CUDA.
#include "solvers/panel/panel.hpp"
#include "tessera/error.hpp"

#include <span>

namespace tessera::cuda {

namespace {

[[noreturn]] void refuse(const Device& device) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace

std::int64_t panel_partial_doubles(int /*columns*/) { return 0; }
std::int64_t panel_history_rows() { return 0; }

template <class Op>
void PanelOp<Op>::record(const Device& device, const LoopFrame& /*frame*/, std::int64_t /*n*/, int /*columns*/,
                         const Op& /*op*/, const PanelSpace& /*space*/) {
  refuse(device);
}

template <class Op>
void PanelBlock<Op>::record(const Device& device, const LoopFrame& /*frame*/, std::int64_t /*n*/,
                            std::span<const fused::BlockOfColumn<Op>> /*columns*/, const PanelSpace& /*space*/) {
  refuse(device);
}

template <class Op>
typename Op::Sums TransformReduce<Op>::run(const Device& device, std::int64_t /*n*/, const Op& /*op*/) {
  refuse(device);
}

}  // namespace tessera::cuda

#include "solvers/panel/registration.hpp"
