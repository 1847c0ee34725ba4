/// \file
/// A method of PETSc under the stopping rules of Tessera.
#pragma once

#include "petsc/engine/collective.hpp"
#include "petsc/engine/engine.hpp"

#include "tessera/report.hpp"

namespace tessera::petsc {

/// Method and preconditioner of a request for this matrix, then what PETSC_OPTIONS says; names and reasons go into the
/// result.
[[nodiscard]] OwnedKsp make_solver(const EngineRequest& request, Mat matrix, EngineResult& result);

/// Iterates until ||b - A x|| meets the target or a rule ends it. A method whose norm is another one (that of M r) runs
/// in rounds: each ends by an estimate, and where b - A x does not meet the target the next goes on from x with a
/// tighter one. x is the last iterate, or the one of a round before that had a clearly lower residual.
/// \param solver set up \param x initial guess
[[nodiscard]] SolveReport solve_in_rounds(KSP solver, Mat matrix, Vec b, Vec x, const SolverOptions& options);

}  // namespace tessera::petsc
