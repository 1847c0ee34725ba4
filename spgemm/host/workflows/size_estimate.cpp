#include "core/random.hpp"
#include "spgemm/common/sketches.hpp"
#include "spgemm/common/slices.hpp"
#include "spgemm/host/workflows/one_phase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace tessera::host {

using namespace detail;

namespace {

template <int M>
struct HllSketch {
  using Word = std::uint8_t;
  static constexpr int words = M;
  static void insert(Word* sketch, index_t column) noexcept { sketch_insert<M>(sketch, column); }
  static void merge(Word* sketch, const Word* other) noexcept { sketch_merge<M>(sketch, other); }
  static double estimate(const Word* sketch) noexcept { return sketch_estimate<M>(sketch); }
};

template <int K>
struct CohenSketch {
  using Word = std::uint32_t;
  static constexpr int words = K;
  static void insert(Word* keys, index_t column) noexcept { cohen_insert<K>(keys, column); }
  static void merge(Word* keys, const Word* other) noexcept { cohen_merge<K>(keys, other); }
  static double estimate(const Word* keys) noexcept { return cohen_estimate<K>(keys); }
};

template <class Sketch, class T>
Array<typename Sketch::Word> sketch_rows(const CsrView<T>& b, const Device& device) {
  Array<typename Sketch::Word> sketches(std::int64_t{b.rows} * Sketch::words);
  parallel_for(device, b.rows, [&](Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const auto row = static_cast<std::size_t>(i);
      auto* sketch = sketches.data() + i * Sketch::words;
      for (offset_t k = b.row_offsets[row]; k < b.row_offsets[row + 1]; ++k) {
        Sketch::insert(sketch, b.columns[static_cast<std::size_t>(k)]);
      }
    }
  });
  return sketches;
}

template <class Sketch, class T>
Array<float> estimate_with(const HostJob<T>& job) {
  const auto sketches = sketch_rows<Sketch>(job.b, job.device);
  Array<float> estimates(job.rows(), Init::none);
  for_product_blocks(job, [&](std::size_t /*worker*/, Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      const RowTask row = job.task(i);
      if (row.products == 0 || row.a_row_nnz() == 1) {
        estimates[i] = static_cast<float>(row.products);
        continue;
      }
      std::array<typename Sketch::Word, static_cast<std::size_t>(Sketch::words)> merged{};
      for (offset_t k = row.begin; k < row.end; ++k) {
        const std::int64_t j = job.a.columns[static_cast<std::size_t>(k)];
        Sketch::merge(merged.data(), sketches.data() + j * Sketch::words);
      }
      estimates[i] = static_cast<float>(std::min(Sketch::estimate(merged.data()), static_cast<double>(row.limit)));
    }
  });
  return estimates;
}

template <template <int> class Sketch, class T>
Array<float> estimate_sized(const HostJob<T>& job, int registers) {
  if (registers == 32) return estimate_with<Sketch<32>>(job);
  if (registers == 64) return estimate_with<Sketch<64>>(job);
  return estimate_with<Sketch<128>>(job);
}

}  // namespace

template <class T>
Array<float> estimate_rows(const HostJob<T>& job, SpgemmWorkflow workflow, int registers) {
  return workflow == SpgemmWorkflow::cohen ? estimate_sized<CohenSketch>(job, registers)
                                           : estimate_sized<HllSketch>(job, registers);
}

template Array<float> estimate_rows(const HostJob<float>&, SpgemmWorkflow, int);
template Array<float> estimate_rows(const HostJob<double>&, SpgemmWorkflow, int);

namespace {

constexpr std::uint64_t sample_seed = 0x5a3f1e;

}  // namespace

index_t sampled_row(index_t rows, index_t size, index_t k) noexcept {
  const Range part = part_of(rows, size, k);
  detail::SplitMix64 random(sample_seed, static_cast<std::uint64_t>(k));
  return static_cast<index_t>(part.begin +
                              static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(part.size()))));
}

double compression_error(double estimator_error, double variation, index_t n) noexcept {
  const double square = estimator_error * estimator_error;
  return n == 0 ? 0.0 : std::sqrt((square + variation * variation * (1.0 + square)) / n);
}

template <class T>
SpgemmSample sample_compression(HostJob<T>& job) {
  const index_t size = sample_size(job.a.rows);
  const std::uint64_t bytes = RowWorkspace<NoValue>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers) +
                              static_cast<std::uint64_t>(size) * sizeof(offset_t);
  job.budget.reserve(bytes, "sample of a sparse product");
  auto workspaces = make_workspaces<NoValue>(job.sizes, job.workers);
  const auto factors = factors_of<NoValue>(job.a, job.b);
  Array<offset_t> counts(size, Init::none);
  std::atomic<index_t> next{0};
  parallel_tasks(job.device, job.workers, [&](std::int64_t worker) {
    RowWorkspace<NoValue>& workspace = workspaces[static_cast<std::size_t>(worker)];
    for (index_t k = next.fetch_add(1); k < size; k = next.fetch_add(1)) {
      const RowTask row = job.task(sampled_row(job.a.rows, size, k));
      counts[k] = workspace.accumulate(factors, row, choose_accumulator(row, job.policy));
      workspace.discard();
    }
  });
  double products = 0.0;
  double entries = 0.0;
  double squares = 0.0;
  for (index_t k = 0; k < size; ++k) {
    const auto count = static_cast<double>(counts[k]);
    products += static_cast<double>(job.analysis.row_products(sampled_row(job.a.rows, size, k)));
    entries += count;
    squares += count * count;
  }
  job.budget.release(bytes);
  if (entries == 0.0) return {size, 1.0, 0.0};
  const double mean = entries / size;
  const double variance = std::max(squares / size - mean * mean, 0.0);
  return {size, products / entries, compression_error(0.0, std::sqrt(variance) / mean, size)};
}

