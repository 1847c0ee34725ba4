/// Kernels of the row operations of approximate inverses.
#include "solvers/inverse/thread_group.cuh"

#include "solvers/inverse/registration.hpp"
