#include "core/cuda/launch.cuh"
#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/common/sketches.hpp"
#include "spgemm/common/slices.hpp"
#include "spgemm/cuda/workflows/one_phase.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int sketch_threads = 256;

/// HyperLogLog: four registers of one byte per word.
template <int M>
struct HllDeviceSketch {
  static constexpr int words = M / 4;

  __device__ static std::uint32_t join(std::uint32_t a, std::uint32_t b) { return __vmaxu4(a, b); }
  /// Word `number` of the sketch of columns.
  __device__ static std::uint32_t word_of(const index_t* columns, offset_t begin, offset_t end, int number) {
    std::uint32_t word = 0;
    for (offset_t k = begin; k < end; ++k) {
      const SketchMark mark = sketch_mark<M>(sketch_hash(static_cast<std::uint32_t>(columns[k])));
      if (mark.slot / 4 == number)
        word = __vmaxu4(word, static_cast<std::uint32_t>(mark.rank) << (8 * (mark.slot % 4)));
    }
    return word;
  }

  using Sums = SketchSums;
  __device__ static void add(Sums& sums, std::uint32_t word) {
    for (int byte = 0; byte < 4; ++byte) sums.add(word >> (8 * byte) & 255u);
  }
  template <int Lanes>
  __device__ static double estimate(Sums sums) {
    sums.powers = sum_over_lanes(static_cast<unsigned long long>(sums.powers), Lanes);
    sums.empty = sum_over_lanes(sums.empty, Lanes);
    return sketch_estimate<M>(sums);
  }
};

/// Minima of random keys: one key per word.
template <int K>
struct CohenDeviceSketch {
  static constexpr int words = K;

  __device__ static std::uint32_t join(std::uint32_t a, std::uint32_t b) { return a < b ? b : a; }
  __device__ static std::uint32_t word_of(const index_t* columns, offset_t begin, offset_t end, int number) {
    std::uint32_t word = 0;
    for (offset_t k = begin; k < end; ++k) word = join(word, cohen_key(columns[k], number));
    return word;
  }

  struct Sums {
    double variates = 0.0;
  };
  __device__ static void add(Sums& sums, std::uint32_t word) { sums.variates += cohen_variate(word); }
  template <int Lanes>
  __device__ static double estimate(const Sums& sums) {
    return (K - 1) / sum_over_lanes(sums.variates, Lanes);
  }
};

/// Lanes that share a sketch, and words of each.
template <class Sketch>
inline constexpr int sketch_lanes = Sketch::words < warp_size ? Sketch::words : warp_size;
template <class Sketch>
inline constexpr int lane_words = Sketch::words / sketch_lanes<Sketch>;

/// Sketches of the rows of B.
template <class Sketch>
__global__ void __launch_bounds__(sketch_threads)
    build_kernel(index_t inner, const offset_t* offsets, const index_t* columns, std::uint32_t* sketches) {
  constexpr int lanes = sketch_lanes<Sketch>;
  const std::int64_t row = (std::int64_t{blockIdx.x} * sketch_threads + threadIdx.x) / lanes;
  if (row >= inner) return;
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  for (int w = lane; w < Sketch::words; w += lanes) {
    sketches[row * Sketch::words + w] = Sketch::word_of(columns, offsets[row], offsets[row + 1], w);
  }
}

/// The words of a lane, joined over the rows of B that entries [k, end) of A name, every `step`-th.
template <class Sketch>
__device__ void join_b_rows(const Factors<NoValue>& factors, const std::uint32_t* sketches, offset_t k, offset_t end,
                            int step, int lane, std::uint32_t (&words)[lane_words<Sketch>]) {
#pragma unroll 4
  for (; k < end; k += step) {
    const std::uint32_t* const from = sketches + std::int64_t{factors.a_columns[k]} * Sketch::words + lane;
#pragma unroll
    for (int w = 0; w < lane_words<Sketch>; ++w) {
      words[w] = Sketch::join(words[w], __ldg(from + w * sketch_lanes<Sketch>));
    }
  }
}

