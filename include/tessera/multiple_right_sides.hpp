/// \file
/// Iterative methods for A X = B with several right-hand sides: every column has the recurrence of a solve of its own,
/// and all columns share each product.
#pragma once

#include "tessera/iterative_solver.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/multi_vector.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

namespace tessera {

/// Columns that share a product, at most; more are solved in several panels, one after the other.
inline constexpr int most_panel_columns = 32;

/// A second base class for operators of the caller's own on the host that multiply several columns at once. SpmvPlan
/// needs none; any other operator is applied column by column.
template <class T>
class MultiVectorOperator {
 public:
  MultiVectorOperator() = default;
  virtual ~MultiVectorOperator() = default;
  /// Y = A X; the old Y is not read. \param x, y as many rows as the operator has columns, or rows; row_major, and of
  /// the same number of columns
  virtual void apply_many(const MultiVectorView<const T>& x, const MultiVectorView<T>& y) const = 0;

 protected:
  MultiVectorOperator(const MultiVectorOperator&) = default;
  MultiVectorOperator& operator=(const MultiVectorOperator&) = default;
};

/// Conjugate gradients for k right-hand sides at once: k independent solves with the scalars, stopping rules and
/// reports of cg(), not a block Krylov method. A column that has ended, after its true residual was computed, drops
/// out, and later products are narrower. A NaN, a breakdown or a slow column does not touch the others. \param A, M as
/// for cg(). A is multiplied with all columns at once if it is a SpmvPlan, or on the host a
///             MultiVectorOperator; M if it is the identity or diagonal (then it is fused), or as A
/// \param B    right-hand sides, n x k, on A's device as X; any layout
/// \param X    initial guesses on entry, solutions on return, n x k, any layout; must not overlap B. Every column is
/// what
///             cg() would leave in its x
/// \param options for every column. The observer is called once per iteration of a panel, with the number of the
///             iteration and the column whose residual is the largest multiple of its target; when it stops, all
///             columns that have not ended are interrupted. The time limit is that of the whole call
/// \returns a report per column, equal to that of cg() but for the rounding of sums in another order, and times: they
///             count from the beginning of the column's panel
/// \throws as cg(); DimensionError also where B and X have other sizes than n x k
/// Per iteration: one product for all columns that iterate, and no allocation. Memory: 5 n elements per column of a
/// panel (most_panel_columns at a time), n more where M is not fused, and 5 n besides. On a GPU, the loop of each
/// number of columns is a CUDA graph; operators that cannot be enqueued, and plans that read next to nothing of the
/// matrix (row templates), are solved column by column, with the vectors of one solve.
template <class T>
std::vector<SolveReport> cg(const LinearOperator<T>& A, const LinearOperator<T>& M,
                            MultiVectorView<const std::type_identity_t<T>> B,
                            MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
std::vector<SolveReport> cg(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                            MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// BiCGSTAB for k right-hand sides at once, as cg() above and with the recurrence of bicgstab().
/// Memory: 7 n elements per column of a panel, 2 n more where M is not the identity, and 6 n besides.
template <class T>
std::vector<SolveReport> bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M,
                                  MultiVectorView<const std::type_identity_t<T>> B,
                                  MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
std::vector<SolveReport> bicgstab(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                                  MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// GMRES(m) for k right-hand sides at once, as cg() above and with the recurrence of gmres(): every column has a basis
/// of its own and restarts when its directions are used up. Memory: m + 5 vectors of n elements per column of a panel,
/// 2 m + 7 with an M on the right that is neither the identity nor diagonal, m + 7 with such an M on the left, and 5 n
/// besides. So panels are narrower: columns_together().
template <class T>
std::vector<SolveReport> gmres(const LinearOperator<T>& A, const LinearOperator<T>& M,
                               MultiVectorView<const std::type_identity_t<T>> B,
                               MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
std::vector<SolveReport> gmres(const LinearOperator<T>& A, MultiVectorView<const std::type_identity_t<T>> B,
                               MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

/// Whether the columns of solve_columns() share each product.
[[nodiscard]] constexpr bool shares_products(IterativeMethod method) noexcept {
  return method == IterativeMethod::cg || method == IterativeMethod::bicgstab || method == IterativeMethod::gmres;
}

/// Vectors of n elements that a panel of GMRES keeps, at most, unless it has one column.
inline constexpr int most_panel_vectors = 512;

/// Columns that solve_columns() iterates together, at most: most_panel_columns; of gmres, as many as keep
/// most_panel_vectors, 8 with m = 50; of methods that share no products, one. A panel of gmres is narrower where half
/// of the memory that is free would not hold it. \param n, simple as for vectors_of()
[[nodiscard]] int columns_together(IterativeMethod method, std::int64_t n, const SolverOptions& options, bool simple);

/// Any method for k right-hand sides: cg, bicgstab and gmres as above; all others column by column, with the vectors
/// and the recorded loop of one solver. \throws as above
template <class T>
std::vector<SolveReport> solve_columns(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                                       MultiVectorView<const std::type_identity_t<T>> B,
                                       MultiVectorView<std::type_identity_t<T>> X, const SolverOptions& options = {});

}  // namespace tessera
