/// Stands in for stencil_problems_cuda.cu in a build without CUDA.
#include "bench/stencil_problems.hpp"
#include "tessera/error.hpp"

namespace tessera::bench {

Csr<double> stencil_matrix_on(const Device& device, const StencilProblem& /*problem*/) {
  throw DeviceUnavailable("no matrix for " + device.name() + ": this build has no CUDA backend");
}

Csr<double> with_new_values_on_gpu(const Csr<double>& a) {
  throw DeviceUnavailable("no matrix for " + a.device().name() + ": this build has no CUDA backend");
}

}  // namespace tessera::bench
