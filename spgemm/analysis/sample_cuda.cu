#include "core/cuda/reduce.cuh"
#include "spgemm/analysis/sample_cuda.hpp"
#include "spgemm/hll/sketch.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::cuda {

namespace {

/// Products, entries and squares of entries over the sample of a bin.
struct SampleSums {
  double products = 0.0;
  double entries = 0.0;
  double squares = 0.0;
};

/// Entry `k` of a sample of `size` out of `count`: at a random place of part k.
[[nodiscard]] TESSERA_HOST_DEVICE inline index_t sampled_place(index_t count, index_t size, index_t k) {
  const auto begin = static_cast<index_t>(std::int64_t{count} * k / size);
  const auto end = static_cast<index_t>(std::int64_t{count} * (k + 1) / size);
  return begin +
         static_cast<index_t>(sketch_hash(static_cast<std::uint32_t>(k)) % static_cast<std::uint32_t>(end - begin));
}

/// Counts some rows of a bin.
SampleSums sample_bin(const Context& context, const Device& device, const Factors<NoValue>& factors, RowBin bin,
                      const RowBatch& batch, offset_t* counts) {
  const index_t size = bin_sample_size(batch.count);
  Array<index_t> sample(size, Init::none, device);
  index_t* const chosen = sample.data();
  for_each(device, size, [=] __device__(std::int64_t k) {
    const index_t place = sampled_place(batch.count, size, static_cast<index_t>(k));
    chosen[k] = batch.rows == nullptr ? place : batch.rows[place];
  });
  RowBatch of_sample = batch;
  of_sample.rows = chosen;
  of_sample.count = size;
  RowOutput<NoValue> out;
  out.counts = counts;
  enqueue_bin(context, bin, RowPass::count, factors, of_sample, out, true);
  const std::uint32_t* const products = batch.facts.products;
  const auto sums = fused_sum<3>(device, size, [=] __device__(std::int64_t k, double(&sum)[3]) {
    const auto entries = static_cast<double>(counts[chosen[k]]);
    sum[0] += static_cast<double>(products[chosen[k]]);
    sum[1] += entries;
    sum[2] += entries * entries;
  });
  return {sums[0], sums[1], sums[2]};
}

/// Square of the standard error of a bin's entries, foreseen from `size` of its `rows`.
double squared_error(const SampleSums& sums, index_t size, double rows) {
  const double mean = sums.entries / size;
  const double variance = std::max(sums.squares / size - mean * mean, 0.0);
  return static_cast<double>(size) == rows ? 0.0 : rows * rows * variance / size;
}

}  // namespace

SpgemmSample sample_compression(const Context& context, const Device& device, const Factors<NoValue>& factors,
                                const BinnedRows& bins, index_t rows) {
  Array<offset_t> counts(rows, Init::none, device);
  SpgemmSample result;
  double products = 0.0;
  double entries = 0.0;
  double squared = 0.0;
  for (const RowBin bin : bins.used()) {
    const RowBatch batch = bins.batch(bin);
    const SampleSums sums = sample_bin(context, device, factors, bin, batch, counts.data());
    const index_t size = bin_sample_size(batch.count);
    result.rows += size;
    if (sums.products == 0.0) continue;
    const auto of_bin = static_cast<double>(bins.total(bin).products);
    products += of_bin;
    entries += of_bin * sums.entries / sums.products;
    squared += squared_error(sums, size, static_cast<double>(batch.count));
  }
  if (entries == 0.0) return result;
  result.compression = products / entries;
  result.relative_error = std::sqrt(squared) / entries;
  return result;
}

}  // namespace tessera::cuda
