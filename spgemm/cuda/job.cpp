#include "spgemm/cuda/job.hpp"

#include "core/cuda/memory.hpp"
#include "spgemm/cuda/accumulators/esc_levels.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace {

/// Below this need the free memory of the device is not queried: the query takes longer than small products.
constexpr std::uint64_t surely_free_bytes = std::uint64_t{256} << 20;
/// Memory per product that all blocks sort: its key twice and its value.
constexpr std::uint64_t esc_product_bytes = 24;

/// 0: not known.
std::uint64_t available_for(const Device& device, std::uint64_t need) {
  return need < surely_free_bytes ? 0 : available_bytes(device);
}

template <class V>
RowPolicy policy_of(const Context& context, const SpgemmOptions& options, offset_t b_nnz) {
  RowPolicy policy;
  policy.tuning = tuning_for(context.limits());
  policy.preferred = options.accumulator;
  policy.short_positions = b_nnz < (offset_t{1} << 32);
  policy.value_bytes = static_cast<int>(value_bytes<V>);
  return policy;
}

}  // namespace

template <class V>
template <class T>
DeviceJob<V>::DeviceJob(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& product_options)
    : options(product_options),
      context(Context::of(product_options.device)),
      current(product_options.device),
      rows(a.rows),
      inner(b.rows),
      cols(b.cols),
      factors(host::factors_of<V>(a, b)),
      positions(host::factors_of<NoValue>(a, b)),
      analysis(a.rows, product_options.device),
      policy(policy_of<V>(context, product_options, b.nnz())),
      ordered(product_options.determinism != Determinism::not_guaranteed) {
  const bool only_esc = options.workflow == SpgemmWorkflow::esc;
  RowPolicy counting = counting_policy();
  // Unlike rows that are merged, those that are sorted need the range of their columns.
  if (only_esc) counting.preferred = SpgemmAccumulator::esc;
  const ProductShape shape{rows, inner, a.nnz()};
  const bool counts_first =
      options.workflow == SpgemmWorkflow::automatic || options.workflow == SpgemmWorkflow::symbolic;
  if (counts_first) enqueue_repeats(context, positions, shape, analysis);
  enqueue_analysis(context, positions, shape, counting, analysis);
  const BinTable totals = fetch_totals(context, analysis, nullptr).totals;
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
  // Where no row is in the bin `none`, none repeats another.
  const unsigned none_rows = totals[static_cast<std::size_t>(RowBin::none)].rows;
  if (none_rows == 0) analysis.repeats = false;
  // A few repeats are counted once more rather than left out of a list.
  const bool leaves_out = analysis.repeats && none_rows >= static_cast<unsigned>(rows) / 4;
  bins = BinnedRows(context, analysis, totals, counting, rows, leaves_out);
  budget->reserve(bins.bytes(), "analysis of a sparse product");
}

template DeviceJob<float>::DeviceJob(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&);
template DeviceJob<double>::DeviceJob(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&);
template DeviceJob<NoValue>::DeviceJob(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&);
template DeviceJob<NoValue>::DeviceJob(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&);

}  // namespace tessera::cuda
