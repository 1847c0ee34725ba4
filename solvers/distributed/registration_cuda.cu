/// Kernels of the operations on halo and boundary rows.
#include "solvers/distributed/registration.hpp"
#include "solvers/fused/kernels.cuh"