/// Estimates of the rows of C: one warp per row, whose groups of lanes take different rows of B.
template <class Sketch>
__global__ void __launch_bounds__(sketch_threads)
    merge_kernel(Factors<NoValue> factors, index_t rows, const std::uint32_t* sketches, float* estimates) {
  constexpr int lanes = sketch_lanes<Sketch>;
  constexpr int groups = warp_size / lanes;
  const std::int64_t row = (std::int64_t{blockIdx.x} * sketch_threads + threadIdx.x) / warp_size;
  const int in_warp = static_cast<int>(threadIdx.x) % warp_size;
  const int lane = in_warp % lanes;
  std::uint32_t words[lane_words<Sketch>] = {};
  const bool exists = row < rows;
  const offset_t begin = exists ? factors.a_offsets[row] : 0;
  const offset_t end = exists ? factors.a_offsets[row + 1] : 0;
  join_b_rows<Sketch>(factors, sketches, begin + in_warp / lanes, end, groups, lane, words);
  std::uint32_t any = 0;
  typename Sketch::Sums sums;
#pragma unroll
  for (int w = 0; w < lane_words<Sketch>; ++w) {
    for (int distance = lanes; distance < warp_size; distance *= 2) {
      words[w] = Sketch::join(words[w], __shfl_xor_sync(full_warp, words[w], distance));
    }
    Sketch::add(sums, words[w]);
    any |= words[w];
  }
  const double estimate = Sketch::template estimate<lanes>(sums);
  const bool empty = __ballot_sync(full_warp, any != 0) == 0;
  if (exists && in_warp == 0) estimates[row] = empty ? 0.0f : static_cast<float>(estimate);
}

template <class Sketch>
void estimate_with(const Context& context, const Device& device, const Factors<NoValue>& factors, index_t rows,
                   index_t inner, float* estimates) {
  Array<std::uint32_t> sketches(std::int64_t{inner} * Sketch::words, Init::none, device);
  const auto grid = [](std::int64_t threads) { return Grid{blocks_for(threads, sketch_threads), sketch_threads}; };
  launch("sketches of a sparse product", context, grid(std::int64_t{inner} * sketch_lanes<Sketch>),
         build_kernel<Sketch>, inner, factors.b_offsets, factors.b_columns, sketches.data());
  launch("estimates of a sparse product", context, grid(std::int64_t{rows} * warp_size), merge_kernel<Sketch>, factors,
         rows, static_cast<const std::uint32_t*>(sketches.data()), estimates);
}

template <template <int> class Sketch>
void estimate_sized(const Context& context, const Device& device, const Factors<NoValue>& factors, index_t rows,
                    index_t inner, int registers, float* estimates) {
  if (registers == 32) return estimate_with<Sketch<32>>(context, device, factors, rows, inner, estimates);
  if (registers == 64) return estimate_with<Sketch<64>>(context, device, factors, rows, inner, estimates);
  return estimate_with<Sketch<128>>(context, device, factors, rows, inner, estimates);
}

Array<float> enqueue_estimates(const Context& context, const Device& device, const Factors<NoValue>& factors,
                               index_t rows, index_t inner, SpgemmWorkflow workflow, int registers) {
  Array<float> estimates(rows, Init::none, device);
  if (rows == 0) return estimates;
  if (workflow == SpgemmWorkflow::cohen) {
    estimate_sized<CohenDeviceSketch>(context, device, factors, rows, inner, registers, estimates.data());
  } else {
    estimate_sized<HllDeviceSketch>(context, device, factors, rows, inner, registers, estimates.data());
  }
  return estimates;
}

double sum_of_estimates(const Device& device, const Array<float>& estimates) {
  const float* const of_row = estimates.data();
  return fused_sum<1>(device, estimates.size(), [=] __device__(std::int64_t row, double(&sum)[1]) {
    sum[0] += ceil(static_cast<double>(of_row[row]));
  })[0];
}

/// Products, entries and squares of entries over the sample of a bin.
struct SampleSums {
  double products = 0.0;
  double entries = 0.0;
  double squares = 0.0;
};

