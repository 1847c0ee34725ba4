/// \file
/// Krylov methods for A x = b.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <limits>
#include <span>

namespace tessera {

/// What the relative tolerance is relative to.
enum class ResidualBase { b, r0 };

/// Shadow vector of BiCGSTAB.
enum class Shadow { r0, random };

/// Parameters of every Krylov method. All thresholds are relative to ‖b‖, ‖r₀‖ or to the norms of the factors of a
/// product, so scaling A and b never changes an outcome; absolute_tolerance alone has the units of b.
/// The iteration runs where A is: M, b and x have to lie on A.device() as well.
struct SolverOptions {
  double relative_tolerance = 1e-8;  ///< converged when ‖b - A x‖₂ <= max(relative * base, absolute)
  double absolute_tolerance = 0.0;
  ResidualBase base = ResidualBase::b;
  std::int64_t max_iterations = 10000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  /// Diverged when the residual exceeds this multiple of max(‖b‖, ‖r₀‖).
  double divergence_tolerance = 1e5;
  /// Stagnated when the smallest residual has not fallen by 1 % within so many iterations. 0: max(1000, n), within
  /// which exact arithmetic would have ended a Krylov method. Independently, a solve stagnates when restarting from the
  /// true residual no longer lowers it: the attainable accuracy of the type is reached.
  std::int64_t stagnation_window = 0;
  /// Restarts after breakdowns without the residual having halved in between; 0 stops at the first breakdown.
  int breakdown_restarts = 3;
  /// Compute the true residual and replace the recurrence's every so many iterations. 0: only when a convergence check
  /// finds that they disagree.
  std::int64_t replacement_interval = 0;
  Shadow shadow = Shadow::r0;
  std::uint64_t seed = 42;  ///< of a random shadow vector
  bool keep_history = false;
  Observer observer = {};  ///< may be empty
};

/// Conjugate gradients (Hestenes & Stiefel 1952) for symmetric positive definite A.
/// \param A        square operator
/// \param M        approximate inverse of A, symmetric positive definite, same size
/// \param b        right-hand side, n elements, on A's device as x
/// \param x        initial guess on entry; on return, whatever the status, the last iterate, or an earlier one with a
///                 clearly lower residual (to a factor of 2, as far above rounding errors as the recurrence can tell).
///                 Always finite when it was so on entry, and in the caller's units even when the observer or an
///                 operator throws. Must not overlap b
/// \returns a report; converged only if the true residual, A.residual(b, x), meets the tolerance
/// \throws DimensionError for sizes that do not fit, InvalidArgument for options out of range and for M, b or x on
///         another device than A, OutOfMemory, CudaError
/// Range: b may have any scale. For double, squares of A's entries must be normal numbers (|a_ij| about 1e-150 to
/// 1e150); for float, the entries of A x and of x, both divided by ‖b‖₂, must be normal numbers. Beyond, a solve ends
/// as not_finite or stagnated. Per iteration: one product with A, one with M, and no allocation. A diagonal M is folded
/// into the vector passes.
template <class T>
SolveReport cg(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b, std::span<T> x,
               const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport cg(const LinearOperator<T>& A, std::span<const T> b, std::span<T> x, const SolverOptions& options = {});

/// Stabilised bi-conjugate gradients (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992), preconditioned from the
/// right, for general square A. Parameters, result and exceptions as for cg().
/// Per iteration: two products with A, two with M, and no allocation.
template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, const LinearOperator<T>& M, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options = {});

/// Without preconditioner.
template <class T>
SolveReport bicgstab(const LinearOperator<T>& A, std::span<const T> b, std::span<T> x,
                     const SolverOptions& options = {});

/// Jacobi preconditioner: the inverse of the diagonal.
template <class T>
class JacobiPreconditioner final : public LinearOperator<T> {
 public:
  /// \param matrix lies on `device`, as SpmvPlan::matrix() lies on that of its plan
  /// \throws InvalidMatrix naming the first row whose diagonal entry is missing, zero, not finite, or without a finite
  ///         inverse; DimensionError for a matrix that is not square
  explicit JacobiPreconditioner(const CsrView<T>& matrix, const Device& device = Device{});

  [[nodiscard]] std::int64_t rows() const override { return inverse_diagonal_.size(); }
  [[nodiscard]] std::int64_t cols() const override { return inverse_diagonal_.size(); }
  [[nodiscard]] Device device() const override { return inverse_diagonal_.device(); }
  [[nodiscard]] std::optional<std::span<const T>> diagonal() const override { return inverse_diagonal_.span(); }
  [[nodiscard]] bool has_transpose() const override { return true; }

  /// Takes new values of the same matrix; never allocates. \throws as the constructor (the old state is then kept)
  void refresh(const CsrView<T>& matrix);

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    do_apply(alpha, x, beta, y);
  }

 private:
  Array<T> inverse_diagonal_;
};

extern template class JacobiPreconditioner<float>;
extern template class JacobiPreconditioner<double>;

}  // namespace tessera
