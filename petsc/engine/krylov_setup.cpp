// Method and preconditioner of a solve by PETSc: chosen, set up, and what PETSC_OPTIONS made of them.
#include "petsc/engine/krylov.hpp"

#include "petsc/pc_words.hpp"
#include "petsc/plugin.hpp"
#include "tessera/error.hpp"

#include <string>

namespace tessera::petsc {

namespace {

/// What PETSc calls the methods. IDR is not among them.
[[nodiscard]] KSPType type_of(IterativeMethod method) {
  switch (method) {
    case IterativeMethod::cg:
      return KSPCG;
    case IterativeMethod::bicgstab:
      return KSPBCGS;
    case IterativeMethod::gmres:
      return KSPGMRES;
    case IterativeMethod::minres:
      return KSPMINRES;
    case IterativeMethod::chebyshev:
      return KSPCHEBYSHEV;
    case IterativeMethod::richardson:
      return KSPRICHARDSON;
    case IterativeMethod::idr:
      break;
  }
  throw InvalidArgument("PETSc has no " + std::string(to_string(method)));
}

[[nodiscard]] IterativeMethod choose_method(const EngineRequest& request, EngineResult& result) {
  if (request.method) return *request.method;
  const MatrixStatistics& facts = result.matrix;
  const bool is_definite =
      facts.symmetry == Symmetry::numerical && facts.full_diagonal() && facts.diagonal_negative == 0;
  result.method_reason = is_definite ? "A is symmetric with a positive diagonal" : "A may not be definite";
  return is_definite ? IterativeMethod::cg : IterativeMethod::gmres;
}

[[nodiscard]] PCType choose_precond(const EngineRequest& request, EngineResult& result) {
  const bool has_diagonal = result.matrix.full_diagonal();
  switch (request.precond) {
    case PrecondSource::none:
      break;
    case PrecondSource::jacobi:
      if (!has_diagonal) throw InvalidMatrix("jacobi: a diagonal entry is missing, zero or not finite");
      result.precond = "jacobi";
      return PCJACOBI;
    case PrecondSource::tessera:
      static_cast<void>(parse_pc(request.precond_name));
      result.precond = request.precond_name;
      return pc_type;
    case PrecondSource::automatic:
      result.precond_reason =
          has_diagonal ? "no diagonal entry is missing or zero" : "a diagonal entry is missing or zero";
      result.precond = has_diagonal ? "jacobi" : "none";
      return has_diagonal ? PCJACOBI : PCNONE;
  }
  result.precond = "none";
  return PCNONE;
}

/// The norm of b - A x where the method offers it.
void set_norm(KSP solver, IterativeMethod method) {
  switch (method) {
    case IterativeMethod::bicgstab:
    case IterativeMethod::gmres:
      return check(KSPSetPCSide(solver, PC_RIGHT));
    case IterativeMethod::cg:
    case IterativeMethod::chebyshev:
    case IterativeMethod::richardson:
      return check(KSPSetNormType(solver, KSP_NORM_UNPRECONDITIONED));
    case IterativeMethod::minres:
    case IterativeMethod::idr:
      break;
  }
}

}  // namespace

OwnedKsp make_solver(const EngineRequest& request, Mat matrix, EngineResult& result) {
  constexpr const char* chosen_by_options = "PETSC_OPTIONS";
  const IterativeMethod method = choose_method(request, result);
  KSPType wanted = type_of(method);
  PCType wanted_pc = choose_precond(request, result);
  OwnedKsp solver;
  MPI_Comm comm = MPI_COMM_NULL;
  check(PetscObjectGetComm(reinterpret_cast<PetscObject>(matrix), &comm));
  check(KSPCreate(comm, solver.out()));
  check(KSPSetOperators(solver.get(), matrix, matrix));
  check(KSPSetType(solver.get(), wanted));
  if (method == IterativeMethod::gmres) check(KSPGMRESSetRestart(solver.get(), request.solver.restart));
  if (method == IterativeMethod::chebyshev && request.solver.spectrum_high > 0.0) {
    check(KSPChebyshevSetEigenvalues(solver.get(), request.solver.spectrum_high, request.solver.spectrum_low));
  }
  PC precond = nullptr;
  check(KSPGetPC(solver.get(), &precond));
  check(PCSetType(precond, wanted_pc));
  if (request.precond == PrecondSource::tessera) set_default("-pc_tessera_type", request.precond_name);
  check(KSPSetFromOptions(solver.get()));
  KSPType type = nullptr;
  PCType type_of_pc = nullptr;
  check(KSPGetType(solver.get(), &type));
  check(PCGetType(precond, &type_of_pc));
  result.info.ksp_type = type;
  result.info.pc_type = type_of_pc;
  result.method = to_string(method);
  if (result.info.ksp_type == wanted) {
    set_norm(solver.get(), method);
  } else {
    result.method = result.info.ksp_type;
    result.method_reason = chosen_by_options;
  }
  if (result.info.pc_type != wanted_pc) {
    result.precond = result.info.pc_type;
    result.precond_reason = chosen_by_options;
  }
  check(KSPSetInitialGuessNonzero(solver.get(), PETSC_TRUE));
  return solver;
}

}  // namespace tessera::petsc
