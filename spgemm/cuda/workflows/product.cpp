#include "spgemm/common/backends.hpp"

#include "core/stopwatch.hpp"
#include "spgemm/cuda/job.hpp"
#include "spgemm/cuda/workflows/one_phase.hpp"
#include "spgemm/cuda/workflows/small_product.hpp"
#include "spgemm/cuda/workflows/tiles.hpp"

#include <optional>
#include <utility>

namespace tessera::cuda {

namespace {

template <class V>
void choose_workflow(DeviceJob<V>& job) {
  SpgemmReport& report = job.report;
  if (job.options.workflow != SpgemmWorkflow::automatic) {
    report.workflow = job.options.workflow;
    report.reason = "chosen by name";
  } else if (job.small_rows) {
    report.workflow = SpgemmWorkflow::sampled;
    report.reason = "many products meet in few entries: summing them once costs less than counting first";
  } else {
    report.workflow = SpgemmWorkflow::symbolic;
    report.reason = "on a GPU counting costs less than moving C out of a store of estimated size";
  }
}

/// All workflows but `symbolic` and `tiles`, which only a name reaches.
template <class V>
NamedWorkflow<V> workflow_of(SpgemmWorkflow name) {
  return name == SpgemmWorkflow::esc ? esc_workflow<V> : one_phase<V>;
}

template <class V>
CsrArrays<V> compute(DeviceJob<V>& job) {
  if (job.report.workflow != SpgemmWorkflow::symbolic) {
    if (std::optional<CsrArrays<V>> c = workflow_of<V>(job.report.workflow)(job)) return std::move(*c);
    if (job.bins.used().empty()) bin_rows(job);
    job.report.workflow = SpgemmWorkflow::symbolic;
    job.report.registers = 0;
  }
  return two_phase(job);
}

/// For a product that was given up in tiles.
SpgemmOptions without_tiles(SpgemmOptions options) {
  options.workflow = SpgemmWorkflow::symbolic;
  return options;
}

template <class V, class T>
Csr<T> assemble(index_t rows, index_t cols, CsrArrays<V> c) {
  if constexpr (has_values<V>) {
    return Csr<T>(rows, cols, std::move(c.offsets), std::move(c.columns), std::move(c.values), Check::trusted);
  } else {
    return Csr<T>::pattern(rows, cols, std::move(c.offsets), std::move(c.columns), Check::trusted);
  }
}

}  // namespace

template <class V, class T>
SpgemmResult<T> multiply(const Csr<T>& a, const Csr<T>& b, const SpgemmOptions& options) {
  const Stopwatch total;
  const LocalFactor<T> left(a, options.device);
  const std::optional<LocalFactor<T>> right =
      &a == &b ? std::nullopt : std::optional<LocalFactor<T>>(std::in_place, b, options.device);
  const CsrView<T> b_view = right ? right->view() : left.view();
  const double upload_ms = total.milliseconds();
  const auto finish = [&](Csr<T> matrix, SpgemmReport report) {
    report.upload_ms = upload_ms;
    report.nnz = matrix.nnz();
    report.threads = 0;
    report.total_ms = total.milliseconds();
    return SpgemmResult<T>{std::move(matrix), std::move(report)};
  };
  SpgemmReport of_small;
  if (std::optional<CsrArrays<V>> c = small_product<V>(left.view(), b_view, options, of_small)) {
    return finish(assemble<V, T>(a.rows(), b.cols(), std::move(*c)), std::move(of_small));
  }
  SpgemmReport of_tiles;
  if (std::optional<CsrArrays<V>> c = tile_product<V>(left.view(), b_view, options, of_tiles)) {
    return finish(assemble<V, T>(a.rows(), b.cols(), std::move(*c)), std::move(of_tiles));
  }
  const bool gave_up_tiles = !of_tiles.fallback.empty();
  DeviceJob<V> job(left.view(), b_view, gave_up_tiles ? without_tiles(options) : options);
  choose_workflow(job);
  if (gave_up_tiles) {
    job.report.reason = std::move(of_tiles.reason);
    job.report.fallback = std::move(of_tiles.fallback);
  }
  job.report.analysis_ms = total.milliseconds() - upload_ms;
  Csr<T> matrix = assemble<V, T>(job.rows, job.cols, compute(job));
  job.report.determinism = job.adds_in_any_order ? Determinism::not_guaranteed : Determinism::gpu_to_gpu;
  job.report.peak_bytes = job.budget->peak();
  return finish(std::move(matrix), std::move(job.report));
}

template SpgemmResult<float> multiply<float>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<float> multiply<NoValue>(const Csr<float>&, const Csr<float>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<double>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);
template SpgemmResult<double> multiply<NoValue>(const Csr<double>&, const Csr<double>&, const SpgemmOptions&);

}  // namespace tessera::cuda
