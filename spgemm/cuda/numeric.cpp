#include "core/stopwatch.hpp"
#include "spgemm/cuda/job.hpp"

#include <algorithm>
#include <utility>

namespace tessera::cuda {

template <class V>
void enqueue_numeric(DeviceJob<V>& job, const BinnedRows& bins, const offset_t* offsets, index_t* columns, V* values) {
  RowOutput<V> out;
  out.starts = offsets;
  out.columns = columns;
  out.values = values;
  for_each_bin(job.device(), bins, [&](RowBin bin) {
    enqueue_bin(job.context, bin, Phase::numeric, job.factors, bins.batch(bin), out, job.ordered);
    note_use(job.report, bin, bins.total(bin));
  });
  if (has_values<V> && !job.ordered && bins.add_in_any_order()) job.adds_in_any_order = true;
}

void note_use(SpgemmReport& report, RowBin bin, const BinTotals& total) {
  const SpgemmAccumulator accumulator = accumulator_of(bin);
  const auto found = std::find_if(report.accumulators.begin(), report.accumulators.end(),
                                  [&](const SpgemmAccumulatorUse& use) { return use.accumulator >= accumulator; });
  const SpgemmAccumulatorUse more{accumulator, static_cast<index_t>(total.rows + total.followers),
                                  static_cast<offset_t>(total.products)};
  if (found == report.accumulators.end() || found->accumulator != accumulator) {
    report.accumulators.insert(found, more);
    return;
  }
  found->rows += more.rows;
  found->products += more.products;
}

template <class V>
CsrArrays<V> two_phase(DeviceJob<V>& job) {
  const Stopwatch counting;
  CountedRows counted = count_rows(job);
  job.report.sizing_ms += counting.milliseconds();
  const Stopwatch placing;
  job.budget->reserve(detail::csr_bytes(0, counted.nnz, value_bytes<V>) - sizeof(offset_t), "sparse product");
  CsrArrays<V> c{std::move(counted.offsets), Array<index_t>(counted.nnz, Init::none, job.device()),
                 Array<V>(has_values<V> ? counted.nnz : 0, Init::none, job.device())};
  enqueue_numeric(job, counted.bins, c.offsets.data(), c.columns.data(), c.values.data());
  if (!job.options.asynchronous) job.context.synchronize();
  job.report.numeric_ms = placing.milliseconds();
  return c;
}

template CsrArrays<float> two_phase(DeviceJob<float>&);
template CsrArrays<double> two_phase(DeviceJob<double>&);
template CsrArrays<NoValue> two_phase(DeviceJob<NoValue>&);
template void enqueue_numeric(DeviceJob<float>&, const BinnedRows&, const offset_t*, index_t*, float*);
template void enqueue_numeric(DeviceJob<double>&, const BinnedRows&, const offset_t*, index_t*, double*);
template void enqueue_numeric(DeviceJob<NoValue>&, const BinnedRows&, const offset_t*, index_t*, NoValue*);

}  // namespace tessera::cuda
