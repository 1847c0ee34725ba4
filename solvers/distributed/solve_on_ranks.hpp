/// \file
/// Solves on several devices: every rank runs the solver of one device on its rows.
#pragma once

#include "core/stopwatch.hpp"
#include "solvers/distributed/local_vector.hpp"
#include "solvers/distributed/matrix.hpp"
#include "tessera/solvers.hpp"

#include <span>
#include <utility>

namespace tessera::detail {

/// Progress is shown by the first rank alone.
[[nodiscard]] inline SolverOptions options_of(int rank, const SolverOptions& options) {
  SolverOptions own = options;
  if (rank == 0) return own;
  own.observer = {};
  own.keep_history = false;
  return own;
}

/// \param preconditioner (rank, product) of a rank -> pointer to its FusedOperator
/// \param method (product, preconditioner, b, x, options) of a rank -> SolveReport
template <class T, class Preconditioner, class Method>
[[nodiscard]] SolveReport solve_on_ranks(const DistributedMatrix<T>& A, const Preconditioner& preconditioner,
                                         std::span<const T> b, std::span<T> x, const SolverOptions& options,
                                         const Method& method) {
  check_vector<T>("b", b.size(), A.rows());
  check_vector<T>("x", x.size(), A.rows());
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
    const auto local_preconditioner = preconditioner(rank, product);
    const double preconditioner_ms = preparing.milliseconds();
    SolveReport report;
    try {
      report = method(product, *local_preconditioner, local_b.span(), local_x.span(), own);
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

}  // namespace tessera::detail
