/// Kernels of the row operations of approximate inverses.
#include "solvers/inverse/row_group.cuh"

#include "solvers/inverse/registration.hpp"
