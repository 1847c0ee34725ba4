/// Krylov methods on several devices: every rank runs the solver of one device on its rows.
#include "core/stopwatch.hpp"
#include "solvers/distributed/local_vector.hpp"
#include "solvers/distributed/matrix.hpp"
#include "tessera/preconditioner.hpp"

#include <memory>
#include <utility>

namespace tessera {

namespace {

using detail::DistributedProduct;
using detail::LocalVector;

/// Preconditioner of a rank: that of its rows.
template <class T>
std::unique_ptr<FusedOperator<T>> make_local(GroupPreconditioner kind, const DistributedProduct<T>& product) {
  if (kind == GroupPreconditioner::identity) {
    return std::make_unique<IdentityOperator<T>>(product.rows(), product.device());
  }
  return std::make_unique<JacobiPreconditioner<T>>(product.local().diagonal.matrix(), product.device());
}

/// Progress is shown by the first rank alone.
SolverOptions options_of(int rank, const SolverOptions& options) {
  SolverOptions own = options;
  if (rank == 0) return own;
  own.observer = {};
  own.keep_history = false;
  return own;
}

/// \param method (product, preconditioner, b, x, options) of a rank -> SolveReport
template <class T, class Method>
SolveReport solve_on_ranks(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
                           const SolverOptions& options, const Method& method) {
  detail::check_vector<T>("b", b.size(), A.rows());
  detail::check_vector<T>("x", x.size(), A.rows());
  SolveReport result;
  A.impl().group.impl()->run([&](int rank) {
    const DistributedProduct<T>& product = A.impl().product(rank);
    const Device device = product.device();
    const SolverOptions own = options_of(rank, options);
    const Stopwatch uploading;
    LocalVector<const T> local_b(b.subspan(A.impl().first(rank), A.impl().count(rank)), device);
    LocalVector<T> local_x(x.subspan(A.impl().first(rank), A.impl().count(rank)), device);
    const double upload_ms = uploading.milliseconds();
    const Stopwatch preparing;
    const std::unique_ptr<FusedOperator<T>> preconditioner = make_local(M, product);
    const double preconditioner_ms = preparing.milliseconds();
    SolveReport report;
    try {
      report = method(product, *preconditioner, local_b.span(), local_x.span(), own);
    } catch (...) {
      local_x.bring_back();
      throw;
    }
    const Stopwatch downloading;
    local_x.bring_back();
    if (rank != 0) return;
    report.timings.upload_ms = upload_ms;
    report.timings.preconditioner_ms = preconditioner_ms;
    report.timings.download_ms = downloading.milliseconds();
    result = std::move(report);
  });
  return result;
}

}  // namespace

template <class T>
SolveReport cg(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options) {
  return solve_on_ranks<T>(A, M, b, x, options, [](const auto&... arguments) { return cg<T>(arguments...); });
}

template <class T>
SolveReport bicgstab(const DistributedMatrix<T>& A, GroupPreconditioner M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options) {
  return solve_on_ranks<T>(A, M, b, x, options, [](const auto&... arguments) { return bicgstab<T>(arguments...); });
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
