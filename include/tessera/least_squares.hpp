/// \file
/// Linear least squares, min ‖A x - b‖² + λ² ‖x‖² for rectangular A: LSMR and CGLS.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/preconditioner.hpp"
#include "tessera/report.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace tessera {

/// The inequality that a least squares solve ended by.
enum class LeastSquaresTest : std::uint8_t {
  none,             ///< neither holds: a limit, or the attainable accuracy
  residual,         ///< ‖r̄‖ <= residual_tolerance ‖b‖: the system is consistent
  normal_residual,  ///< ‖D s‖ <= relative_tolerance ‖Ā D‖ ‖r̄‖: x is a least squares solution
};

/// "none", "residual", "normal_residual".
[[nodiscard]] std::string_view to_string(LeastSquaresTest test);

/// With r = b - A x, s = Aᵀ r - λ² x (which is 0 at the solution), r̄ = (r, -λ x), Ā = A above λ I, and the diagonal
/// preconditioner D (x = D y; I for none), a solve has converged when
///   ‖D s‖₂ <= relative_tolerance ‖Ā D‖ ‖r̄‖₂   or   ‖r̄‖₂ <= residual_tolerance ‖b‖₂
/// holds for r and s computed from the returned x. ‖Ā D‖ is the largest ‖Ā D v‖ / ‖v‖ over the directions v of the
/// iteration, a lower bound of the 2-norm. Scaling A and λ, or b, by a power of two changes nothing.
struct LeastSquaresOptions {
  double relative_tolerance = 1e-8;
  double residual_tolerance = 1e-8;
  double damping = 0.0;  ///< λ, in the units of A
  /// Stagnated when the lower bound of cond(Ā D) exceeds it: early stopping regularises. Infinity: never.
  double condition_limit = std::numeric_limits<double>::infinity();
  std::int64_t max_iterations = 10000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  /// Stagnated when the smallest ‖D s‖ has not fallen by 1 % within this many iterations. 0: max(1000, 2 min(m, n)). A
  /// solve also stagnates when restarting from the computed residuals no longer lowers ‖D s‖: the attainable accuracy
  /// of the type is reached.
  std::int64_t stagnation_window = 0;
  bool keep_history = false;      ///< of ‖D s‖
  std::int64_t history_rows = 0;  ///< bound on its rows, as in SolverOptions
  Observer observer = {};  ///< IterationInfo::residual is ‖D s‖, target is relative_tolerance ‖Ā D‖ ‖r̄‖
  std::function<std::string()> stop_cause = {};  ///< as in SolverOptions
};

/// A SolveReport for rectangular A, and what least squares add. Of the SolveReport: spmv_count counts products with A,
/// true_residual is ‖b - A x‖₂, r0_norm is ‖r̄‖₂ at x₀, recurrence_residual and the history are ‖D s‖₂, and target is
/// relative_tolerance ‖Ā D‖ ‖r̄‖₂, or the target of the residual where that test ended the solve.
struct [[nodiscard]] LeastSquaresReport : SolveReport {
  LeastSquaresTest ended_by = LeastSquaresTest::none;
  std::int64_t transposed_count = 0;  ///< products with Aᵀ, those of checks included
  double normal_residual = 0.0;       ///< ‖s‖₂ = ‖Aᵀ (b - A x) - λ² x‖₂, computed from the returned x
  double damped_residual = 0.0;       ///< ‖r̄‖₂ = sqrt(‖r‖² + λ² ‖x‖²)
  double optimality = 0.0;  ///< ‖D s‖₂ / (‖Ā D‖ ‖r̄‖₂), which relative_tolerance bounds; 0 where r̄ = 0
  double x_norm = 0.0;      ///< ‖x‖₂
  double matrix_norm = 0.0;  ///< ‖Ā D‖, the lower bound of the iteration; 0 where there was none
  double condition = 0.0;    ///< estimate of cond(Ā D); 0 before the second iteration
};

/// Column scaling for least squares: D = diag(1 / sqrt(‖a_j‖² + λ²)), a_j the columns of A; D² is the Jacobi
/// preconditioner of AᵀA + λ² I. Columns of A D have norm 1: nearly the least condition number that a diagonal gives
/// (A. van der Sluis, Numer. Math. 14, 1969). An entry is 1 where column and λ are 0. The bits are the same on the host
/// and on a GPU.
template <class T>
class ColumnNormPreconditioner final : public Preconditioner<T> {
 public:
  /// Forms Aᵀ beside A until the norms are computed: O(m + n + nnz).
  /// \param matrix m x n, on `device`: SpmvPlan::matrix() is on the device of its plan
  /// \throws InvalidArgument for a damping that is negative or not finite, and for a matrix on a GPU with the host as
  ///         device; InvalidMatrix naming the first column whose norm is not finite, or too small for a finite inverse;
  ///         OutOfMemory, CudaError
  explicit ColumnNormPreconditioner(const CsrView<T>& matrix, double damping = 0.0, const Device& device = Device{});

