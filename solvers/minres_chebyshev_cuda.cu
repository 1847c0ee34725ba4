/// Kernels of MINRES and of Chebyshev iteration.
#include "solvers/fused/block_kernels.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/minres_chebyshev_registration.hpp"
