// The workflow `esc`: every row by expansion, sorting and contraction (Dalton, Olson & Bell, TOMS 2015).
#include "spgemm/cuda/workflows/esc.hpp"
#include "core/cuda/context.hpp"
#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/job.hpp"
#include "spgemm/cuda/workflows/one_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::cuda {

namespace {

/// Reserves bytes of the budget until the end of its scope.
class Hold {
 public:
  Hold(detail::MemoryBudget& budget, std::uint64_t bytes, const char* purpose) : budget_(budget), bytes_(bytes) {
    budget_.reserve(bytes, purpose);
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  ~Hold() { budget_.release(bytes_); }

  /// Releases all but so many.
  void shrink(std::uint64_t bytes) noexcept {
    budget_.release(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  detail::MemoryBudget& budget_;
  std::uint64_t bytes_;
};

/// Whether rows are done in the order of the matrix, since a thread does each of them.
template <class V>
bool keeps_order(const DeviceJob<V>& job) noexcept {
  return job.all.most_products <= esc_thread_products && job.policy.short_positions;
}

template <class V>
WorkOrder order_rows(const DeviceJob<V>& job) {
  if (keeps_order(job)) return natural_order(job.rows, {job.all.rows, job.all.most_products, job.all.widest});
  return order_by_work(job.device(), job.analysis.facts(), job.rows, job.policy.short_positions,
                       job.policy.tuning.esc_block_products);
}

template <class V>
void enqueue_class(const DeviceJob<V>& job, EscClass size, const RowBatch& batch, const RowOutput<V>& out) {
  switch (level_of(size)) {
    case EscLevel::thread:
      return enqueue_esc_threads(job.context, Phase::numeric_allocating, job.factors, batch, out);
    case EscLevel::warp:
      return enqueue_esc_warps(job.context, job.factors, batch, out);
    default:
      return enqueue_esc_blocks(job.context, job.factors, batch, out);
  }
}

/// The rows of all levels but the last, those with the most work first.
template <class V>
void enqueue_classes(const DeviceJob<V>& job, const WorkOrder& order, const RowOutput<V>& out) {
  const auto a_nnz = static_cast<double>(job.all.a_nnz);
  const double mean_b_row_nnz = job.all.a_nnz == 0 ? 0.0 : static_cast<double>(job.all.products) / a_nnz;
  SideStreams::Fork fork(job.device());
  int number = 0;
  for (int k = static_cast<int>(EscClass::device) - 1; k > 0; --k) {
    const auto size = static_cast<EscClass>(k);
    if (order.total(size).rows == 0) continue;
    fork.run(number++, [&] { enqueue_class(job, size, order.batch(size, job.analysis.facts(), mean_b_row_nnz), out); });
  }
}

template <class V>
std::string beyond_limit(const DeviceJob<V>& job, std::uint64_t need) {
  return fmt::format("esc needs {} bytes more, beyond the limit of {}", need, job.budget->limit());
}

/// The rows of the last level, in slices that fit into memory. \returns why not, nothing when all was done
template <class V>
std::string allocate_by_device(const DeviceJob<V>& job, detail::MemoryBudget& budget, const WorkOrder& order,
                               const RowOutput<V>& out) {
  const RowBatch batch = order.batch(EscClass::device, job.analysis.facts(), 0.0);
  if (batch.count == 0) return {};
  const std::uint64_t list_bytes = DeviceRows::bytes(batch.count, static_cast<std::int64_t>(job.all.a_nnz));
  if (!budget.fits(list_bytes)) return beyond_limit(job, list_bytes);
  const Hold of_lists(budget, list_bytes, "rows of a sparse product");
  const DeviceRows rows(job.device(), job.positions, batch);
  offset_t slice = std::clamp(DeviceRows::usual_slice, rows.largest(), std::max(rows.largest(), rows.products()));
  while (slice > rows.largest() && !budget.fits(DeviceRows::slice_bytes(slice, value_bytes<V>))) {
    slice = std::max(rows.largest(), slice / 2);
  }
  const std::uint64_t bytes = DeviceRows::slice_bytes(slice, value_bytes<V>);
  if (!rows.keys_fit()) return "a row has more products than the keys of esc can number";
  if (!budget.fits(bytes)) return beyond_limit(job, bytes);
  const Hold of_slice(budget, bytes, "slice of a sparse product");
  rows.sum(job.factors, out, slice);
  return {};
}

template <class V>
std::nullopt_t give_up(DeviceJob<V>& job, const std::string& reason) {
  job.report.fallback = reason + ": exact instead";
  return std::nullopt;
}

/// Copies the rows of the output buffer into C. \param offsets of C
template <class V>
CsrArrays<V> move_rows(const DeviceJob<V>& job, const OutputBuffer<V>& buffer, Array<offset_t> offsets, offset_t nnz) {
  CsrArrays<V> c{std::move(offsets), Array<index_t>(nnz, Init::none, job.device()),
                 Array<V>(has_values<V> ? nnz : 0, Init::none, job.device())};
  const double mean = job.rows == 0 ? 0.0 : static_cast<double>(nnz) / job.rows;
  enqueue_compaction<V>(job.context, job.rows, mean, buffer.buffer_offsets.data(), c.offsets.data(),
                        buffer.columns.data(), buffer.values.data(), c.columns.data(), c.values.data());
  job.context.synchronize();
  return c;
}

}  // namespace

template <class V>
std::optional<CsrArrays<V>> esc_workflow(DeviceJob<V>& job) {
  SpgemmReport& report = job.report;
  detail::MemoryBudget& budget = *job.budget;
  const std::uint64_t c_bytes = detail::csr_bytes(0, job.bound_total(), value_bytes<V>);
  const std::uint64_t buffer_bytes =
      detail::csr_bytes(job.rows, 0, 0) + OutputBuffer<V>::bytes(job.rows, job.bound_total());
  const std::uint64_t order_bytes = keeps_order(job) ? 0 : WorkOrder::peak_bytes(job.rows);
  const std::uint64_t least_bytes = order_bytes + buffer_bytes + c_bytes;
  if (!budget.fits(least_bytes)) return give_up(job, beyond_limit(job, least_bytes));
  const Stopwatch ordering;
  Hold of_order(budget, order_bytes, "order of the rows of a sparse product");
  const WorkOrder order = order_rows(job);
  of_order.shrink(order.rows.bytes());
  report.sizing_ms = ordering.milliseconds();

  const Stopwatch summing;
  const Hold of_buffer(budget, buffer_bytes, "output buffer of a sparse product");
  OutputBuffer<V> buffer(job, job.bound_total());
  Array<offset_t> counts(std::int64_t{job.rows} + 1, Init::zero, job.device());
  const RowOutput<V> out = buffer.output(counts.data());
  enqueue_classes(job, order, out);
  if (const std::string reason = allocate_by_device(job, budget, order, out); !reason.empty()) {
    return give_up(job, reason);
  }
  const offset_t nnz = exclusive_sum(job.device(), counts.span());
  report.numeric_ms = summing.milliseconds();

  const Stopwatch moving;
  budget.reserve(detail::csr_bytes(0, nnz, value_bytes<V>), "sparse product");
  CsrArrays<V> c = move_rows(job, buffer, std::move(counts), nnz);
  if (report.products > 0) report.accumulators = {{SpgemmAccumulator::esc, job.rows_with_products, report.products}};
  report.compaction_ms = moving.milliseconds();
  return c;
}

template std::optional<CsrArrays<float>> esc_workflow(DeviceJob<float>&);
template std::optional<CsrArrays<double>> esc_workflow(DeviceJob<double>&);
template std::optional<CsrArrays<NoValue>> esc_workflow(DeviceJob<NoValue>&);

}  // namespace tessera::cuda
