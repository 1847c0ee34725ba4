#include "core/bitmap_tile.hpp"
#include "core/cuda/launch.cuh"
#include "spgemm/cuda/analysis.hpp"
#include "spgemm/cuda/analysis_kernel.cuh"

#include <cuda_runtime_api.h>

#include <cstring>

namespace tessera::cuda {

namespace {

constexpr int analysis_threads = 512;
/// With more of them the atomic additions to the totals cost more than they gain.
constexpr int analysis_blocks_of_multiprocessor = 2;
/// Rows of A with so many entries per lane are read by all threads of a block.
constexpr offset_t long_row = 256;
/// Such rows that a block defers to its end; further ones are read at once.
constexpr int most_long_rows = 64;

__global__ void __launch_bounds__(analysis_threads)
    b_row_bounds_kernel(Factors<NoValue> factors, index_t inner, BRowBounds* b_row_bounds) {
  const std::int64_t row = std::int64_t{blockIdx.x} * analysis_threads + threadIdx.x;
  if (row >= inner) return;
  RowBounds bounds;
  extend_bounds(factors.b_columns, factors.b_offsets[row], factors.b_offsets[row + 1], bounds);
  b_row_bounds[row] = {static_cast<unsigned>(bounds.products), bounds.col_begin, bounds.col_end, 0};
}

/// Output: facts and bins of rows.
struct AnalysisOutput {
  std::uint32_t* products;
  index_t* first_columns;
  index_t* widths;
  std::uint8_t* bins;
  BinTotals* totals;
  bool repeats;  ///< whether bins say which rows repeat the one before
  const std::uint8_t* left_out;

