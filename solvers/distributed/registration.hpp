/// \file
/// The operations on halo and boundary rows, instantiated for a GPU, or for a build without CUDA.
#pragma once

#include "solvers/distributed/halo_ops.hpp"
#include "solvers/fused/registration.hpp"

namespace tessera::cuda {

template struct Kernels<detail::WideResidualOps<float>>;
template struct Kernels<detail::HaloOps<float>>;
template struct Kernels<detail::HaloOps<double>>;

}  // namespace tessera::cuda
