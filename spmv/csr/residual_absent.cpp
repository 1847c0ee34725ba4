/// \file
/// Stands in for the CUDA backend where it is not built.
#include "spmv/residual/residual.hpp"
#include "tessera/error.hpp"

namespace tessera::cuda {

double csr_residual(const Device& device, const CsrView<float>& /*a*/, int /*exponent*/, std::span<const float> /*b*/,
                    std::span<const float> /*x*/, std::span<float> /*r*/) {
  throw DeviceUnavailable("no work for " + device.name() + ": this build has no CUDA backend");
}

}  // namespace tessera::cuda
