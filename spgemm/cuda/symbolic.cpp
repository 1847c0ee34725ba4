// Symbolic phase.
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

/// Turns counts into offsets, and chooses bins anew where the counts matter. Waits.
template <class V>
CountedRows bins_by_counts(DeviceJob<V>& job, Array<offset_t> counts) {
  const bool anew =
      job.analysis.repeats || std::any_of(job.bins.used().begin(), job.bins.used().end(), depends_on_entries);
  RowEntries entries;
  entries.counts = counts.data();
  if (anew) {
    enqueue_choice(job.context, job.factors.a_offsets, job.rows, entries, job.counted_policy(), job.analysis);
  }
  exclusive_sum_on_device(job.device(), counts.span());
  const FetchedTotals fetched = fetch_totals(job.context, job.analysis, counts.data() + job.rows);
  if (!anew) return {std::move(counts), std::move(job.bins), fetched.number};
  job.budget->release(job.bins.bytes());
  job.bins = BinnedRows();
  CountedRows result{std::move(counts),
                     BinnedRows(job.context, job.analysis, fetched.totals, job.counted_policy(), job.rows,
                                job.analysis.left_out != nullptr),
                     fetched.number};
  job.budget->reserve(result.bins.bytes(), "analysis of a sparse product");
  return result;
}

}  // namespace

template <class V>
CountedRows count_rows(DeviceJob<V>& job, const std::function<void(offset_t*)>& count_others) {
  job.budget->reserve(detail::csr_bytes(job.rows, 0, 0), "row offsets of a sparse product");
  Array<offset_t> counts(std::int64_t{job.rows} + 1, Init::none, job.device());
  zero_bytes(job.device(), counts.data() + job.rows, sizeof(offset_t));
  enqueue_symbolic(job, job.bins, counts.data());
  enqueue_repeated_counts(job.context, job.analysis, job.rows, counts.data());
  if (count_others) count_others(counts.data());
  return bins_by_counts(job, std::move(counts));
}

template <class V>
void bin_rows(DeviceJob<V>& job) {
  enqueue_choice(job.context, job.factors.a_offsets, job.rows, RowEntries{}, job.counting_policy(), job.analysis);
  const BinTable totals = fetch_totals(job.context, job.analysis, nullptr).totals;
  job.bins = BinnedRows(job.context, job.analysis, totals, job.counting_policy(), job.rows);
  job.budget->reserve(job.bins.bytes(), "analysis of a sparse product");
}

template <class V>
void enqueue_symbolic(const DeviceJob<V>& job, const BinnedRows& bins, offset_t* counts) {
  if (bins.leaves_rows_out() || bins.used().empty()) {
    zero_bytes(job.device(), counts, static_cast<std::uint64_t>(job.rows) * sizeof(offset_t));
  }
  RowOutput<NoValue> out;
  out.counts = counts;
  for_each_bin(job.device(), bins, [&](RowBin bin) {
    enqueue_bin(job.context, bin, Phase::symbolic, job.positions, bins.batch(bin), out, true);
  });
}

template CountedRows count_rows(DeviceJob<float>&, const std::function<void(offset_t*)>&);
template CountedRows count_rows(DeviceJob<double>&, const std::function<void(offset_t*)>&);
template CountedRows count_rows(DeviceJob<NoValue>&, const std::function<void(offset_t*)>&);
template void bin_rows(DeviceJob<float>&);
template void bin_rows(DeviceJob<double>&);
template void bin_rows(DeviceJob<NoValue>&);
template void enqueue_symbolic(const DeviceJob<float>&, const BinnedRows&, offset_t*);
template void enqueue_symbolic(const DeviceJob<double>&, const BinnedRows&, offset_t*);
template void enqueue_symbolic(const DeviceJob<NoValue>&, const BinnedRows&, offset_t*);

}  // namespace tessera::cuda
