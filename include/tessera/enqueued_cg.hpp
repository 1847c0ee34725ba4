/// \file
/// EnqueuedCg: whole solves by conjugate gradients in the order of a stream, without the host.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera {

/// How an enqueued solve ended, in the memory of A's device. Norms are of the user's problem.
struct SolveOutcome {
  Status status = Status::max_iterations;
  Breakdown breakdown = Breakdown::none;  ///< set when status is breakdown (or not_finite after one)
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;            ///< products with A, those of residual checks included
  std::int64_t preconditioner_count = 0;  ///< applications of M
  std::int64_t restarts = 0;              ///< after breakdowns
  std::int64_t replacements = 0;          ///< of the recurrence's residual by the true one
  double true_residual = 0.0;             ///< ‖b - A x‖₂, computed from the x of the solve
  double b_norm = 0.0;                    ///< ‖b‖₂
  double r0_norm = 0.0;                   ///< ‖b - A x₀‖₂
  double target = 0.0;                    ///< max(rtol * base, atol)

  [[nodiscard]] bool converged() const noexcept { return status == Status::converged; }
};

/// Conjugate gradients for A x = b, from scaling to the check of the true residual in the order of a stream: enqueue()
/// returns at once, many solves may follow each other, and the caller reads what became of them when it wants to. Where
/// the stream is being recorded, the solve becomes a part of the caller's CUDA graph: a time step of kernels before it
/// and after it, launched as one.
///
/// Method, stopping rules and restarts are those of cg(). Rounding differs: the check forms A x, then b - A x. An x₀
/// beyond the range of the scaled problem, which cg() may replace by 0, ends the solve as not_finite. A and M outlive
/// the solver. Memory: six vectors, seven where M is neither the identity nor diagonal. A solve at a time: the graphs
/// of one solver run one after the other, and so does what else runs in its context.
template <class T>
class EnqueuedCg {
 public:
  /// \param A,M     as for cg(); on a GPU a plan, or an operator that can_enqueue(), and a preconditioner that runs
  ///                there
  /// \param options as for cg(), without history, observer and time limit, which need the host; copied
  /// \throws DimensionError as cg(); InvalidArgument as cg(), for options that need the host, and for an A or M
  ///         that cannot be enqueued; OutOfMemory, CudaError
  EnqueuedCg(const LinearOperator<T>& A, const LinearOperator<T>& M, const SolverOptions& options = {});
  /// Without preconditioner.
  explicit EnqueuedCg(const LinearOperator<T>& A, const SolverOptions& options = {});
  ~EnqueuedCg();
  /// A moved-from solver may only be assigned to or destroyed.
  EnqueuedCg(EnqueuedCg&&) noexcept;
  EnqueuedCg& operator=(EnqueuedCg&&) noexcept;

  /// Puts one solve into the stream of A's context, behind the work that is there; on the host it solves at once.
  /// Neither waits nor allocates, from the second call on; the first one records the loops, and so does one after
  /// SpmvPlan::update_values() or Preconditioner::refresh() moved memory. A graph of the caller then has to be recorded
  /// anew. Where graphs have no loops (a driver before CUDA 12.4, TESSERA_CUDA_GRAPHS=0) the host drives the loops, and
  /// waits.
  /// \param b       right-hand side, n elements, on A's device as x; read when the stream comes to it
  /// \param x       initial guess, then the result, as for cg(). Must not overlap b
  /// \param outcome one, in memory of A's device; written when the solve ends
  /// \throws DimensionError, InvalidArgument for sizes, and for memory that is not of A's device; CudaError;
  ///         DeviceUnavailable where the stream is recorded and the driver (before CUDA 12.4) has no loops in graphs
  void enqueue(std::span<const T> b, std::span<T> x, SolveOutcome* outcome);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class EnqueuedCg<float>;
extern template class EnqueuedCg<double>;

}  // namespace tessera
