/// \file
/// IterativeSolver: a method that keeps its vectors, and what a GPU has recorded, for many solves with one matrix.
#pragma once

#include "tessera/linear_operator.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera {

/// The methods of tessera/solvers.hpp, by the names of their functions.
enum class IterativeMethod : std::uint8_t { cg, bicgstab, gmres, idr, richardson };

/// A method for A x = b with many right-hand sides, one after the other: time steps, Newton steps. It gives the bits
/// and reports of the function of the method's name, and keeps what that makes anew in every call: its vectors, and on
/// a GPU the CUDA graph of its loop. From the second solve on it allocates nothing on the device and records nothing.
///
/// A and M outlive the solver. They may take new values between solves, by SpmvPlan::update_values() and
/// Preconditioner::refresh(): where these move memory that the graph refers to, the next solve prepares itself anew, as
/// the first one did. On a GPU, where the loop runs as a graph, the solver has one vector more than the function: a
/// copy of x, so that every solve may bring another x. One solve at a time.
template <class T>
class IterativeSolver {
 public:
  /// \param A,M     as for cg(); referred to
  /// \param options copied, for all solves
  /// \throws DimensionError, InvalidArgument as the function does; OutOfMemory, CudaError
  IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const LinearOperator<T>& M,
                  const SolverOptions& options = {});
  /// Without preconditioner.
  IterativeSolver(IterativeMethod method, const LinearOperator<T>& A, const SolverOptions& options = {});
  ~IterativeSolver();
  /// A moved-from solver may only be assigned to or destroyed.
  IterativeSolver(IterativeSolver&&) noexcept;
  IterativeSolver& operator=(IterativeSolver&&) noexcept;

  /// \param b right-hand side, n elements, on A's device as x
  /// \param x initial guess on entry, the result on return, as for cg(). A solve of the past may be the guess of the
  ///          next (warm start)
  /// \returns a report \throws as cg(); another solve may follow
  SolveReport solve(std::span<const T> b, std::span<T> x);

  [[nodiscard]] IterativeMethod method() const noexcept;
  [[nodiscard]] const SolverOptions& options() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class IterativeSolver<float>;
extern template class IterativeSolver<double>;

}  // namespace tessera