template SpgemmSample sample_compression(HostJob<float>&);
template SpgemmSample sample_compression(HostJob<double>&);

namespace {

template <class T>
offset_t bounded(const HostJob<T>& job, double entries) noexcept {
  const auto bound = static_cast<double>(job.analysis.bound_total);
  return entries < bound ? static_cast<offset_t>(std::ceil(entries)) : job.analysis.bound_total;
}

template <class T>
void sum_estimates(const HostJob<T>& job, SizeEstimate& plan) {
  double expected = 0.0;
  double capacity = 0.0;
  for (std::int64_t i = 0; i < job.rows(); ++i) {
    const auto estimate = static_cast<double>(plan.estimates[i]);
    expected += estimate;
    capacity += std::min(std::ceil(estimate * plan.margin), static_cast<double>(job.analysis.bound(i)));
  }
  plan.expected = bounded(job, expected);
  plan.capacity = bounded(job, capacity);
}

}  // namespace

template <class T>
std::optional<SizeEstimate> estimate_sizes(HostJob<T>& job, const SpgemmOptions& options, SpgemmReport& report) {
  SizeEstimate plan;
  if (report.workflow == SpgemmWorkflow::upper_bound || report.workflow == SpgemmWorkflow::esc) {
    plan.capacity = plan.expected = job.analysis.bound_total;
  } else if (report.workflow == SpgemmWorkflow::sampled) {
    const double expected = static_cast<double>(report.products) / report.sample->compression;
    plan.expected = bounded(job, expected);
    plan.capacity = bounded(job, expected * (1.02 + 3.0 * report.sample->relative_error));
  } else {
    report.registers = options.registers != 0 ? options.registers : sketch_registers(report.expansion);
    const std::uint64_t bytes = sketch_bytes(report.workflow, report.registers, job.rows(), job.b.rows);
    if (!job.budget.fits(bytes)) return std::nullopt;
    job.budget.reserve(bytes, "sketches of a sparse product");
    plan.estimates = estimate_rows(job, report.workflow, report.registers);
    job.budget.release(bytes - plan.estimates.bytes());
    plan.margin = estimate_margin(report.registers);
    sum_estimates(job, plan);
  }
  return plan;
}

template std::optional<SizeEstimate> estimate_sizes(HostJob<float>&, const SpgemmOptions&, SpgemmReport&);
template std::optional<SizeEstimate> estimate_sizes(HostJob<double>&, const SpgemmOptions&, SpgemmReport&);

template <class T>
std::optional<RowPrediction> predict_rows(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                          std::uint64_t limit_bytes) {
  const int registers = options.registers != 0 ? options.registers : slice_registers;
  RowPrediction result;
  result.peak_bytes = ProductAnalysis::bytes(a.rows) + sketch_bytes(SpgemmWorkflow::hll, registers, a.rows, b.rows);
  if (result.peak_bytes > limit_bytes) return std::nullopt;
  SpgemmOptions limited = options;
  limited.memory_limit_bytes = limit_bytes;
  HostJob<T> job = start_job(a, b, limited);
  const Array<float> estimates = estimate_rows(job, SpgemmWorkflow::hll, registers);
  result.rows = a.rows;
  const float* const end = estimates.end();
  for (const float* group = estimates.begin(); group < end;) {
    const float* const next = group + std::min<std::int64_t>(prediction_group_rows, end - group);
    result.add_group(std::accumulate(group, next, 0.0));
    group = next;
  }
  // Offsets of A's rows and of C's, and the analysis.
  result.row_bytes = 2 * sizeof(offset_t) + ProductAnalysis::bytes(1) - ProductAnalysis::bytes(0);
  try {
    fit_workspaces<T>(job, limit_bytes / 2);
    result.fixed_bytes = RowWorkspace<T>::bytes(job.sizes) * static_cast<std::uint64_t>(job.workers);
  } catch (const OutOfMemory&) {
    // Those of the longest row; slices without it need less.
    result.fixed_bytes = limit_bytes / 2;
  }
  result.source = fmt::format("HyperLogLog, {} registers per row of B", registers);
  return result;
}

template std::optional<RowPrediction> predict_rows(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&,
                                                   std::uint64_t);
template std::optional<RowPrediction> predict_rows(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&,
                                                   std::uint64_t);

}  // namespace tessera::host
