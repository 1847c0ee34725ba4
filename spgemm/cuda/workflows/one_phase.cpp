// One-phase workflows on a GPU: rows are written to an output buffer of estimated size, then copied into C.
#include "spgemm/cuda/workflows/one_phase.hpp"
#include "core/cuda/memory.hpp"
#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/common/sketches.hpp"
#include "spgemm/cuda/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cuda {

namespace {

/// Phase numeric_allocating of all bins but those of bitmap_tiled: these are counted here, and summed in C itself.
template <class V>
void enqueue_allocating(DeviceJob<V>& job, const BinnedRows& bins, OutputBuffer<V>& buffer, offset_t* counts) {
  const RowOutput<V> out = buffer.output(counts);
  RowOutput<NoValue> counted;
  counted.counts = counts;
  for_each_bin(job.device(), bins, [&](RowBin bin) {
    if (accumulator_of(bin) == SpgemmAccumulator::bitmap_tiled) {
      enqueue_bin(job.context, bin, Phase::symbolic, job.positions, bins.batch(bin), counted, true);
    } else {
      enqueue_bin(job.context, bin, Phase::numeric_allocating, job.factors, bins.batch(bin), out, true);
      note_use(job.report, bin, bins.total(bin));
    }
  });
}

/// Rows that are not in the output buffer.
struct UnplacedRows {
  BinTable totals{};
  offset_t nnz = 0;

  /// Their number.
  [[nodiscard]] index_t rows() const noexcept {
    return static_cast<index_t>(sum_of_bins(totals).rows - totals[0].rows);
  }
};

/// Rows without an offset get bins by their counts; counts become offsets. Waits.
template <class V>
UnplacedRows find_unplaced_rows(DeviceJob<V>& job, const OutputBuffer<V>& buffer, Array<offset_t>& counts) {
  RowEntries left;
  left.counts = counts.data();
  left.buffer_offsets = buffer.buffer_offsets.data();
  enqueue_choice(job.context, job.factors.a_offsets, job.rows, left, job.counted_policy(), job.analysis);
  exclusive_sum_on_device(job.device(), counts.span());
  const FetchedTotals fetched = fetch_totals(job.context, job.analysis, counts.data() + job.rows);
  return {fetched.totals, fetched.number};
}

index_t tiled_rows(const BinnedRows& bins) noexcept {
  unsigned rows = 0;
  for (const RowBin bin : {RowBin::bitmap_tiled, RowBin::tiled_heavy, RowBin::tiled_huge}) rows += bins.total(bin).rows;
  return static_cast<index_t>(rows);
}

template <class V>
CsrArrays<V> compact(DeviceJob<V>& job, OutputBuffer<V>& buffer, Array<offset_t> offsets, const UnplacedRows& left,
                     index_t never_in_buffer) {
  CsrArrays<V> c{std::move(offsets), Array<index_t>(left.nnz, Init::none, job.device()),
                 Array<V>(has_values<V> ? left.nnz : 0, Init::none, job.device())};
  const double mean = job.rows == 0 ? 0.0 : static_cast<double>(left.nnz) / job.rows;
  enqueue_compaction<V>(job.context, job.rows, mean, buffer.buffer_offsets.data(), c.offsets.data(),
                        buffer.columns.data(), buffer.values.data(), c.columns.data(), c.values.data());
  if (left.rows() > 0) {
    const BinnedRows rest(job.context, job.analysis, left.totals, job.counted_policy(), job.rows, true);
    enqueue_numeric(job, rest, c.offsets.data(), c.columns.data(), c.values.data());
  }
  job.report.overflow_rows = left.rows() - never_in_buffer;
  return c;
}

/// Releases the bins of the symbolic phase.
template <class V>
void drop_bins(DeviceJob<V>& job) {
  job.budget->release(job.bins.bytes());
  job.bins = BinnedRows();
}

template <class V>
std::nullopt_t give_up(DeviceJob<V>& job, std::uint64_t need) {
  job.report.fallback = fmt::format("{} needs {} bytes more, beyond the limit of {}: exact instead",
                                    to_string(job.report.workflow), need, job.budget->limit());
  job.report.accumulators.clear();
  return std::nullopt;
}

}  // namespace

