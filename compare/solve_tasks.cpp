// Solves as tasks that can be repeated.
#include "compare/solve_tasks.hpp"

#include "core/stopwatch.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace tessera::compare {

support::Method method_of(Solver solver) { return solver.iterative().value_or(IterativeMethod::bicgstab); }

namespace {

template <class T>
class KrylovTask final : public SolveTask {
 public:
  KrylovTask(Solver solver, const SolveInputs<T>& inputs, const Candidate<T>& candidate,
             const support::PrecondRequest& request)
      : solver_(solver), inputs_(inputs), candidate_(candidate), request_(request) {}

  void prepare() override {
    kernel_.product.reset();
    precond_.inverse.reset();
    x_ = inputs_.vectors.x0;
  }

  SolveRun run() override {
    const Stopwatch setup;
    kernel_ = candidate_.plan(inputs_.on_device);
    precond_ = support::prepare_precond<T>(request_, precond_subject(inputs_));
    SolveRun result;
    result.setup_ms = setup.milliseconds() - kernel_.info.upload_ms;
    const Stopwatch solve;
    SolveReport report = support::solve_from_host<T>(method_of(solver_), {*kernel_.product, *precond_.inverse},
                                                     inputs_.vectors.b, x_, inputs_.solver);
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
    return checked_residual<T>(inputs_.matrix->view(), inputs_.vectors.b, x_);
  }

 private:
  Solver solver_;
  const SolveInputs<T>& inputs_;
  const Candidate<T>& candidate_;
  const support::PrecondRequest& request_;
  PlannedKernel<T> kernel_;
  support::PreparedPrecond<T> precond_;
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

}  // namespace

template <class T>
std::unique_ptr<SolveTask> make_solve_task(Solver solver, const SolveInputs<T>& inputs, const Candidate<T>& candidate,
                                           const support::PrecondRequest* precond) {
  if (precond == nullptr) return std::make_unique<PageRankTask<T>>(inputs, candidate);
  return std::make_unique<KrylovTask<T>>(solver, inputs, candidate, *precond);
}

template std::unique_ptr<SolveTask> make_solve_task(Solver, const SolveInputs<float>&, const Candidate<float>&,
                                                    const support::PrecondRequest*);
template std::unique_ptr<SolveTask> make_solve_task(Solver, const SolveInputs<double>&, const Candidate<double>&,
                                                    const support::PrecondRequest*);

}  // namespace tessera::compare
