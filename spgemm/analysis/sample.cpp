#include "spgemm/analysis/sample.hpp"

#include "core/random.hpp"

#include <cmath>

namespace tessera::host {

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
SpgemmSample sample_compression(ProductJob<T>& job) {
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

template SpgemmSample sample_compression(ProductJob<float>&);
template SpgemmSample sample_compression(ProductJob<double>&);

}  // namespace tessera::host
