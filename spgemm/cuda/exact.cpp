// The workflow that counts first.
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/cuda/job.hpp"

#include <algorithm>
#include <utility>

namespace tessera::cuda {

namespace {

/// Whether rows of a bin may be done elsewhere once their entries are known.
bool depends_on_entries(RowBin bin) noexcept { return bin > RowBin::esc_512; }

/// Counts become offsets; the bins are chosen anew where the counts matter. Waits.
template <class V>
CountedRows bins_by_counts(ProductJob<V>& job, Array<offset_t> counts) {
  const bool anew =
      job.analysis.repeats || std::any_of(job.bins.used().begin(), job.bins.used().end(), depends_on_entries);
  RowEntries entries;
  entries.counts = counts.data();
  if (anew) {
    enqueue_choice(job.context, job.factors.a_offsets, job.rows, entries, job.counted_policy(), job.analysis);
  }
  exclusive_sum_on_device(job.device(), counts.span());
  const BroughtTotals brought = bring_totals(job.context, job.analysis, counts.data() + job.rows);
  if (!anew) return {std::move(counts), std::move(job.bins), brought.number};
  job.budget->release(job.bins.bytes());
  job.bins = BinnedRows();
  CountedRows result{std::move(counts),
                     BinnedRows(job.context, job.analysis, brought.totals, job.counted_policy(), job.rows),
                     brought.number};
  job.budget->reserve(result.bins.bytes(), "analysis of a sparse product");
  return result;
}

}  // namespace

template <class V>
CountedRows count_rows(ProductJob<V>& job) {
  job.budget->reserve(csr_bytes(job.rows, 0, 0), "row offsets of a sparse product");
  Array<offset_t> counts(std::int64_t{job.rows} + 1, Init::none, job.device());
  zero_bytes(job.device(), counts.data() + job.rows, sizeof(offset_t));
  enqueue_counts(job, job.bins, counts.data());
  enqueue_repeated_counts(job.context, job.analysis, job.rows, counts.data());
  return bins_by_counts(job, std::move(counts));
}

template <class V>
CsrArrays<V> count_and_place(ProductJob<V>& job) {
  const Stopwatch counting;
  CountedRows counted = count_rows(job);
  job.report.sizing_ms += counting.milliseconds();
  const Stopwatch placing;
  job.budget->reserve(csr_bytes(0, counted.nnz, value_bytes<V>) - sizeof(offset_t), "sparse product");
  CsrArrays<V> c{std::move(counted.offsets), Array<index_t>(counted.nnz, Init::none, job.device()),
                 Array<V>(has_values<V> ? counted.nnz : 0, Init::none, job.device())};
  enqueue_places(job, counted.bins, c.offsets.data(), c.columns.data(), c.values.data());
  job.context.synchronize();
  job.report.numeric_ms = placing.milliseconds();
  return c;
}

template CountedRows count_rows(ProductJob<float>&);
template CountedRows count_rows(ProductJob<double>&);
template CsrArrays<float> count_and_place(ProductJob<float>&);
template CsrArrays<double> count_and_place(ProductJob<double>&);
template CsrArrays<NoValue> count_and_place(ProductJob<NoValue>&);

}  // namespace tessera::cuda
