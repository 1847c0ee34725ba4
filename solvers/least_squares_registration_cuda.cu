/// Kernels of least squares.
#include "solvers/amg/row_ops.cuh"
#include "solvers/fused/block_kernels.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/least_squares_registration.hpp"
