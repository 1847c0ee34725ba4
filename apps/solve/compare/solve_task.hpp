/// \file
/// One solver with one kernel, run from the start as often as asked.
#pragma once

#include "compare/candidate.hpp"
#include "compare/compare_outcome.hpp"
#include "compare/solve_check.hpp"
#include "problem.hpp"

#include "tessera/pagerank.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// What one run has come to.
struct SolveRun {
  Status status = Status::interrupted;
  std::string reason;
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;
  double residual = 0.0;  ///< as the solver reports it
  double target = 0.0;
  double setup_ms = 0.0;  ///< kernel and preconditioner
  double solve_ms = 0.0;
};

class SolveTask {
 public:
  SolveTask() = default;
  virtual ~SolveTask() = default;
  SolveTask(const SolveTask&) = delete;
  SolveTask& operator=(const SolveTask&) = delete;

  /// Drops the kernel of the run before and puts the initial guess in place.
  virtual void prepare() = 0;
  virtual SolveRun run() = 0;
  /// The residual of the latest run, computed apart.
  [[nodiscard]] virtual CheckedResidual check() const = 0;
};

/// What the solves of one problem share.
template <class T>
struct SolveInputs {
  std::shared_ptr<const Csr<T>> matrix;  ///< on the host
  std::shared_ptr<const Csr<T>> placed;  ///< on the device: the same, or a copy
  std::string problem;
  Device device;
  MatrixStatistics facts;
  Precond precond = Precond::none;
  SolverOptions solver;
  std::vector<T> b;
  std::vector<T> x0;
  PageRankOptions pagerank;
  std::shared_ptr<const TransitionMatrix<T>> transition;  ///< made once; the same for all kernels
};

/// Makes the vectors that the chosen solvers need (none: nothing), and says in the outcome which preconditioner they
/// get.
/// \throws DimensionError for a matrix that is not square; what reading vectors, the preconditioner and the transition
///         matrix throw; OutOfMemory
template <class T>
[[nodiscard]] SolveInputs<T> solve_inputs(const CompareSettings& settings, const Problem<T>& problem,
                                          CompareOutcome& outcome);

/// `inputs` and `candidate` outlive the task.
template <class T>
[[nodiscard]] std::unique_ptr<SolveTask> make_solve_task(Solver solver, const SolveInputs<T>& inputs,
                                                         const Candidate<T>& candidate);

}  // namespace tessera::cli
