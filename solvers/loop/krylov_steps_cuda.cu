#include "solvers/loop/loop_pass.cuh"

#include "solvers/loop/krylov_steps_list.hpp"
