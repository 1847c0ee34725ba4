/// \file
/// The operations on halo and boundary rows, and those that join rows, instantiated for a GPU, or for a build without
/// CUDA.
#pragma once

#include "solvers/distributed/halo_ops.hpp"
#include "solvers/distributed/own_rows.hpp"
#include "solvers/fused/registration.hpp"

namespace tessera::cuda {

template struct Kernels<detail::WideResidualOps<float>>;
template struct Kernels<detail::HaloOps<float>>;
template struct Kernels<detail::HaloOps<double>>;
template struct TransformReduce<detail::RowBegins>;
template struct TransformReduce<detail::FindMoves>;
template struct TransformReduce<detail::HaloBandwidth>;
template struct TransformReduce<detail::JoinOwn<float>>;
template struct TransformReduce<detail::JoinOwn<double>>;
template struct TransformReduce<detail::JoinHalo<float>>;
template struct TransformReduce<detail::JoinHalo<double>>;

}  // namespace tessera::cuda
