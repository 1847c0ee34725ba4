#include "spgemm/host/job.hpp"

#include <array>
#include <utility>

namespace tessera::host {

template <class T>
HostJob<T> start_job(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options) {
  HostJob<T> job{a, b, options.device, detail::MemoryBudget(options.memory_limit_bytes), {}, {}, {}, 1};
  job.workers = std::max(1, options.device.threads());
  job.policy.preferred = options.accumulator;
  job.budget.reserve(ProductAnalysis::bytes(a.rows), "analysis of a sparse product");
  job.analysis = analyse_product(a, b, options.device);
  return job;
}

template HostJob<float> start_job(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&);
template HostJob<double> start_job(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&);

namespace {

/// Sizes of the workspaces, and rows and products per accumulator, over some rows.
struct AccumulatorTotals {
  WorkspaceSizes sizes;
  std::array<SpgemmAccumulatorUse, 4> use{};  ///< in the order of spgemm_accumulators()

  AccumulatorTotals& operator+=(const AccumulatorTotals& other) noexcept {
    sizes += other.sizes;
    for (std::size_t k = 0; k < use.size(); ++k) {
      use[k].rows += other.use[k].rows;
      use[k].products += other.use[k].products;
    }
    return *this;
  }

  void add(const RowTask& row, SpgemmAccumulator accumulator) noexcept {
    std::size_t number = 0;
    if (accumulator == SpgemmAccumulator::merge) {
      sizes.merge_entries = std::max(sizes.merge_entries, row.limit);
    } else if (accumulator == SpgemmAccumulator::dense) {
      sizes.dense_width = std::max<std::int64_t>(sizes.dense_width, row.width);
      number = 1;
    } else if (accumulator == SpgemmAccumulator::esc) {
      sizes.esc_products = std::max(sizes.esc_products, row.products);
      number = 3;
    } else {
      sizes.hash_entries = std::max(sizes.hash_entries, row.limit);
      number = 2;
    }
    ++use[number].rows;
    use[number].products += row.products;
  }
};

template <class T>
AccumulatorTotals accumulator_totals(const HostJob<T>& job, const AccumulatorPolicy& policy) {
  return parallel_sum<AccumulatorTotals>(job.device, job.rows(), [&](Range rows) {
    AccumulatorTotals totals;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const RowTask row = job.task(i);
      if (row.products > 0) totals.add(row, choose_accumulator(row, policy));
    }
    return totals;
  });
}

}  // namespace

template <class V, class T>
void fit_workspaces(HostJob<T>& job, std::uint64_t other_bytes) {
  const auto bytes = [&](int workers) {
    return other_bytes + RowWorkspace<V>::bytes(job.sizes) * static_cast<std::uint64_t>(workers);
  };
  job.sizes = accumulator_totals(job, job.policy).sizes;
  if (job.budget.fits(bytes(job.workers))) return;
  job.policy.low_memory = true;
  job.policy.preferred = SpgemmAccumulator::automatic;
  job.sizes = accumulator_totals(job, job.policy).sizes;
  while (job.workers > 1 && !job.budget.fits(bytes(job.workers))) --job.workers;
  job.budget.reserve(bytes(job.workers), "sparse product with its workspace");
  job.budget.release(bytes(job.workers));
}

template <class T>
std::vector<SpgemmAccumulatorUse> accumulator_use(const HostJob<T>& job) {
  const AccumulatorTotals totals = accumulator_totals(job, job.policy);
  std::vector<SpgemmAccumulatorUse> result;
  for (std::size_t k = 0; k < totals.use.size(); ++k) {
    if (totals.use[k].rows == 0) continue;
    result.push_back({spgemm_accumulators()[k], totals.use[k].rows, totals.use[k].products});
  }
  return result;
}

void counts_to_offsets(Array<offset_t>& counts) {
  counts[0] = 0;
  // No row has more entries than products, whose sum fits.
  for (std::int64_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
}

template <class T>
Array<offset_t> count_entries(HostJob<T>& job) {
  fit_workspaces<NoValue>(job, 0);
  const std::uint64_t bytes = RowWorkspace<NoValue>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers);
  job.budget.reserve(bytes, "workspace of a sparse product");
  auto workspaces = make_workspaces<NoValue>(job.sizes, job.workers);
  const auto factors = factors_of<NoValue>(job.a, job.b);
  Array<offset_t> offsets(job.rows() + 1, Init::none);
  for_product_blocks(job, [&](std::size_t worker, Range rows) {
    RowWorkspace<NoValue>& workspace = workspaces[worker];
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const RowTask row = job.task(i);
      offsets[i + 1] = row.products;
      if (row.products == 0 || row.a_row_nnz() == 1) continue;
      offsets[i + 1] = workspace.accumulate(factors, row, choose_accumulator(row, job.policy));
      workspace.discard();
    }
  });
  counts_to_offsets(offsets);
  job.budget.release(bytes);
  return offsets;
}

template Array<offset_t> count_entries(HostJob<float>&);
template Array<offset_t> count_entries(HostJob<double>&);
template std::vector<SpgemmAccumulatorUse> accumulator_use(const HostJob<float>&);
template std::vector<SpgemmAccumulatorUse> accumulator_use(const HostJob<double>&);
template void fit_workspaces<float>(HostJob<float>&, std::uint64_t);
template void fit_workspaces<NoValue>(HostJob<float>&, std::uint64_t);
template void fit_workspaces<double>(HostJob<double>&, std::uint64_t);
template void fit_workspaces<NoValue>(HostJob<double>&, std::uint64_t);

}  // namespace tessera::host
