/// \file
/// Registration of the operations of LSMR, CGLS and their column scaling that run on a GPU. Included once by
/// least_squares_registration_cuda.cu, which compiles their kernels, and once by stubs.cpp, which stands in for them.
#pragma once

#include "solvers/cgls.hpp"
#include "solvers/column_norms.hpp"
#include "solvers/fused/registration.hpp"
#include "solvers/lsmr.hpp"

namespace tessera::cuda {

template struct Kernels<detail::LeastSquaresOps<float>>;
template struct Kernels<detail::LeastSquaresOps<double>>;
template struct Kernels<detail::LsmrOps<float>>;
template struct Kernels<detail::LsmrOps<double>>;
template struct Kernels<detail::CglsOps<float>>;
template struct Kernels<detail::CglsOps<double>>;

template struct TransformRows<detail::ColumnScaling<float>>;
template struct TransformRows<detail::ColumnScaling<double>>;

}  // namespace tessera::cuda
