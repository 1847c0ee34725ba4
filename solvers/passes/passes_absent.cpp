/// \file
/// Stands in for the passes on a GPU where the CUDA backend is not built.
#include "solvers/passes/cuda_pass.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

template <class Step>
typename Step::Sums Pass<Step>::run(const Device& device, std::int64_t /*n*/, const Step& /*step*/) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace tessera::cuda

#include "solvers/passes/cuda_steps.hpp"
