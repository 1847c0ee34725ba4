/// \file
/// Registration of the operations of MINRES and Chebyshev iteration that run on a GPU. Included once by
/// minres_chebyshev_cuda.cu, which compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/chebyshev.hpp"
#include "solvers/fused/registration.hpp"
#include "solvers/minres.hpp"

namespace tessera::cuda {

template struct Kernels<detail::MinresOps<float, fused::FusedIdentity<float>>>;
template struct Kernels<detail::MinresOps<float, fused::FusedDiagonal<float>>>;
template struct Kernels<detail::MinresOps<double, fused::FusedIdentity<double>>>;
template struct Kernels<detail::MinresOps<double, fused::FusedDiagonal<double>>>;
template struct Kernels<detail::ChebyshevOps<float, fused::FusedIdentity<float>>>;
template struct Kernels<detail::ChebyshevOps<float, fused::FusedDiagonal<float>>>;
template struct Kernels<detail::ChebyshevOps<double, fused::FusedIdentity<double>>>;
template struct Kernels<detail::ChebyshevOps<double, fused::FusedDiagonal<double>>>;

}  // namespace tessera::cuda