  /// Whether a row is formed elsewhere.
  [[nodiscard]] __device__ bool leaves_out(index_t row) const {
    return left_out != nullptr && left_out[detail::tile_of(row)] != 0;
  }
};

/// The contribution of a row to the totals.
__device__ CollectedRow collected_row(RowBin bin, const RowShape& row, const RowPolicy& policy,
                                      unsigned long long all_products) {
  return {bin,
          true,
          false,
          static_cast<unsigned>(row.a_row_nnz),
          row.products,
          static_cast<unsigned>(row.width),
          static_cast<unsigned>(entries_to_hold(bin, row, policy)),
          static_cast<unsigned>(shared_bytes_of(bin, row, policy)),
          all_products};
}

/// Writes facts and bin of a row. One thread calls.
__device__ CollectedRow note_row(const AnalysisOutput& out, const RowPolicy& policy, index_t row, unsigned b_rows,
                                 const RowBounds& bounds) {
  const bool any = bounds.products > 0;
  const auto products = static_cast<std::uint32_t>(bounds.products < 0xffffffffull ? bounds.products : 0xffffffffull);
  const auto width = static_cast<index_t>(any ? bounds.col_end - bounds.col_begin : 0);
  const index_t entries = entries_at_most(products, width);
  const RowShape shape{static_cast<index_t>(b_rows), products, width, entries};
  const bool repeat = out.repeats && is_repeat(out.bins[row]);
  const RowBin bin = repeat ? RowBin::none : choose_bin(shape, policy);
  out.products[row] = products;
  out.first_columns[row] = any ? static_cast<index_t>(bounds.col_begin) : 0;
  out.widths[row] = width;
  out.bins[row] = repeat ? repeat_bit : static_cast<std::uint8_t>(bin);
  return collected_row(bin, shape, policy, bounds.products);
}

/// Bounds of a row by all threads of the block, which must all call. The result is valid in thread 0.
__device__ RowBounds row_bounds_by_block(const AnalysisFactors& factors, offset_t begin, offset_t end,
                                         RowBounds* of_warp) {
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  RowBounds bounds = reduce_lanes<warp_size>(bounds_of_b_rows(factors, begin + threadIdx.x, end, analysis_threads));
  if (lane == 0) of_warp[warp] = bounds;
  __syncthreads();
  for (unsigned w = 1; w < analysis_threads / warp_size; ++w) {
    bounds.products += of_warp[w].products;
    bounds.col_begin = min(bounds.col_begin, of_warp[w].col_begin);
    bounds.col_end = max(bounds.col_end, of_warp[w].col_end);
  }
  __syncthreads();
  return bounds;
}

/// The long rows that a block has deferred. Every thread must call.
__device__ void note_long_rows(const AnalysisFactors& factors, const AnalysisOutput& out, const RowPolicy& policy,
                               const index_t* rows, int count, BinCollector& collector) {
  alignas(RowBounds) __shared__ unsigned char of_warp[analysis_threads / warp_size * sizeof(RowBounds)];
  for (int i = 0; i < count; ++i) {
    const index_t row = rows[i];
    const offset_t begin = factors.positions.a_offsets[row];
    const offset_t end = factors.positions.a_offsets[row + 1];
    const RowBounds bounds = row_bounds_by_block(factors, begin, end, reinterpret_cast<RowBounds*>(of_warp));
    CollectedRow collected;
    if (threadIdx.x == 0) collected = note_row(out, policy, row, static_cast<unsigned>(end - begin), bounds);
    if (threadIdx.x < warp_size) collector.add(collected);
  }
}

/// `Lanes` neighbouring lanes per row.
template <int Lanes>
__global__ void __launch_bounds__(analysis_threads, analysis_blocks_of_multiprocessor)
    analysis_kernel(AnalysisFactors factors, index_t rows, RowPolicy policy, AnalysisOutput out) {
  alignas(BinTotals) __shared__ unsigned char totals_space[row_bins * sizeof(BinTotals)];
  __shared__ index_t put_off[most_long_rows];
  __shared__ int put_off_count;
  auto* const totals = reinterpret_cast<BinTotals*>(totals_space);
  clear_totals(totals);
  if (threadIdx.x == 0) put_off_count = 0;
  __syncthreads();
  BinCollector collector(totals);
  constexpr int rows_of_block = analysis_threads / Lanes;
  const unsigned lane_in_group = threadIdx.x % Lanes;
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block; first < rows; first += stride) {
    const std::int64_t i = first + threadIdx.x / Lanes;
    const auto row = static_cast<index_t>(i);
    bool noted = i < rows && lane_in_group == 0;
    offset_t begin = 0;
    offset_t end = 0;
    if (i < rows) {
      begin = factors.positions.a_offsets[i];
      end = out.leaves_out(row) ? begin : factors.positions.a_offsets[i + 1];
    }
    const offset_t b_rows = end - begin;
    if (b_rows >= long_row * Lanes) {
      int offset = most_long_rows;
      if (lane_in_group == 0) offset = atomicAdd(&put_off_count, 1);
      // All lanes of a group must know; the other lanes of the warp take part in the shuffle.
      if (lane_in_group == 0 && offset < most_long_rows) put_off[offset] = row;
      if (offset < most_long_rows) noted = false;
    }
    const bool reads =
        __shfl_sync(full_warp, static_cast<int>(noted), static_cast<int>(threadIdx.x % warp_size - lane_in_group)) != 0;
    const RowBounds bounds = row_bounds<Lanes>(factors, policy, begin, reads ? end : begin, lane_in_group);
    CollectedRow collected;
    if (noted) collected = note_row(out, policy, row, static_cast<unsigned>(b_rows), bounds);
    collector.add(collected);
  }
  __syncthreads();
  note_long_rows(factors, out, policy, put_off, min(put_off_count, most_long_rows), collector);
  collector.finish();
  __syncthreads();
  publish_totals(totals, out.totals);
}

/// Entries of a row, known or estimated, at most its upper bound.
__device__ index_t entries_of(const RowEntries& entries, std::int64_t row, std::uint32_t products, index_t width) {
  if (entries.counts != nullptr) return static_cast<index_t>(entries.counts[row]);
  const index_t most = entries_at_most(products, width);
  const double base =
      entries.estimates != nullptr ? static_cast<double>(entries.estimates[row]) : static_cast<double>(products);
  const double foreseen = ceil(base * entries.factor);
  return foreseen < static_cast<double>(most) ? static_cast<index_t>(foreseen) : most;
}

__global__ void __launch_bounds__(analysis_threads)
    choice_kernel(const offset_t* a_offsets, index_t rows, RowFacts facts, RowEntries entries, RowPolicy policy,
                  bool groups, std::uint8_t* bins, BinTotals* of_all) {
  alignas(BinTotals) __shared__ unsigned char totals_space[row_bins * sizeof(BinTotals)];
  auto* const totals = reinterpret_cast<BinTotals*>(totals_space);
  clear_totals(totals);
  __syncthreads();
  BinCollector collector(totals);
  const std::int64_t stride = std::int64_t{gridDim.x} * analysis_threads;
  for (std::int64_t first = std::int64_t{blockIdx.x} * analysis_threads; first < rows; first += stride) {
    const std::int64_t i = first + threadIdx.x;
    CollectedRow collected;
    if (i < rows) {
      const auto b_rows = static_cast<index_t>(a_offsets[i + 1] - a_offsets[i]);
      const bool wanted = entries.buffer_offsets == nullptr || entries.buffer_offsets[i] == no_offset;
      const std::uint32_t products = wanted ? facts.products[i] : 0;
      const index_t width = facts.widths[i];
      const index_t most = entries_of(entries, i, products, width);
      // Rows of a group have the same shape, so that they get the same bin and keep, or lose, these bits together. The
      // bits of the next row may be rewritten at this moment, but then they are lost here, too.
      const std::uint8_t old = groups ? bins[i] : 0;
      const bool leads = groups && !is_follower(old) && i + 1 < rows && is_follower(bins[i + 1]);
      const RowShape shape{b_rows, products, width, most, is_follower(old) || leads};
      const RowBin bin = choose_bin(shape, policy);
      collected = collected_row(bin, shape, policy, products);
      collected.is_follower = bin == RowBin::bitmap_row_group && is_follower(old);
      bins[i] = collected.is_follower ? old : static_cast<std::uint8_t>(bin);
    }
    collector.add(collected);
  }
  collector.finish();
  __syncthreads();
  publish_totals(totals, of_all);
}

/// First position of each bin in the list of rows.
struct BinStarts {
  index_t of[row_bins];
};

constexpr int partition_threads = 256;
constexpr int rows_of_thread = 4;

__global__ void __launch_bounds__(partition_threads)
    partition_kernel(index_t rows, const std::uint8_t* bins, BinMap map, BinStarts starts, unsigned* taken,
                     index_t* list) {
  __shared__ unsigned of_block[row_bins];
  __shared__ unsigned begins[row_bins];
  if (threadIdx.x < row_bins) of_block[threadIdx.x] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % warp_size;
  const std::int64_t first = std::int64_t{blockIdx.x} * (partition_threads * rows_of_thread) + threadIdx.x;
  int bin_of[rows_of_thread];
  unsigned place_of[rows_of_thread];
  for (int k = 0; k < rows_of_thread; ++k) {
    const std::int64_t i = first + k * partition_threads;
    bin_of[k] = i < rows && !is_repeat(bins[i]) ? map.of[bins[i]] : 0;
    unsigned left = __ballot_sync(full_warp, bin_of[k] != 0);
    while (left != 0) {
      const int bin = __shfl_sync(full_warp, bin_of[k], __ffs(left) - 1);
      const unsigned members = __ballot_sync(full_warp, bin_of[k] == bin);
      left &= ~members;
      unsigned begin = 0;
      if (lane == 0) begin = atomicAdd(&of_block[bin], static_cast<unsigned>(__popc(members)));
      begin = __shfl_sync(full_warp, begin, 0);
      if (bin_of[k] == bin) place_of[k] = begin + static_cast<unsigned>(__popc(members & ((1u << lane) - 1)));
    }
  }
  __syncthreads();
  if (threadIdx.x < row_bins && of_block[threadIdx.x] != 0) {
    begins[threadIdx.x] = atomicAdd(&taken[threadIdx.x], of_block[threadIdx.x]);
  }
  __syncthreads();
  for (int k = 0; k < rows_of_thread; ++k) {
    const int bin = bin_of[k];
    if (bin == 0) continue;
    const auto row = static_cast<index_t>(first + k * partition_threads);
    list[static_cast<unsigned>(starts.of[bin]) + begins[bin] + place_of[k]] = row;
  }
}

/// Blocks of a pass over rows: enough to fill the device, few enough that their totals cost little.
unsigned analysis_blocks(const Context& context, std::int64_t rows, int rows_of_block) {
  const auto most = static_cast<unsigned>(context.multiprocessors() * analysis_blocks_of_multiprocessor);
  const unsigned needed = blocks_for(rows, rows_of_block);
  return needed < most ? needed : most;
}

void clear(const Context& context, RowAnalysis& analysis) {
  check(cudaMemsetAsync(analysis.totals.data(), 0, analysis.totals.bytes(), context.stream()),
        "clearing totals of rows");
}

/// Whether bounds of all rows of B cost less than they save: several entries of A per row of B, most of which need a
/// range.
bool pays_digests(const ProductShape& shape, const RowPolicy& policy) noexcept {
  constexpr offset_t few_entries = 1 << 19;
  constexpr offset_t uses = 4;
  const offset_t least_lists = policy.merges() ? 6 : 1;
  return shape.a_nnz >= few_entries && shape.a_nnz >= uses * shape.inner && shape.a_nnz >= least_lists * shape.rows;
}

template <int Lanes>
void enqueue_analysis_by(const Context& context, const AnalysisFactors& factors, index_t rows, const RowPolicy& policy,
                         const AnalysisOutput& out) {
  const unsigned blocks = analysis_blocks(context, rows, analysis_threads / Lanes);
  launch("analysis of a sparse product", context, Grid{blocks, analysis_threads}, analysis_kernel<Lanes>, factors, rows,
         policy, out);
}

}  // namespace

