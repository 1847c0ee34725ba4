/// \file
/// Mixed precision: A x = b to a tolerance of double precision, with matrix, preconditioner and iteration in single
/// precision, and residuals b - A x and the solution in double.
///
/// Iterative refinement whose corrections come from a Krylov method (A. Buttari, J. Dongarra, J. Kurzak, P. Luszczek,
/// S. Tomov, Using Mixed Precision for Sparse Matrix Computations to Enhance the Performance while Achieving 64-bit
/// Accuracy, ACM Trans. Math. Softw. 34(4), 2008; E. Carson, N. J. Higham, Accelerating the Solution of Linear Systems
/// by Iterative Refinement in Three Precisions, SIAM J. Sci. Comput. 40(2), 2018). Conjugate gradients do not start
/// anew with each correction but keep their direction: residual replacement with groupwise update of x (H. A. van der
/// Vorst, Q. Ye, Residual Replacement Strategies for Krylov Subspace Iterative Methods for the Convergence of True
/// Residuals, SIAM J. Sci. Comput. 22(3), 2000), as lattice QCD uses it under the name of reliable updates (M. A. Clark
/// et al., Solving Lattice QCD Systems of Equations Using Mixed Precision Solvers on GPUs, Comput. Phys. Commun. 181,
/// 2010).
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/fused_operator.hpp"
#include "tessera/iterative_solver.hpp"
#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

namespace tessera {

/// A matrix in single precision: A = 2^exponent matrix, but for rounding.
struct SingleMatrix {
  Csr<float> matrix;
  int exponent = 0;       ///< 0 where the largest entry of A is between 2^-60 and 2^60
  bool is_exact = false;  ///< no entry was rounded
};

/// Rounds a matrix on the host; offsets and columns are shared with A. A power of two brings entries that no float
/// holds into its range; those 2^126 times smaller than the largest become 0. Infinity and NaN stay. O(nnz).
/// \throws OutOfMemory
[[nodiscard]] SingleMatrix single_matrix(const Csr<double>& A, const Device& host = Device{});

/// y = 2^exponent A x for vectors in double precision and the matrix of a plan in single precision, with sums in
/// double: the A of residuals where the values of A are exact in single precision, so that one copy of A serves both.
/// Per product: 8 bytes per nonzero, 8 for x gathered.
class WidenedPlan final : public FusedOperator<double> {
 public:
  /// \param plan outlives this; its matrix is read, not its kernel
  explicit WidenedPlan(const SpmvPlan<float>& plan, int exponent = 0) : plan_(plan), exponent_(exponent) {}
  [[nodiscard]] std::int64_t rows() const override { return plan_.rows(); }
  [[nodiscard]] std::int64_t cols() const override { return plan_.cols(); }
  [[nodiscard]] Device device() const override { return plan_.device(); }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override;

 private:
  const SpmvPlan<float>& plan_;
  int exponent_;
};

/// z = 2^-exponent M r for vectors in double precision and M in single: a preconditioner that takes half the memory.
/// r is rounded, so its elements have to be within single precision. Two vectors of floats, unless M is the identity:
/// products of several threads take turns.
class WidenedPreconditioner final : public FusedOperator<double> {
 public:
  /// \param M outlives this
  explicit WidenedPreconditioner(const LinearOperator<float>& M, int exponent = 0);
  [[nodiscard]] std::int64_t rows() const override { return m_->rows(); }
  [[nodiscard]] std::int64_t cols() const override { return m_->cols(); }
  [[nodiscard]] Device device() const override { return m_->device(); }
  [[nodiscard]] bool is_identity() const override { return m_->is_identity(); }
  [[nodiscard]] bool has_transpose() const override { return m_->has_transpose(); }

 protected:
  void do_apply(double alpha, std::span<const double> x, double beta, std::span<double> y) const override;
  void do_apply_transposed(double alpha, std::span<const double> x, double beta, std::span<double> y) const override;

 private:
  /// y = α 2^-exponent m x + β y, where m is M or its transpose.
  void widen(const LinearOperator<float>& m, double alpha, std::span<const double> x, double beta,
             std::span<double> y) const;

