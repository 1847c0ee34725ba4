/// Kernels of the operations between two precisions.
#include "solvers/amg/row_ops.cuh"
#include "solvers/fused/kernels.cuh"
#include "solvers/mixed_precision_registration.hpp"