RowAnalysis::RowAnalysis(index_t rows, const Device& device)
    : products(rows, Init::none, device),
      first_columns(rows, Init::none, device),
      widths(rows, Init::none, device),
      bins(rows, Init::none, device),
      totals(row_bins, Init::none, device) {}

void enqueue_analysis(const Context& context, const Factors<NoValue>& factors, const ProductShape& shape,
                      const RowPolicy& policy, RowAnalysis& analysis) {
  clear(context, analysis);
  const AnalysisOutput out{analysis.products.data(), analysis.first_columns.data(), analysis.widths.data(),
                           analysis.bins.data(),     analysis.totals.data(),        analysis.repeats,
                           analysis.left_out};
  Array<BRowBounds> b_row_bounds;
  if (pays_digests(shape, policy)) {
    b_row_bounds = Array<BRowBounds>(shape.inner, Init::none, analysis.bins.device());
    launch("b_row_bounds of rows of B", context, Grid{blocks_for(shape.inner, analysis_threads), analysis_threads},
           b_row_bounds_kernel, factors, shape.inner, b_row_bounds.data());
  }
  const AnalysisFactors analysed{factors, b_row_bounds.data()};
  const double mean_lists = shape.rows == 0 ? 0.0 : static_cast<double>(shape.a_nnz) / shape.rows;
  // Each lane has several independent loads in flight.
  if (mean_lists < 6) {
    enqueue_analysis_by<1>(context, analysed, shape.rows, policy, out);
  } else if (mean_lists < 12) {
    enqueue_analysis_by<2>(context, analysed, shape.rows, policy, out);
  } else if (mean_lists < 48) {
    enqueue_analysis_by<4>(context, analysed, shape.rows, policy, out);
  } else {
    enqueue_analysis_by<8>(context, analysed, shape.rows, policy, out);
  }
}