  std::shared_ptr<const FusedOperator<float>> m_;
  double scale_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable Array<float> r_;
  mutable Array<float> z_;
};

/// Result of a solve in mixed precision. The members of SolveReport tell of the whole solve: `iterations`, products and
/// history of both precisions; `replacements` are the corrections after which single precision went on.
struct [[nodiscard]] MixedSolveReport : SolveReport {
  std::int64_t single_iterations = 0;  ///< in single precision
  std::int64_t double_iterations = 0;  ///< in double precision, after single precision had failed
  std::int64_t double_products = 0;    ///< with A in double precision
  std::string fallback;                ///< why double precision took over; empty where it did not
};

/// cg, bicgstab, gmres, richardson. IDR took 1.4 to 4.4 times the iterations of double precision.
[[nodiscard]] bool has_mixed_precision(IterativeMethod method);

/// A method of tessera/solvers.hpp in mixed precision, for many right-hand sides, one after the other. It keeps its
/// vectors, and on a GPU what it has recorded, as IterativeSolver does; a solve while another one runs is refused.
///
/// The iteration runs in single precision with the residual r = b - A x and a correction of x. When ‖r‖₂ of its
/// recurrence has fallen far enough (CG and BiCGSTAB: to a tenth; GMRES: to 10⁻⁴, or at the end of a cycle) or meets
/// the tolerance, x takes the correction, and r is computed anew, in double. CG and BiCGSTAB then go on with their
/// directions, the others start anew from r. `converged` is said only of ‖b - A x‖₂ in double.
///
/// Where single precision fails (it breaks down, diverges or stagnates, or three corrections in turn, whose recurrences
/// have fallen to a tenth, lower ‖b - A x‖₂ by less than a half each), the same method goes on in double precision,
/// from the x that was reached and with M applied in single precision. So it does from the start where powers of two of
/// A, b or x are beyond 2^±300, 2^±500 and 2^500 ‖b‖₂. Limits of iterations and time are those of both together.
///
/// Powers of two as factors of A and b change nothing but the exponents of x, as in cg().
class MixedPrecisionSolver {
 public:
  /// \param A       in double precision: a plan, or WidenedPlan. One product per correction
  /// \param single  the same in single precision: A = 2^exponent single
  /// \param M       preconditioner in single precision: an approximate inverse of `single`
  /// \param options copied, for all solves
  /// All three are referred to, on one device.
  /// \throws NotSupported unless has_mixed_precision(); DimensionError, InvalidArgument as cg(); OutOfMemory, CudaError
  MixedPrecisionSolver(IterativeMethod method, const LinearOperator<double>& A, const LinearOperator<float>& single,
                       const LinearOperator<float>& M, const SolverOptions& options = {}, int exponent = 0);
  /// Without preconditioner.
  MixedPrecisionSolver(IterativeMethod method, const LinearOperator<double>& A, const LinearOperator<float>& single,
                       const SolverOptions& options = {}, int exponent = 0);
  ~MixedPrecisionSolver();
  /// A moved-from solver may only be assigned to or destroyed.
  MixedPrecisionSolver(MixedPrecisionSolver&&) noexcept;
  MixedPrecisionSolver& operator=(MixedPrecisionSolver&&) noexcept;

  /// \param b right-hand side, n elements, on A's device as x
  /// \param x initial guess on entry, the result on return, as for cg(). Where the observer or an operator throws, the
  ///          x of the latest correction
  /// Per iteration: what the method does in single precision, and no allocation. Per correction: one product with A and
  /// 36 n bytes. A fallback allocates the vectors of the method in double precision.
  /// \returns a report \throws as cg(); another solve may follow
  MixedSolveReport solve(std::span<const double> b, std::span<double> x);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// One solve by a MixedPrecisionSolver.
MixedSolveReport solve_mixed(IterativeMethod method, const LinearOperator<double>& A,
                             const LinearOperator<float>& single, const LinearOperator<float>& M,
                             std::span<const double> b, std::span<double> x, const SolverOptions& options = {},
                             int exponent = 0);

/// Vectors of n doubles that a solve in mixed precision has besides b, x and those of its method in single precision.
inline constexpr std::int64_t mixed_precision_vectors = 2;

}  // namespace tessera
