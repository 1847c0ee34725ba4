/// \file
/// Iterative methods for A x = b: Krylov methods, and Richardson iteration.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

namespace tessera {

/// Norm that the relative tolerance refers to: ‖b‖ or ‖r₀‖.
enum class ResidualBase { b, r0 };

/// Shadow vector of BiCGSTAB.
enum class Shadow { r0, random };

/// Side from which gmres() applies M.
enum class PreconditionerSide : std::uint8_t { right, left };

/// Parameters of every method. All thresholds are relative to ‖b‖, to ‖r₀‖ or to the norms of the factors of a
/// product, so scaling A and b by powers of two changes nothing; only absolute_tolerance has the units of b.
/// The iteration runs on A.device(); M, b and x have to lie there too.
struct SolverOptions {
  double relative_tolerance = 1e-8;  ///< converged when ‖b - A x‖₂ <= max(relative * base, absolute)
  double absolute_tolerance = 0.0;
  ResidualBase base = ResidualBase::b;
  std::int64_t max_iterations = 10000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  /// Diverged when the residual exceeds this multiple of max(‖b‖, ‖r₀‖).
  double divergence_tolerance = 1e5;
  /// Stagnated when the smallest residual has not fallen by 1 % within this many iterations. 0: max(1000, n); in exact
  /// arithmetic a Krylov method ends within n. A solve also stagnates when restarting from the true residual no longer
  /// lowers it: the attainable accuracy of the type is reached.
  std::int64_t stagnation_window = 0;
  /// Allowed restarts after breakdowns, counted anew when the residual has halved; 0 stops at the first breakdown.
  int breakdown_restarts = 3;
  /// Replace the recurrence's residual by the true one every this many iterations. 0: only when a convergence check
  /// finds that they disagree.
  std::int64_t replacement_interval = 0;
  /// m of gmres(): directions until it starts anew; 1 to 1000. It keeps 2 m + 2 vectors where M is neither the identity
  /// nor diagonal and on the right, else m + 1.
  int restart = 50;
  /// Of gmres(), which minimizes ‖b - A x‖₂ over a cycle with M on the right, ‖M (b - A x)‖₂ with M on the left. Other
  /// methods refuse `left`.
  PreconditionerSide side = PreconditionerSide::right;
  Shadow shadow = Shadow::r0;
  std::uint64_t seed = 42;  ///< of a random shadow vector, and of the shadow vectors of idr()
  bool keep_history = false;
  /// Bound on the rows of the history, at least 1000: the first 100, the last, and every 2^k-th between; 0: all.
  std::int64_t history_rows = 0;
  Observer observer = {};  ///< may be empty
  /// Names what the observer stopped for, after it did, for the reason of the report: "interrupted by Ctrl-C". Empty:
  /// "stopped by the observer".
  std::function<std::string()> stop_cause = {};
  /// chebyshev(): ends of an interval that holds the eigenvalues of M A. Upper end 0: 1.1 times the estimate of the
  /// power method; lower end 0: a thirtieth of the estimate, or of the upper end where that is given.
  double spectrum_low = 0.0;
  double spectrum_high = 0.0;
};

/// Conjugate gradients (Hestenes & Stiefel 1952) for symmetric positive definite A.
/// \param A        square operator
/// \param M        approximate inverse of A, symmetric positive definite, same size
/// \param b        right-hand side, n elements, on A's device as x
/// \param x        initial guess on entry; on return, for every status, the last iterate, or an earlier one with a
/// clearly
///                 lower residual (to a factor of 2, as far as the recurrence can tell it from rounding errors). Finite
///                 if it was finite on entry, and in the caller's units even when the observer or an operator throws.
///                 Must not overlap b
/// \returns a report; converged only if the true residual, A.residual(b, x), meets the tolerance
/// \throws DimensionError for sizes that do not fit, InvalidArgument for options out of range and for M, b or x on
///         another device than A, both before A or M is used; OutOfMemory, CudaError
/// Range: b may have any scale. For double, squares of A's entries must be normal numbers (|a_ij| about 1e-150 to
/// 1e150); for float, the entries of A x and of x, both divided by ‖b‖₂, must be normal numbers. Beyond, a solve ends
/// as not_finite or stagnated. Per iteration: one product with A, one with M, and no allocation. A diagonal M is fused
/// into the vector operations.
template <class T>
SolveReport cg(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
               std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport cg(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
               std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992), preconditioned from the
/// right, for general square A. Parameters, result and exceptions as for cg().
/// Per iteration: two products with A, two with M, and no allocation.
template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                     std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                     std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// GMRES(m) (Y. Saad, M. H. Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986), flexible and preconditioned from the right
/// (Y. Saad, SIAM J. Sci. Comput. 14(2), 1993), for general square A: M may be nonlinear, as another iteration is. An
/// iteration is one step of the Arnoldi process, orthogonalized by classical Gram-Schmidt twice; x is formed at the end
/// of a cycle of SolverOptions::restart steps and where the solve ends. Parameters, result and exceptions as for cg().
/// Per iteration j of a cycle: one product with A, one with M, 3 j n elements of memory traffic (4 j n where a block of
/// the basis does not stay in the cache), and no allocation. What a singular A leaves out, and how cycles that do
/// nothing end: docs/solving.md.
///
/// With SolverOptions::side = left it solves M A x = M b, and M has to be linear. The norms of its iterations are ‖M
/// r‖₂ times ‖r‖₂ / ‖M r‖₂ of the latest r that was computed, at the beginning of the cycle; where such a norm meets
/// the tolerance, ‖b - A x‖₂ is computed and decides. Where it fails, another cycle begins, which has to lower ‖M r‖₂
/// further (SciPy's rule). ‖b - A x‖₂ may grow meanwhile. Memory: m + 1 vectors with any M.
template <class T>
SolveReport gmres(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                  std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport gmres(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                  std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// IDR(4) (P. Sonneveld, M. B. van Gijzen, SIAM J. Sci. Comput. 31(2), 2008), in its biorthogonal form (van Gijzen,
/// Sonneveld, ACM Trans. Math. Softw. 38(1), 2011), preconditioned from the right, for general square A: short
/// recurrences that often need fewer products than BiCGSTAB. An iteration is one product with A and one with M.
/// Parameters, result and exceptions as for cg(). No allocation per iteration.
template <class T>
SolveReport idr(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// MINRES (C. C. Paige, M. A. Saunders, SIAM J. Numer. Anal. 12(4), 1975) for symmetric A, which may be indefinite or
/// singular, and symmetric positive definite M, as in H. Elman, D. Silvester, A. Wathen, Finite Elements and Fast
/// Iterative Solvers, 2nd ed., algorithm 4.1. It minimizes ‖r‖ in the norm of M, so without M the history never grows;
/// the tolerance is that of ‖b - A x‖₂. An A that is not symmetric ends as Breakdown::asymmetric at the second
/// iteration, unless M is neither the identity nor diagonal. Parameters, result and exceptions as for cg(). Per
/// iteration: one product with A, one with M, and no allocation.
template <class T>
SolveReport minres(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport minres(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                   std::span<std::type_identity_t<T>> x, const SolverOptions& options = {});

/// Chebyshev iteration (G. H. Golub, R. S. Varga, Numer. Math. 3, 1961; Y. Saad, Iterative Methods for Sparse Linear
/// Systems, 2nd ed., algorithm 12.1) for symmetric positive definite A and M whose product has its eigenvalues in
/// [SolverOptions::spectrum_low, spectrum_high]. Its coefficients need no inner products. Where the upper end is not
/// given, up to 30 products with A and M estimate it, at the start of every solve. An upper end below the largest
/// eigenvalue ends as diverged; a lower end above the smallest one costs iterations. Parameters, result and exceptions
/// as for cg(). Per iteration: one product with A, one with M, and no allocation. \throws InvalidArgument too for an
/// interval out of order, or that is not finite
template <class T>
SolveReport chebyshev(const LinearOperator<T>& A, const LinearOperator<T>& M,
                      std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                      const SolverOptions& options = {});

/// Richardson iteration x = x + M (b - A x): a preconditioner as a solver by itself, for general square A. It converges
/// where the spectral radius of I - M A is below 1, by that factor per iteration: with AMG for symmetric positive
/// definite A, with Jacobi for diagonally dominant A. M need not be symmetric. Parameters, result and exceptions as for
/// cg().
/// Per iteration: one product with A, one with M, and no allocation.
template <class T>
SolveReport richardson(const LinearOperator<T>& A, const LinearOperator<T>& M,
                       std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                       const SolverOptions& options = {});

}  // namespace tessera