/// Entry `k` of a sample of `size` out of `count`: at a random position in part k.
[[nodiscard]] TESSERA_HOST_DEVICE inline index_t sampled_position(index_t count, index_t size, index_t k) {
  const auto begin = static_cast<index_t>(std::int64_t{count} * k / size);
  const auto end = static_cast<index_t>(std::int64_t{count} * (k + 1) / size);
  return begin +
         static_cast<index_t>(sketch_hash(static_cast<std::uint32_t>(k)) % static_cast<std::uint32_t>(end - begin));
}

/// Sampled rows of a bin: 3 %, at least 64 and at most 10 000, never more than there are.
[[nodiscard]] constexpr index_t bin_sample_size(index_t rows) noexcept {
  const auto share = static_cast<index_t>(std::int64_t{rows} * 3 / 100);
  const index_t wanted = share < 64 ? 64 : share > 10000 ? 10000 : share;
  return rows < wanted ? rows : wanted;
}

/// Counts some rows of a bin.
SampleSums sample_bin(const Context& context, const Device& device, const Factors<NoValue>& factors, RowBin bin,
                      const RowBatch& batch, offset_t* counts) {
  const index_t size = bin_sample_size(batch.count);
  Array<index_t> sample(size, Init::none, device);
  index_t* const chosen = sample.data();
  for_each(device, size, [=] __device__(std::int64_t k) {
    const index_t offset = sampled_position(batch.count, size, static_cast<index_t>(k));
    chosen[k] = batch.rows == nullptr ? offset : batch.rows[offset];
  });
  RowBatch of_sample = batch;
  of_sample.rows = chosen;
  of_sample.count = size;
  RowOutput<NoValue> out;
  out.counts = counts;
  enqueue_bin(context, bin, Phase::symbolic, factors, of_sample, out, true);
  const std::uint32_t* const products = batch.facts.products;
  const auto sums = fused_sum<3>(device, size, [=] __device__(std::int64_t k, double(&sum)[3]) {
    const auto entries = static_cast<double>(counts[chosen[k]]);
    sum[0] += static_cast<double>(products[chosen[k]]);
    sum[1] += entries;
    sum[2] += entries * entries;
  });
  return {sums[0], sums[1], sums[2]};
}

/// Square of the standard error of a bin's entries, estimated from `size` of its `rows`.
double squared_error(const SampleSums& sums, index_t size, double rows) {
  const double mean = sums.entries / size;
  const double variance = std::max(sums.squares / size - mean * mean, 0.0);
  return static_cast<double>(size) == rows ? 0.0 : rows * rows * variance / size;
}

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

/// Capacity over the expected entries; the sum of many estimates errs far less than each of them.
constexpr double capacity_margin = 1.08;
/// Spare entries at least, for products of few rows.
constexpr double min_spare_entries = 4096;

template <class V>
offset_t bounded(const DeviceJob<V>& job, double entries) noexcept {
  const auto bound = static_cast<double>(job.bound_total());
  return entries < bound ? static_cast<offset_t>(std::ceil(entries)) : job.bound_total();
}

template <class V>
DeviceSizeEstimate estimate_by_sample(DeviceJob<V>& job) {
  DeviceSizeEstimate plan;
  const SpgemmSample sample = job.small_rows
                                  ? *job.small_rows
                                  : sample_compression(job.context, job.device(), job.positions, job.bins, job.rows);
  job.report.sample = sample;
  const double expected = static_cast<double>(job.report.products) / sample.compression;
  plan.capacity = bounded(job, expected * (1.02 + 3.0 * sample.relative_error));
  plan.entries.factor = 2.0 / sample.compression;
  return plan;
}

