// Products of few rows on a GPU, in which launches and waits cost more than work: every row is counted and summed in a
// small hash table, and the host waits once, for the number of entries.
#include "spgemm/cuda/workflows/small_product.hpp"

#include "core/cuda/scan.hpp"
#include "core/stopwatch.hpp"
#include "spgemm/cuda/accumulators/accumulators.hpp"
#include "spgemm/cuda/analysis.hpp"

#include <utility>

namespace tessera::cuda {

namespace {

/// Before anything is known but sizes.
template <class T>
bool seems_small(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options, const Tuning& tuning) {
  const bool free_choice = options.short_rows && options.precision == SpgemmPrecision::working &&
                           options.workflow == SpgemmWorkflow::automatic &&
                           options.accumulator == SpgemmAccumulator::automatic;
  if (!free_choice || options.memory_limit_bytes != 0 || a.rows == 0 || b.rows == 0) return false;
  const double products = static_cast<double>(a.nnz()) * static_cast<double>(b.nnz()) / b.rows;
  return a.rows <= tuning.tiny_rows && b.nnz() < (offset_t{1} << 31) && products < tuning.tiny_products;
}

void describe(const CompressionSample& all, offset_t a_nnz, SpgemmReport& report) {
  report.workflow = SpgemmWorkflow::symbolic;
  report.reason = "few rows: every one is counted and summed in a small table, which takes the fewest launches";
  report.products = static_cast<offset_t>(all.products);
  report.expansion = a_nnz > 0 ? static_cast<double>(report.products) / static_cast<double>(a_nnz) : 0.0;
  if (all.rows > 0) {
    report.accumulators = {{SpgemmAccumulator::small_hash, static_cast<index_t>(all.rows), report.products}};
  }
}

}  // namespace

template <class V, class T>
std::optional<CsrArrays<V>> small_product(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                          SpgemmReport& report) {
  const Device& device = options.device;
  const Context& context = Context::of(device);
  if (!seems_small(a, b, options, tuning_for(context.limits()))) return std::nullopt;
  const Stopwatch counting;
  const DeviceGuard current(device);
  const double mean_b_row_nnz = static_cast<double>(b.nnz()) / b.rows;
  Array<CompressionSample> totals(1, Init::zero, device);
  CsrArrays<V> c{Array<offset_t>(std::int64_t{a.rows} + 1, Init::none, device), {}, {}};
  enqueue_compression_sample(context, host::factors_of<NoValue>(a, b), a.rows, mean_b_row_nnz, totals.data(),
                             c.offsets.data());
  const CompressionSample all = fetch_sample(context, totals.data());
  if (all.long_rows > 0 || all.most_entries > static_cast<unsigned>(small_hash_entries)) return std::nullopt;
  exclusive_sum_on_device(device, c.offsets.span());
  describe(all, a.nnz(), report);
  report.sizing_ms = counting.milliseconds();
  const Stopwatch summing;
  const auto nnz = static_cast<offset_t>(all.entries);
  c.columns = Array<index_t>(nnz, Init::none, device);
  c.values = Array<V>(has_values<V> ? nnz : 0, Init::none, device);
  RowBatch batch;
  batch.count = a.rows;
  batch.most_entries = static_cast<index_t>(all.most_entries);
  batch.mean_b_row_nnz = mean_b_row_nnz;
  RowOutput<V> out;
  out.starts = c.offsets.data();
  out.columns = c.columns.data();
  out.values = c.values.data();
  enqueue_small_hash(context, Phase::numeric, host::factors_of<V>(a, b), batch, out);
  if (!options.asynchronous) context.synchronize();
  report.numeric_ms = summing.milliseconds();
  report.peak_bytes = detail::csr_bytes(a.rows, nnz, value_bytes<V>) + totals.bytes();
  return c;
}

template std::optional<CsrArrays<float>> small_product(const CsrView<float>&, const CsrView<float>&,
                                                       const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<double>> small_product(const CsrView<double>&, const CsrView<double>&,
                                                        const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> small_product(const CsrView<float>&, const CsrView<float>&,
                                                         const SpgemmOptions&, SpgemmReport&);
template std::optional<CsrArrays<NoValue>> small_product(const CsrView<double>&, const CsrView<double>&,
                                                         const SpgemmOptions&, SpgemmReport&);

}  // namespace tessera::cuda
