/// \file
/// Registration of the operations of HITS and Katz centrality that run on a GPU. Included once by centrality_cuda.cu,
/// which compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/centrality.hpp"
#include "solvers/fused/registration.hpp"

namespace tessera::cuda {

template struct Kernels<detail::CentralityOps<float>>;
template struct Kernels<detail::CentralityOps<double>>;

}  // namespace tessera::cuda
