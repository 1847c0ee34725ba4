#include "spgemm/common/sketches.hpp"
#include "tessera/spgemm.hpp"

#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/host/job.hpp"
#include "spgemm/host/workflows/narrow_product.hpp"
#include "spgemm/host/workflows/one_phase.hpp"
#include "spgemm/host/workflows/tiles.hpp"
#include "spgemm/host/workflows/workflow_choice.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tessera::host {

namespace {

/// A product on the host: the job and its report. \tparam V T, or NoValue for the pattern
template <class V, class T>
class Workflow {
 public:
  Workflow(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options)
      : options_(options), job_(start_job(a.view(), b.view(), options)) {
    report_.products = job_.analysis.total();
    if (a.nnz() > 0) report_.expansion = static_cast<double>(report_.products) / static_cast<double>(a.nnz());
    if (options.workflow == SpgemmWorkflow::esc) job_.policy.preferred = SpgemmAccumulator::esc;
    fit_workspaces<NoValue>(job_, 0);
    choose();
    report_.analysis_ms = total_.milliseconds();
  }

  [[nodiscard]] SpgemmResult<T> run() {
    Csr<T> matrix = compute();
    report_.nnz = matrix.nnz();
    if (report_.workflow != SpgemmWorkflow::tiles) report_.accumulators = accumulator_use(job_);
    report_.threads = job_.workers;
    report_.peak_bytes = job_.budget.peak();
    report_.total_ms = total_.milliseconds();
    return {std::move(matrix), std::move(report_)};
  }

 private:
  void choose() {
    const double rows = std::max<double>(1.0, static_cast<double>(job_.rows()));
    WorkflowFacts facts{static_cast<double>(report_.products) / rows, report_.expansion, report_.products, {}};
    const bool automatic = options_.workflow == SpgemmWorkflow::automatic;
    if (options_.workflow == SpgemmWorkflow::sampled || (automatic && wants_sample(facts))) {
      facts.sample = sample_compression(job_);
      report_.sample = facts.sample;
    }
    WorkflowChoice choice = automatic ? choose_workflow(facts) : WorkflowChoice{options_.workflow, "chosen by name"};
    report_.workflow = choice.workflow;
    report_.reason = std::move(choice.reason);
  }

  [[nodiscard]] Csr<T> compute() {
    if (report_.workflow == SpgemmWorkflow::tiles) {
      if (std::optional<Csr<T>> c = tile_product<V>(job_, report_)) return std::move(*c);
      report_.workflow = SpgemmWorkflow::symbolic;
    }
    return report_.workflow == SpgemmWorkflow::symbolic ? count_and_sum() : estimate_and_sum();
  }

  [[nodiscard]] Csr<T> count_and_sum() {
    const Stopwatch counting;
    job_.budget.reserve(detail::csr_bytes(job_.rows(), 0, 0), "row offsets of a sparse product");
    Array<offset_t> offsets = count_entries(job_);
    report_.sizing_ms = counting.milliseconds();
    const Stopwatch summing;
    const std::uint64_t entries = detail::csr_bytes(0, offsets[job_.rows()], value_bytes<V>);
    // All that the product will hold, for the message: C, the analysis and the workspaces.
    fit_workspaces<V>(job_, entries);
    job_.budget.reserve(entries, "sparse product");
    Csr<T> matrix = sum_into_place<V>(job_, std::move(offsets));
    report_.numeric_ms = summing.milliseconds();
    return matrix;
  }

  [[nodiscard]] Csr<T> estimate_and_sum() {
    const Stopwatch sizing;
    std::optional<SizeEstimate> plan = estimate_sizes(job_, options_, report_);
    report_.sizing_ms = sizing.milliseconds();
    fit_workspaces<V>(job_, 0);
    if (!plan || !job_.budget.fits(one_phase_bytes<V>(job_, *plan))) return fall_back(std::move(plan));
    OnePhaseResult<T> result = one_phase<V>(job_, *plan);
    report_.overflow_rows = result.overflow_rows;
    report_.numeric_ms = result.numeric_ms;
    report_.compaction_ms = result.compaction_ms;
    report_.fallback = std::move(result.fallback);
    if (!plan->estimates.empty()) report_.estimate_error = estimate_error(plan->estimates, result.matrix.row_offsets());
    return std::move(result.matrix);
  }

  [[nodiscard]] Csr<T> fall_back(std::optional<SizeEstimate> plan) {
    const std::uint64_t need =
        plan ? one_phase_bytes<V>(job_, *plan)
             : detail::sketch_bytes(report_.workflow, report_.registers, job_.rows(), job_.b.rows);
    report_.fallback = fmt::format("{} needs {} bytes more, beyond the limit of {}: exact instead",
                                   to_string(report_.workflow), need, job_.budget.limit());
    report_.workflow = SpgemmWorkflow::symbolic;
    report_.registers = 0;
    job_.policy.preferred = options_.accumulator;
    if (plan) job_.budget.release(plan->estimates.bytes());
    plan.reset();
    const double before = report_.sizing_ms;
    Csr<T> matrix = count_and_sum();
    report_.sizing_ms += before;
    return matrix;
  }

  /// Mean of |estimate - entries| / entries over the rows that have some.
  [[nodiscard]] double estimate_error(const Array<float>& estimates, const Array<offset_t>& offsets) const {
    double sum = 0.0;
    std::int64_t rows = 0;
    for (std::int64_t i = 0; i < job_.rows(); ++i) {
      const auto entries = static_cast<double>(offsets[i + 1] - offsets[i]);
      if (entries == 0.0) continue;
      sum += std::fabs(static_cast<double>(estimates[i]) - entries) / entries;
      ++rows;
    }
    return rows == 0 ? 0.0 : sum / static_cast<double>(rows);
  }

  SpgemmOptions options_;
  Stopwatch total_;
  HostJob<T> job_;
  SpgemmReport report_;
};

}  // namespace

template <class V, class T>
SpgemmResult<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  if constexpr (has_values<V>) {
    if (options.precision != SpgemmPrecision::working) return narrow_product(a, b, options);
  }
  return Workflow<V, T>(a, b, options).run();
}

template SpgemmResult<float> multiply<float>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<float> multiply<NoValue>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<double>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<NoValue>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera::host
