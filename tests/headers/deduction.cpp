/// \file
/// Solvers take containers without a template argument: the element type comes from the operator alone, whatever it and
/// the preconditioner derive from. It compiles.

#include <tessera/accuracy.hpp>
#include <tessera/amg.hpp>
#include <tessera/ladder.hpp>
#include <tessera/solvers.hpp>

#include <span>
#include <vector>

namespace tessera::testing {

/// Of a user.
template <class T>
class Own final : public LinearOperator<T> {
 public:
  [[nodiscard]] std::int64_t rows() const override { return 1; }
  [[nodiscard]] std::int64_t cols() const override { return 1; }

 private:
  void do_apply(T /*alpha*/, std::span<const T> /*x*/, T /*beta*/, std::span<T> /*y*/) const override {}
};

template <class Left, class Right, class B, class X>
bool all_solve(const Left& A, const Right& M, const B& b, X& x) {
  const SolverOptions options;
  return cg(A, b, x).converged() && cg(A, M, b, x, options).converged() && bicgstab(A, b, x).converged() &&
         bicgstab(A, M, b, x).converged() && gmres(A, b, x).converged() && gmres(A, M, b, x).converged() &&
         idr(A, M, b, x).converged() && richardson(A, M, b, x).converged();
}

template <class Left, class Right, class T>
bool all_vectors(const Left& A, const Right& M, std::vector<T>& x, Array<T>& y, std::span<T> z) {
  const std::vector<T> b(x);
  const Array<T> c = Array<T>::copy_of(b);
  const std::span<const T> d(b);
  return all_solve(A, M, b, x) && all_solve(A, M, c, y) && all_solve(A, M, d, z) && all_solve(A, M, b, y) &&
         all_solve(A, M, y, x);
}

template <class T>
bool all_operators(const SpmvPlan<T>& A, const JacobiPreconditioner<T>& jacobi, const Amg<T>& amg, std::vector<T>& x,
                   Array<T>& y) {
  const LinearOperator<T>& any = A;
  const FusedOperator<T>& fused = A;
  const Preconditioner<T>& some = amg;
  const FunctionOperator<T> function(1, 1, [](auto, auto) {});
  const std::span<T> z(x);
  return all_vectors(A, jacobi, x, y, z) && all_vectors(any, amg, x, y, z) && all_vectors(fused, some, x, y, z) &&
         all_vectors(A, any, x, y, z) && all_vectors(Own<T>(), A, x, y, z) &&
         all_vectors(function, Own<T>(), x, y, z) && all_vectors(A, IdentityOperator<T>(1), x, y, z);
}

/// What else takes an operator and vectors.
template <class T>
bool others(const SpmvPlan<T>& A, const MatrixStatistics& facts, const Array<T>& b, std::vector<T>& x) {
  const auto correct = [&](std::span<const T> r, std::span<T> d, const SolverOptions& options) {
    return cg(A, r, d, options);
  };
  return solve(A, facts, b, x).report.converged() &&
         estimate_error(A, correct, b, x, 0.0, {}, ErrorGate::warn).is_known();
}

template bool all_operators(const SpmvPlan<float>&, const JacobiPreconditioner<float>&, const Amg<float>&,
                            std::vector<float>&, Array<float>&);
template bool all_operators(const SpmvPlan<double>&, const JacobiPreconditioner<double>&, const Amg<double>&,
                            std::vector<double>&, Array<double>&);
template bool others(const SpmvPlan<float>&, const MatrixStatistics&, const Array<float>&, std::vector<float>&);
template bool others(const SpmvPlan<double>&, const MatrixStatistics&, const Array<double>&, std::vector<double>&);

}  // namespace tessera::testing
