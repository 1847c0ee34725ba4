/// Krylov methods on several devices: every rank runs the solver of one device on its rows.
#include "solvers/distributed/solve_on_ranks.hpp"
#include "tessera/preconditioner.hpp"

#include <memory>

namespace tessera {

namespace {

using detail::DistributedProduct;

/// Preconditioner of a rank: that of its rows.
template <class T>
[[nodiscard]] std::unique_ptr<FusedOperator<T>> make_local(GroupPreconditioner kind,
                                                           const DistributedProduct<T>& product) {
  if (kind == GroupPreconditioner::identity) {
    return std::make_unique<IdentityOperator<T>>(product.rows(), product.device());
  }
  return std::make_unique<JacobiPreconditioner<T>>(product.local().diagonal.matrix(), product.device());
}

}  // namespace

template <class T>
SolveReport cg(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options) {
  return detail::solve_on_ranks<T>(
      A, [M](int /*rank*/, const DistributedProduct<T>& product) { return make_local(M, product); }, b, x, options,
      [](const auto&... arguments) { return cg<T>(arguments...); });
}

template <class T>
SolveReport bicgstab(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options) {
  return detail::solve_on_ranks<T>(
      A, [M](int /*rank*/, const DistributedProduct<T>& product) { return make_local(M, product); }, b, x, options,
      [](const auto&... arguments) { return bicgstab<T>(arguments...); });
}

template SolveReport cg(const DistributedMatrix<float>&, GroupPreconditioner, std::span<const float>, std::span<float>,
                        const SolverOptions&);
template SolveReport bicgstab(const DistributedMatrix<float>&, GroupPreconditioner, std::span<const float>,
                              std::span<float>, const SolverOptions&);
template SolveReport cg(const DistributedMatrix<double>&, GroupPreconditioner, std::span<const double>,
                        std::span<double>, const SolverOptions&);
template SolveReport bicgstab(const DistributedMatrix<double>&, GroupPreconditioner, std::span<const double>,
                              std::span<double>, const SolverOptions&);

}  // namespace tessera