/// None when the sketches do not fit into memory.
template <class V>
std::optional<DeviceSizeEstimate> estimate_by_sketches(DeviceJob<V>& job) {
  SpgemmReport& report = job.report;
  report.registers = job.options.registers != 0 ? job.options.registers : sketch_registers(report.expansion);
  const std::uint64_t bytes = sketch_bytes(report.workflow, report.registers, job.rows, job.inner);
  if (!job.budget->fits(bytes)) return std::nullopt;
  job.budget->reserve(bytes, "sketches of a sparse product");
  DeviceSizeEstimate plan;
  plan.estimates = enqueue_estimates(job.context, job.device(), job.positions, job.rows, job.inner, report.workflow,
                                     report.registers);
  job.budget->release(bytes - plan.estimates.bytes());
  const double expected = sum_of_estimates(job.device(), plan.estimates);
  plan.capacity = bounded(job, std::max(expected * capacity_margin, expected + min_spare_entries));
  plan.entries.estimates = plan.estimates.data();
  plan.entries.factor = estimate_margin(report.registers);
  return plan;
}

}  // namespace

double mean_estimate_error(const Device& device, const Array<float>& estimates, const Array<offset_t>& offsets) {
  const float* const of_row = estimates.data();
  const offset_t* const begin = offsets.data();
  const auto sums = fused_sum<2>(device, estimates.size(), [=] __device__(std::int64_t row, double(&sum)[2]) {
    const auto entries = static_cast<double>(begin[row + 1] - begin[row]);
    if (entries == 0.0) return;
    sum[0] += fabs(static_cast<double>(of_row[row]) - entries) / entries;
    sum[1] += 1.0;
  });
  return sums[1] == 0.0 ? 0.0 : sums[0] / sums[1];
}

template <class V>
std::optional<DeviceSizeEstimate> estimate_sizes(DeviceJob<V>& job) {
  if (job.report.workflow == SpgemmWorkflow::sampled) return estimate_by_sample(job);
  if (job.report.workflow != SpgemmWorkflow::upper_bound) return estimate_by_sketches(job);
  DeviceSizeEstimate plan;
  plan.capacity = job.bound_total();
  return plan;
}

template std::optional<DeviceSizeEstimate> estimate_sizes(DeviceJob<float>&);
template std::optional<DeviceSizeEstimate> estimate_sizes(DeviceJob<double>&);
template std::optional<DeviceSizeEstimate> estimate_sizes(DeviceJob<NoValue>&);

template <class T>
std::optional<RowPrediction> predict_rows(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options,
                                          std::uint64_t limit_bytes) {
  const int registers = options.registers != 0 ? options.registers : slice_registers;
  RowPrediction result;
  result.peak_bytes = sketch_bytes(SpgemmWorkflow::hll, registers, a.rows, b.rows);
  if (result.peak_bytes > limit_bytes) return std::nullopt;
  const DeviceGuard current(options.device);
  const Array<float> estimates =
      enqueue_estimates(Context::of(options.device), options.device, host::factors_of<NoValue>(a, b), a.rows, b.rows,
                        SpgemmWorkflow::hll, registers);
  Array<double> groups(RowPrediction::groups(a.rows), Init::none, options.device);
  const float* const of_row = estimates.data();
  double* const of_group = groups.data();
  const index_t rows = a.rows;
  for_each(options.device, groups.size(), [=] __device__(std::int64_t group) {
    const std::int64_t begin = group * prediction_group_rows;
    const std::int64_t end = begin + prediction_group_rows < rows ? begin + prediction_group_rows : rows;
    double sum = 0.0;
    for (std::int64_t i = begin; i < end; ++i) sum += static_cast<double>(of_row[i]);
    of_group[group] = sum;
  });
  result.rows = rows;
  const Array<double> sums = groups.to(Device{});
  for (const double entries : sums) result.add_group(entries);
  // Offsets of A's rows and of C's, the facts of rows, and their list.
  result.row_bytes = 2 * sizeof(offset_t) + RowAnalysis::bytes(1) - RowAnalysis::bytes(0) + sizeof(index_t);
  result.fixed_bytes = RowAnalysis::bytes(0);
  result.source = "HyperLogLog, " + std::to_string(registers) + " registers per row of B";
  return result;
}

template std::optional<RowPrediction> predict_rows(const CsrView<float>&, const CsrView<float>&, const SpgemmOptions&,
                                                   std::uint64_t);
template std::optional<RowPrediction> predict_rows(const CsrView<double>&, const CsrView<double>&, const SpgemmOptions&,
                                                   std::uint64_t);

}  // namespace tessera::cuda
