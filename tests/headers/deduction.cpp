/// \file
/// Solvers take containers without a template argument: the element type comes from the operator alone. It compiles.

#include <tessera/solvers.hpp>

#include <vector>

namespace tessera::testing {

template <class T>
bool all_solve(const SpmvPlan<T>& A, const JacobiPreconditioner<T>& M, const std::vector<T>& b, std::vector<T>& x) {
  const LinearOperator<T>& any = A;
  const SolverOptions options;
  return cg(A, b, x).converged() && cg(any, M, b, x, options).converged() && bicgstab(A, b, x).converged() &&
         bicgstab(A, M, b, x).converged() && gmres(A, b, x).converged() && gmres(A, M, b, x).converged() &&
         idr(A, M, b, x).converged() && richardson(A, M, b, x).converged();
}

template bool all_solve(const SpmvPlan<float>&, const JacobiPreconditioner<float>&, const std::vector<float>&,
                        std::vector<float>&);
template bool all_solve(const SpmvPlan<double>&, const JacobiPreconditioner<double>&, const std::vector<double>&,
                        std::vector<double>&);

}  // namespace tessera::testing
