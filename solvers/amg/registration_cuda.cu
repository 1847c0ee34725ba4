/// Kernels of the operations of AMG's set-up.
#include "solvers/amg/row_ops.cuh"
#include "solvers/fused/kernels.cuh"

#include "solvers/amg/registration.hpp"