void enqueue_choice(const Context& context, const offset_t* a_offsets, index_t rows, const RowEntries& entries,
                    const RowPolicy& policy, RowAnalysis& analysis) {
  clear(context, analysis);
  launch("choice of accumulators", context, Grid{analysis_blocks(context, rows, analysis_threads), analysis_threads},
         choice_kernel, a_offsets, rows, analysis.facts(), entries, policy, analysis.repeats && policy.counted,
         analysis.bins.data(), analysis.totals.data());
}

void enqueue_partition(const Context& context, const RowAnalysis& analysis, const BinTable& totals, const BinMap& map,
                       index_t rows, index_t* list) {
  const Device& device = analysis.bins.device();
  Array<unsigned> taken(row_bins, Init::zero, device);
  BinStarts starts{};
  index_t start = 0;
  for (int bin = 1; bin < row_bins; ++bin) {
    starts.of[bin] = start;
    start += static_cast<index_t>(totals[static_cast<std::size_t>(bin)].rows);
  }
  launch("partition of rows", context, Grid{blocks_for(rows, partition_threads * rows_of_thread), partition_threads},
         partition_kernel, rows, analysis.bins.data(), map, starts, taken.data(), list);
}

namespace {

/// Copies two objects of the device to the host. Waits. \param second on the device, or null
template <class First, class Second>
void fetch(const Context& context, const void* first, First& to_first, const Second* second, Second& to_second) {
  static_assert(sizeof(First) + sizeof(Second) <= SumSpace::host_bytes);
  SumSpace& space = context.sum_space();
  const std::scoped_lock alone(space.mutex);
  auto* const target = static_cast<unsigned char*>(space.on_host);
  check(cudaMemcpyAsync(target, first, sizeof(First), cudaMemcpyDeviceToHost, context.stream()),
        "bringing totals to the host");
  if (second != nullptr) {
    check(cudaMemcpyAsync(target + sizeof(First), second, sizeof(Second), cudaMemcpyDeviceToHost, context.stream()),
          "bringing a total to the host");
  }
  context.synchronize();
  std::memcpy(&to_first, target, sizeof(First));
  if (second != nullptr) std::memcpy(&to_second, target + sizeof(First), sizeof(Second));
}

}  // namespace

FetchedTotals fetch_totals(const Context& context, const RowAnalysis& analysis, const offset_t* number) {
  FetchedTotals result;
  fetch(context, analysis.totals.data(), result.totals, number, result.number);
  return result;
}

FetchedSample fetch_sample(const Context& context, const RowAnalysis& analysis, const CompressionSample* sample) {
  FetchedSample result;
  fetch(context, analysis.totals.data(), result.totals, sample, result.sample);
  return result;
}

CompressionSample fetch_sample(const Context& context, const CompressionSample* sample) {
  CompressionSample result;
  const char* const nothing = nullptr;
  char none = 0;
  fetch(context, sample, result, nothing, none);
  return result;
}

}  // namespace tessera::cuda
