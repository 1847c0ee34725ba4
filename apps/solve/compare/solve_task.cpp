#include "compare/solve_task.hpp"

#include "interrupt.hpp"
#include "run_method.hpp"
#include "timer.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] Control go_on_unless_interrupted(const IterationInfo& /*info*/) {
  return interrupt_signal() == 0 ? Control::proceed : Control::stop;
}

template <class T>
class KrylovTask final : public SolveTask {
 public:
  KrylovTask(Solver solver, const SolveInputs<T>& inputs, const Candidate<T>& candidate)
      : solver_(solver), inputs_(inputs), candidate_(candidate) {}

  void prepare() override {
    kernel_.product.reset();
    precond_.inverse.reset();
    x_ = inputs_.x0;
  }

  SolveRun run() override {
    const Timer setup;
    kernel_ = candidate_.plan(inputs_.placed);
    precond_ = prepare_precond(inputs_.precond, inputs_.facts, inputs_.placed->view(), inputs_.device, inputs_.problem);
    SolveRun result;
    result.setup_ms = setup.milliseconds() - kernel_.info.upload_ms;
    const Method method = solver_ == Solver::cg ? Method::cg : Method::bicgstab;
    const Timer solve;
    SolveReport report =
        solve_where_it_lies<T>(method, {*kernel_.product, *precond_.inverse}, inputs_.b, x_, inputs_.solver);
    result.solve_ms = solve.milliseconds() - report.timings.upload_ms - report.timings.download_ms;
    result.status = report.status;
    result.reason = std::move(report.reason);
    result.iterations = report.iterations;
    result.spmv_count = report.spmv_count;
    result.residual = report.true_residual;
    result.target = report.target;
    return result;
  }

  [[nodiscard]] CheckedResidual check() const override {
    return checked_residual<T>(inputs_.matrix->view(), inputs_.b, x_);
  }

 private:
  Solver solver_;
  const SolveInputs<T>& inputs_;
  const Candidate<T>& candidate_;
  PlannedKernel<T> kernel_;
  PreparedPrecond<T> precond_;
  std::vector<T> x_;
};

template <class T>
class PageRankTask final : public SolveTask {
 public:
  PageRankTask(const SolveInputs<T>& inputs, const Candidate<T>& candidate)
      : inputs_(inputs), options_(inputs.pagerank) {
    options_.spmv = candidate.options;
  }

  void prepare() override { result_.reset(); }

  SolveRun run() override {
    result_.emplace(pagerank(*inputs_.transition, options_));
    SolveRun result;
    result.setup_ms = result_->timings.plan_ms;
    result.solve_ms = result_->timings.solve_ms;
    result.status = result_->status;
    result.reason = result_->reason;
    result.iterations = result_->iterations;
    result.spmv_count = result_->spmv_count;
    result.residual = result_->change;
    result.target = options_.tolerance;
    return result;
  }

  [[nodiscard]] CheckedResidual check() const override {
    return checked_rank_change<T>(inputs_.matrix->view(), options_.damping, result_->ranks.span());
  }

 private:
  const SolveInputs<T>& inputs_;
  PageRankOptions options_;
  std::optional<PageRankResult<T>> result_;
};

template <class T>
[[nodiscard]] std::shared_ptr<const TransitionMatrix<T>> make_transition(const Problem<T>& problem,
                                                                         const Device& device) {
  try {
    return std::make_shared<const TransitionMatrix<T>>(problem.matrix->view(), device);
  } catch (const InvalidMatrix& error) {
    throw InvalidMatrix(fmt::format("{}: {}", problem.name, error.what()));
  }
}

template <class T>
void require_square(const Problem<T>& problem) {
  const Csr<T>& matrix = *problem.matrix;
  if (matrix.rows() == matrix.cols()) return;
  throw DimensionError(fmt::format("{}: the matrix is {} x {}, --solvers needs a square one", problem.name,
                                   matrix.rows(), matrix.cols()));
}

}  // namespace

template <class T>
SolveInputs<T> solve_inputs(const CompareSettings& settings, const Problem<T>& problem, CompareOutcome& outcome) {
  const MachineSettings& machine = settings.machine;
  SolveInputs<T> inputs;
  if (settings.solvers.empty()) return inputs;
  require_square(problem);
  inputs.matrix = problem.matrix;
  inputs.placed = placed(problem.matrix, machine.device);
  inputs.problem = problem.name;
  inputs.device = machine.device;
  inputs.facts = outcome.matrix;
  const bool ranks =
      std::find(settings.solvers.begin(), settings.solvers.end(), Solver::pagerank) != settings.solvers.end();
  const bool solves = settings.solvers.size() > (ranks ? 1U : 0U);

  constexpr std::uint64_t solver_vectors = 14;
  const auto rows = static_cast<std::uint64_t>(problem.matrix->rows());
  const std::uint64_t transition = ranks ? problem.matrix->bytes() : 0;
  const std::uint64_t resident = machine.memory_limit_bytes != 0 ? problem.matrix->bytes() : 0;
  require_memory(machine, resident + transition + solver_vectors * rows * sizeof(T), "the vectors of the solvers");

  if (ranks) {
    inputs.transition = make_transition(problem, machine.host);
    inputs.pagerank = settings.pagerank;
    inputs.pagerank.observer = go_on_unless_interrupted;
  }
  if (!solves) return inputs;
  inputs.solver = settings.solver;
  inputs.solver.observer = go_on_unless_interrupted;
  SpmvOptions plain;
  plain.algorithm = SpmvAlgorithm::csr;
  plain.device = machine.host;
  const SpmvPlan<T> A(problem.matrix, plain);
  inputs.b = make_vector<T>(settings.rhs, A, machine, machine.seed, "right-hand side");
  inputs.x0 = settings.x0.kind == VectorSettings::Kind::rhs
                  ? inputs.b
                  : make_vector<T>(settings.x0, A, machine, machine.seed + 1, "initial guess");
  // Chosen once; a preconditioner that the user wants and the matrix does not allow is refused here.
  inputs.precond = prepare_precond(settings.precond, outcome.matrix, problem.matrix->view(), machine.host, problem.name)
                       .choice.precond;
  outcome.precond = to_string(inputs.precond);
  return inputs;
}

template <class T>
std::unique_ptr<SolveTask> make_solve_task(Solver solver, const SolveInputs<T>& inputs, const Candidate<T>& candidate) {
  if (solver == Solver::pagerank) return std::make_unique<PageRankTask<T>>(inputs, candidate);
  return std::make_unique<KrylovTask<T>>(solver, inputs, candidate);
}

template SolveInputs<float> solve_inputs(const CompareSettings&, const Problem<float>&, CompareOutcome&);
template SolveInputs<double> solve_inputs(const CompareSettings&, const Problem<double>&, CompareOutcome&);
template std::unique_ptr<SolveTask> make_solve_task(Solver, const SolveInputs<float>&, const Candidate<float>&);
template std::unique_ptr<SolveTask> make_solve_task(Solver, const SolveInputs<double>&, const Candidate<double>&);

}  // namespace tessera::cli
