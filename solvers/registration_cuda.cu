/// All kernels of the solvers but PageRank's fused product.
#include "solvers/amg/row_ops.cuh"
#include "solvers/fused/block_kernels.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/registration.hpp"
