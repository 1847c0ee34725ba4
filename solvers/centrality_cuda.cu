/// Kernels of HITS and of Katz centrality.
#include "solvers/centrality_registration.hpp"
#include "solvers/fused/kernels.cuh"