  [[nodiscard]] std::int64_t rows() const override { return scaling_.size(); }
  [[nodiscard]] std::int64_t cols() const override { return scaling_.size(); }
  [[nodiscard]] Device device() const override { return scaling_.device(); }
  [[nodiscard]] std::optional<std::span<const T>> diagonal() const override { return scaling_.span(); }
  [[nodiscard]] bool has_transpose() const override { return true; }
  [[nodiscard]] const PreconditionerInfo& info() const noexcept override { return info_; }

  /// \throws DimensionError for another number of columns; as the constructor, and keeps the old state
  void refresh(const CsrView<T>& matrix) override;

 protected:
  void do_apply(T alpha, std::span<const T> x, T beta, std::span<T> y) const override;
  void do_apply_transposed(T alpha, std::span<const T> x, T beta, std::span<T> y) const override {
    do_apply(alpha, x, beta, y);
  }

 private:
  Array<T> scaling_;
  double damping_;
  PreconditionerInfo info_{.name = "jacobi", .is_symmetric = true};
};

/// LSMR (D. C.-L. Fong, M. Saunders, SIAM J. Sci. Comput. 33(5), 2011): Golub-Kahan bidiagonalization; ‖s‖ falls with
/// every iteration. For A of any shape and rank. Where the solution is not unique, from x₀ = 0 and without D it is the
/// one of least norm; else the one with the least ‖D⁻¹ (x - x₀)‖.
/// \param A       m x n, with transposed products
/// \param D       n x n, identity or diagonal, with entries that are not 0
/// \param b       m elements, on A's device as x
/// \param x       n elements: initial guess on entry; on return, for every status, the last iterate, or an earlier one
///                with a clearly lower ‖D s‖ (to a factor of 2). Finite if it was finite on entry, and in the caller's
///                units even when the observer or an operator throws. Must not overlap b
/// \returns a report; converged only if a test above holds for r and s computed from the returned x
/// \throws NotSupported where A has no transposed products, or D is neither identity nor diagonal; DimensionError for
///         sizes that do not fit, InvalidArgument for options out of range and for D, b or x on another device than A,
///         all before A or D is used; OutOfMemory, CudaError
/// Range: A and b may have any scale; norms and results that T cannot hold end as not_finite or stagnated. Where ‖A D‖
/// is far from 1 (beyond 2^±204, of float 2^±25), D times a power of two is stored: 2 n elements more. Per iteration:
/// one product with A, one with Aᵀ, and no allocation. On a GPU the loop runs there by itself where both products can
/// be enqueued, as those of an SpmvPlan with SpmvOptions::with_transpose can. Memory: 2 m + 6 n elements; n more with
/// D, n more with λ. Damping is exact for every x₀ and D.
template <class T>
LeastSquaresReport lsmr(const LinearOperator<T>& A, const LinearOperator<T>& D,
                        std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                        const LeastSquaresOptions& options = {});

/// Without preconditioner.
template <class T>
LeastSquaresReport lsmr(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                        std::span<std::type_identity_t<T>> x, const LeastSquaresOptions& options = {});

/// CGLS (Å. Björck, Numerical Methods for Least Squares Problems, 1996, section 7.4): conjugate gradients on the normal
/// equations, without forming AᵀA; ‖r̄‖ falls with every iteration. Fewer vectors than LSMR, and s is a vector of the
/// recurrence. Parameters, result and exceptions as for lsmr().
/// Memory: 2 m + 4 n elements; n more with D.
template <class T>
LeastSquaresReport cgls(const LinearOperator<T>& A, const LinearOperator<T>& D,
                        std::span<const std::type_identity_t<T>> b, std::span<std::type_identity_t<T>> x,
                        const LeastSquaresOptions& options = {});

/// Without preconditioner.
template <class T>
LeastSquaresReport cgls(const LinearOperator<T>& A, std::span<const std::type_identity_t<T>> b,
                        std::span<std::type_identity_t<T>> x, const LeastSquaresOptions& options = {});

extern template class ColumnNormPreconditioner<float>;
extern template class ColumnNormPreconditioner<double>;

}  // namespace tessera
