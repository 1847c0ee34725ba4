/// \file
/// One solver with one kernel and one preconditioner, run from the start as often as asked.
#pragma once

#include "compare/comparison.hpp"
#include "compare/oracle.hpp"
#include "support/precond.hpp"
#include "support/system.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace tessera::compare {

/// The end of one run.
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

/// One solver with one kernel, run from the start as often as asked.
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

/// The method of a solver of linear systems. \param solver not pagerank
[[nodiscard]] support::Method method_of(Solver solver);

template <class T>
[[nodiscard]] support::PrecondSubject<T> precond_subject(const SolveInputs<T>& inputs) {
  return {inputs.facts, inputs.on_device->view(), inputs.device, inputs.name};
}

/// \param precond null for pagerank; the arguments must outlive the task
template <class T>
[[nodiscard]] std::unique_ptr<SolveTask> make_solve_task(Solver solver, const SolveInputs<T>& inputs,
                                                         const Candidate<T>& candidate,
                                                         const support::PrecondRequest* precond);

}  // namespace tessera::compare