template <class V>
std::optional<CsrArrays<V>> one_phase(DeviceJob<V>& job) {
  SpgemmReport& report = job.report;
  detail::MemoryBudget& budget = *job.budget;
  const Stopwatch sizing;
  std::optional<DeviceSizeEstimate> plan = estimate_sizes(job);
  if (!plan) return give_up(job, detail::sketch_bytes(report.workflow, report.registers, job.rows, job.inner));
  BinTable totals{};
  if (!job.small_rows) {
    enqueue_choice(job.context, job.factors.a_offsets, job.rows, plan->entries, job.policy, job.analysis);
    totals = fetch_totals(job.context, job.analysis, nullptr).totals;
    drop_bins(job);
  }
  report.sizing_ms = sizing.milliseconds();
  // The lists of rows, the offsets, the output buffer and, beside it, C.
  const std::uint64_t list_bytes = static_cast<std::uint64_t>(job.rows) * sizeof(index_t);
  const std::uint64_t buffer_bytes =
      detail::csr_bytes(job.rows, 0, 0) + OutputBuffer<V>::bytes(job.rows, plan->capacity);
  const std::uint64_t need = list_bytes + buffer_bytes + detail::csr_bytes(0, plan->capacity, value_bytes<V>);
  if (!budget.fits(need)) {
    budget.release(plan->estimates.bytes());
    return give_up(job, need);
  }
  budget.reserve(list_bytes + buffer_bytes, "output buffer of a sparse product");

  const Stopwatch summing;
  BinnedRows bins =
      job.small_rows ? std::move(job.bins) : BinnedRows(job.context, job.analysis, totals, job.policy, job.rows);
  OutputBuffer<V> buffer(job, plan->capacity);
  Array<offset_t> counts(std::int64_t{job.rows} + 1, Init::zero, job.device());
  enqueue_allocating(job, bins, buffer, counts.data());
  const UnplacedRows left = find_unplaced_rows(job, buffer, counts);
  report.numeric_ms = summing.milliseconds();

  const Stopwatch compacting;
  const index_t never_in_buffer = tiled_rows(bins);
  bins = BinnedRows();
  // Rows without an offset need their list and their facts.
  const bool all_placed = left.rows() == 0;
  const std::uint64_t facts_bytes = RowAnalysis::bytes(job.rows) - RowAnalysis::bytes(0);
  const std::uint64_t spare_bytes = all_placed ? list_bytes + facts_bytes : 0;
  const std::uint64_t c_bytes = detail::csr_bytes(0, left.nnz, value_bytes<V>);
  if (!budget.fits(c_bytes - std::min(c_bytes, spare_bytes))) {
    budget.release(list_bytes + buffer_bytes + plan->estimates.bytes());
    return give_up(job, need + c_bytes);
  }
  if (all_placed) job.analysis = RowAnalysis(0, job.device());
  budget.release(spare_bytes);
  budget.reserve(c_bytes, "sparse product");
  CsrArrays<V> c = compact(job, buffer, std::move(counts), left, never_in_buffer);
  if (!job.options.asynchronous) job.context.synchronize();
  report.compaction_ms = compacting.milliseconds();
  if (!plan->estimates.empty()) {
    report.estimate_error = mean_estimate_error(job.device(), plan->estimates, c.offsets);
  }
  return c;
}

template std::optional<CsrArrays<float>> one_phase(DeviceJob<float>&);
template std::optional<CsrArrays<double>> one_phase(DeviceJob<double>&);
template std::optional<CsrArrays<NoValue>> one_phase(DeviceJob<NoValue>&);

}  // namespace tessera::cuda
