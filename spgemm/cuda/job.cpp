#include "spgemm/cuda/job.hpp"

#include "core/cuda/memory.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::cuda {

namespace {

/// Below this need the free memory of the device is not queried: the query takes longer than small products.
constexpr std::uint64_t surely_free_bytes = std::uint64_t{256} << 20;
/// Memory per product that all blocks sort: its key twice and its value.
constexpr std::uint64_t esc_product_bytes = 24;

/// Whether a sample of C may say that small hash tables pay. \param mean_b_row_nnz entries of a row of B
bool wants_sample(const SpgemmOptions& options, const RowPolicy& policy, const ProductShape& shape,
                  double mean_b_row_nnz) {
  const bool counts_first =
      options.workflow == SpgemmWorkflow::automatic || options.workflow == SpgemmWorkflow::symbolic;
  const double products = static_cast<double>(shape.a_nnz) * mean_b_row_nnz;
  return options.short_rows && counts_first && options.accumulator == SpgemmAccumulator::automatic &&
         policy.short_positions && products >= policy.tuning.small_least_products &&
         products >= policy.tuning.small_mean_products * static_cast<double>(shape.rows);
}

/// Entries for which tables must have room: those of the longest sampled row, and a fifth more.
index_t table_entries(const CompressionSample& sample) {
  return static_cast<index_t>(sample.most_entries + (sample.most_entries + 4) / 5);
}

/// The sample, if small hash tables pay. \param all totals over all rows
std::optional<SpgemmSample> judge(const CompressionSample& sample, const BinTotals& all, const Tuning& tuning) {
  if (sample.entries == 0 || sample.long_rows > 0 || all.most_products > tuning.small_products) return std::nullopt;
  const auto rows = static_cast<double>(sample.rows);
  const double mean = static_cast<double>(sample.entries) / rows;
  const double variance = std::max(static_cast<double>(sample.squares) / rows - mean * mean, 0.0);
  SpgemmSample result;
  result.rows = static_cast<index_t>(sample.rows);
  result.compression = static_cast<double>(sample.products) / static_cast<double>(sample.entries);
  result.relative_error = std::sqrt(variance / rows) / mean;
  const bool pays = result.compression >= tuning.small_compression && table_entries(sample) <= tuning.small_entries;
  return pays ? std::optional<SpgemmSample>(result) : std::nullopt;
}

/// 0: not known.
std::uint64_t available_for(const Device& device, std::uint64_t need) {
  return need < surely_free_bytes ? 0 : available_bytes(device);
}

template <class V>
RowPolicy policy_of(const Tuning& tuning, const SpgemmOptions& options, offset_t b_nnz) {
  RowPolicy policy;
  policy.tuning = tuning;
  policy.preferred = options.accumulator;
  policy.short_positions = b_nnz < (offset_t{1} << 32);
  policy.value_bytes = static_cast<int>(value_bytes<V>);
  return policy;
}

}  // namespace

template <class V>
template <class T>
DeviceJob<V>::DeviceJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& given, const Tuning& tuning,
                        const std::uint8_t* left_out)
    : options(given),
      context(Context::of(given.device)),
      current(given.device),
      rows(a.rows),
      inner(b.rows),
      cols(b.cols),
      factors(host::factors_of<V>(a, b)),
      positions(host::factors_of<NoValue>(a, b)),
      analysis(a.rows, given.device),
      policy(policy_of<V>(tuning, given, b.nnz())),
      ordered(given.determinism != Determinism::not_guaranteed) {
  analysis.left_out = left_out;
  const bool only_esc = options.workflow == SpgemmWorkflow::esc;
  RowPolicy counting = counting_policy();
  // Unlike rows that are merged, those that are sorted need the range of their columns.
  if (only_esc) counting.preferred = SpgemmAccumulator::esc;
  const ProductShape shape{rows, inner, a.nnz()};
  const bool counts_first =
      options.workflow == SpgemmWorkflow::automatic || options.workflow == SpgemmWorkflow::symbolic;
  if (counts_first) enqueue_repeats(context, positions, shape, analysis);
  enqueue_analysis(context, positions, shape, counting, analysis);
  const double mean_b_row_nnz = inner == 0 ? 0.0 : static_cast<double>(b.nnz()) / inner;
  const bool samples = wants_sample(options, policy, shape, mean_b_row_nnz);
  Array<CompressionSample> sample(samples ? 1 : 0, Init::zero, device());
  if (samples) enqueue_compression_sample(context, positions, rows, mean_b_row_nnz, sample.data());
  const FetchedSample fetched = fetch_sample(context, analysis, sample.data());
  const BinTable& totals = fetched.totals;
  all = sum_of_bins(totals);
  rows_with_products = rows - static_cast<index_t>(totals[static_cast<std::size_t>(RowBin::none)].rows);
  report.products = static_cast<offset_t>(all.products);
  report.expansion = a.nnz() > 0 ? static_cast<double>(report.products) / static_cast<double>(a.nnz()) : 0.0;
  const bool slices = only_esc && all.most_products > policy.tuning.esc_block_products;
  const std::uint64_t sorted_bytes = slices ? all.products * esc_product_bytes : 0;
  const std::uint64_t most_bytes = detail::csr_bytes(rows, bound_total(), value_bytes<V>) + sorted_bytes;
  budget.emplace(options.memory_limit_bytes, available_for(device(), most_bytes));
  budget->reserve(RowAnalysis::bytes(rows), "analysis of a sparse product");
  if (only_esc) return;
  // Repeats are done along with the row before, which gains more.
  const unsigned rows_in_none = totals[static_cast<std::size_t>(RowBin::none)].rows;
  const bool repeats = analysis.repeats && rows_in_none >= static_cast<unsigned>(rows) / 4;
  if (samples && !repeats) small_rows = judge(fetched.sample, all, policy.tuning);
  if (small_rows) {
    policy.compresses = true;
    analysis.repeats = false;
    BinTotals total = all;
    total.rows = static_cast<unsigned>(rows_with_products);
    total.most_entries = static_cast<unsigned>(table_entries(fetched.sample));
    bins = BinnedRows(analysis, small_bin({0, 0, 0, table_entries(fetched.sample)}, policy), total, rows);
    return;
  }
  // Where no row is in the bin `none`, none repeats another.
  const unsigned none_rows = totals[static_cast<std::size_t>(RowBin::none)].rows;
  if (none_rows == 0) analysis.repeats = false;
  // A few repeats are counted once more rather than left out of a list.
  const bool leaves_out = left_out != nullptr || (analysis.repeats && none_rows >= static_cast<unsigned>(rows) / 4);
  bins = BinnedRows(context, analysis, totals, counting, rows, leaves_out);
  budget->reserve(bins.bytes(), "analysis of a sparse product");
}

template DeviceJob<float>::DeviceJob(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&, const Tuning&,
                                     const std::uint8_t*);
template DeviceJob<double>::DeviceJob(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&,
                                      const Tuning&, const std::uint8_t*);
template DeviceJob<NoValue>::DeviceJob(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&,
                                       const Tuning&, const std::uint8_t*);
template DeviceJob<NoValue>::DeviceJob(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&,
                                       const Tuning&, const std::uint8_t*);

}  // namespace tessera::cuda
