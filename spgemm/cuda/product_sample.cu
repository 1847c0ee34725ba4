// Prediction of one product on a GPU: strata of its rows, and sketches of sampled ones.
#include "spgemm/common/prediction.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/warp.cuh"
#include "spgemm/common/factors.hpp"
#include "spgemm/cuda/shared_sketch.cuh"

#include <algorithm>
#include <iterator>

namespace tessera::cuda {

namespace {

constexpr int threads = sketch_threads;
constexpr int warps = sketch_warps;
/// Rows of A with so many entries per lane are read by a block.
constexpr offset_t long_row = 64;
/// A sampled row is shared by blocks, as 2^14 products of it are worth one; so many at most.
constexpr int split_stratum = 14;
constexpr unsigned most_parts = 256;
constexpr unsigned most_split_rows = 256;
constexpr unsigned most_items = 1 << 17;
/// Blocks of the sketches: each adds its sums to those of all.
constexpr int sketch_blocks_of_multiprocessor = 8;

/// Of one sample, zero at first.
struct SampleState {
  StratumTotals totals[product_strata];
  StratumSums sums[product_strata];
  unsigned long long exact_entries;
  unsigned items;
  unsigned long_rows;
  unsigned split_rows;
  unsigned unused;
};

__device__ void add(std::uint64_t* to, std::uint64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

/// Strata of the rows that a thread has seen, in registers while they are of one stratum.
class StratumCollector {
 public:
  __device__ explicit StratumCollector(SampleState* state) : state_(state) {}

  __device__ void add_row(std::uint8_t stratum, std::uint64_t products) {
    if (stratum == exact_stratum) exact_ += products;
    if (stratum >= product_strata) return;
    if (stratum != current_) flush();
    current_ = stratum;
    ++rows_;
    products_ += products;
  }
  /// At the end.
  __device__ void finish() {
    flush();
    add(reinterpret_cast<std::uint64_t*>(&state_->exact_entries), exact_);
  }

 private:
  __device__ void flush() {
    if (rows_ != 0) {
      add(&state_->totals[current_].rows, rows_);
      add(&state_->totals[current_].products, products_);
    }
    rows_ = products_ = 0;
  }
  SampleState* state_;
  int current_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t products_ = 0;
  std::uint64_t exact_ = 0;
};

[[nodiscard]] __device__ std::uint64_t b_row_nnz(const Factors<NoValue>& factors, offset_t k) {
  const index_t row = factors.a_columns[k];
  return static_cast<std::uint64_t>(factors.b_offsets[row + 1] - factors.b_offsets[row]);
}

/// `Lanes` neighbouring lanes per row. The totals of a block are gathered in shared memory.
template <int Lanes>
__global__ void __launch_bounds__(threads) strata_kernel(Factors<NoValue> factors, index_t rows, std::uint8_t* strata,
                                                         index_t* long_rows, SampleState* state) {
  alignas(SampleState) __shared__ unsigned char space[sizeof(SampleState)];
  auto* const of_block = reinterpret_cast<SampleState*>(space);
  for (int s = static_cast<int>(threadIdx.x); s < product_strata; s += threads) of_block->totals[s] = {0, 0};
  if (threadIdx.x == 0) of_block->exact_entries = 0;
  __syncthreads();
  StratumCollector collector(of_block);
  constexpr int rows_of_block = threads / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block; first < rows; first += stride) {
    const std::int64_t i = first + threadIdx.x / Lanes;
    const offset_t begin = i < rows ? factors.a_offsets[i] : 0;
    const offset_t end = i < rows ? factors.a_offsets[i + 1] : 0;
    const bool is_long = end - begin >= long_row * Lanes;
    std::uint64_t products = 0;
    if (!is_long) {
#pragma unroll 4
      for (offset_t k = begin + lane; k < end; k += Lanes) products += b_row_nnz(factors, k);
    }
    products = sum_over_lanes(static_cast<unsigned long long>(products), Lanes);
    if (i >= rows || lane != 0) continue;
    if (is_long) {
      long_rows[atomicAdd(&state->long_rows, 1u)] = static_cast<index_t>(i);
      continue;
    }
    const std::uint8_t stratum = stratum_of(products, end - begin);
    strata[i] = stratum;
    collector.add_row(stratum, products);
  }
  collector.finish();
  __syncthreads();
  for (int s = static_cast<int>(threadIdx.x); s < product_strata; s += threads) {
    add(&state->totals[s].rows, of_block->totals[s].rows);
    add(&state->totals[s].products, of_block->totals[s].products);
  }
  if (threadIdx.x == 0) add(reinterpret_cast<std::uint64_t*>(&state->exact_entries), of_block->exact_entries);
}

/// A block per long row.
__global__ void __launch_bounds__(threads)
    long_strata_kernel(Factors<NoValue> factors, const index_t* long_rows, std::uint8_t* strata, SampleState* state) {
  __shared__ unsigned long long of_warp[warps];
  for (unsigned item = blockIdx.x; item < state->long_rows; item += gridDim.x) {
    const index_t row = long_rows[item];
    const offset_t end = factors.a_offsets[row + 1];
    unsigned long long products = 0;
    for (offset_t k = factors.a_offsets[row] + threadIdx.x; k < end; k += threads) products += b_row_nnz(factors, k);
    products = sum_over_lanes(products);
    if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = products;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int w = 1; w < warps; ++w) products += of_warp[w];
      strata[row] = stratum_of(products, end - factors.a_offsets[row]);
      StratumCollector collector(state);
      collector.add_row(strata[row], products);
      collector.finish();
    }
    __syncthreads();
  }
}

/// The rates of all strata, by the threads of a block. Every thread must call.
__device__ void stratum_rates(const StratumTotals* totals, std::uint64_t* rates) {
  __shared__ double of_stratum[2][product_strata];
  __shared__ double sums[3];
  const int s = static_cast<int>(threadIdx.x);
  const StratumTotals of = s < product_strata ? totals[s] : StratumTotals{};
  if (s < product_strata) {
    of_stratum[0][s] = static_cast<double>(of.products);
    of_stratum[1][s] = stratum_root(of);
  }
  __syncthreads();
  // In the order of the host.
  if (s < 2) {
    double sum = 0.0;
    for (int k = 0; k < product_strata; ++k) sum += of_stratum[s][k];
    sums[s] = sum;
  }
  __syncthreads();
  const double sampled = s < product_strata ? stratum_sample_rows(of, sums[0], sums[1]) : 0.0;
  if (s < product_strata) of_stratum[0][s] = sampled;
  __syncthreads();
  if (s == 0) {
    double sum = 0.0;
    for (int k = 0; k < product_strata; ++k) sum += of_stratum[0][k];
    sums[2] = sum;
  }
  __syncthreads();
  if (s < product_strata) rates[s] = stratum_rate(of, sampled, sums[2]);
  __syncthreads();
}

/// Parts of a row that are worth a block each.
[[nodiscard]] __device__ unsigned parts_of(int stratum) {
  if (stratum <= split_stratum) return 1;
  const int doublings = stratum - split_stratum;
  return doublings >= 8 ? most_parts : 1u << doublings;
}

/// Lists the sampled rows.
__global__ void __launch_bounds__(threads)
    select_kernel(index_t rows, const std::uint8_t* strata, SketchedRow* items, SampleState* state) {
  __shared__ std::uint64_t rates[product_strata];
  stratum_rates(state->totals, rates);
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < rows; i += stride) {
    const auto row = static_cast<index_t>(i);
    const int s = strata[i];
    if (s >= product_strata || !is_sampled(row, rates[s])) continue;
    unsigned parts = parts_of(s);
    int slot = -1;
    if (parts > 1) slot = static_cast<int>(atomicAdd(&state->split_rows, 1u));
    if (slot >= static_cast<int>(most_split_rows)) {
      slot = -1;
      parts = 1;
    }
    const unsigned first = atomicAdd(&state->items, parts);
    for (unsigned p = 0; p < parts && first + p < most_items; ++p) items[first + p] = {row, slot, p, parts};
  }
}

constexpr int stratum_words = sizeof(StratumSums) / sizeof(std::uint64_t);

__global__ void __launch_bounds__(threads)
    sketch_sample_kernel(Factors<NoValue> factors, const std::uint8_t* strata, const SketchedRow* items,
                         SharedSketch* shared, SampleState* state) {
  __shared__ unsigned registers[sample_registers];
  __shared__ unsigned long long of_warp[warps];
  alignas(SketchSums) __shared__ unsigned char group_space[sample_groups * sizeof(SketchSums)];
  __shared__ std::uint64_t sum_words[product_strata * stratum_words];
  __shared__ unsigned is_last;
  for (int w = static_cast<int>(threadIdx.x); w < product_strata * stratum_words; w += threads) sum_words[w] = 0;
  const unsigned count = state->items < most_items ? state->items : most_items;
  for (unsigned number = blockIdx.x; number < count; number += gridDim.x) {
    const SketchedRow item = items[number];
    for (int r = static_cast<int>(threadIdx.x); r < sample_registers; r += threads) registers[r] = 0;
    __syncthreads();
    unsigned long long products = insert_products(factors, item, registers, of_warp);
    if (item.parts == 1 || join_parts(shared[item.slot], item.parts, registers, products, &is_last)) {
      estimate_sampled_row(registers, products, strata[item.row], reinterpret_cast<StratumSums*>(sum_words),
                           reinterpret_cast<SketchSums*>(group_space));
    }
    __syncthreads();
  }
  auto* const all = reinterpret_cast<std::uint64_t*>(state->sums);
  for (int w = static_cast<int>(threadIdx.x); w < product_strata * stratum_words; w += threads)
    add(all + w, sum_words[w]);
}

template <int Lanes>
void enqueue_strata(const Context& context, const Factors<NoValue>& factors, index_t rows, std::uint8_t* strata,
                    index_t* long_rows, SampleState* state) {
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 8);
  const unsigned blocks = std::min(blocks_for(std::int64_t{rows} * Lanes, threads), enough);
  launch("strata of a sparse product", context, Grid{blocks, threads}, strata_kernel<Lanes>, factors, rows, strata,
         long_rows, state);
  launch("strata of long rows", context, Grid{static_cast<unsigned>(context.multiprocessors() * 4), threads},
         long_strata_kernel, factors, static_cast<const index_t*>(long_rows), strata, state);
}

void enqueue_strata(const Context& context, const Factors<NoValue>& factors, index_t rows, double mean,
                    std::uint8_t* strata, index_t* long_rows, SampleState* state) {
  if (mean <= 8.0) return enqueue_strata<1>(context, factors, rows, strata, long_rows, state);
  if (mean <= 24.0) return enqueue_strata<4>(context, factors, rows, strata, long_rows, state);
  if (mean <= 96.0) return enqueue_strata<16>(context, factors, rows, strata, long_rows, state);
  return enqueue_strata<32>(context, factors, rows, strata, long_rows, state);
}

}  // namespace

template <class T>
ProductSample sample_product(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  ProductSample sample;
  if (a.rows == 0) return sample;
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto factors = factors_of<NoValue>(a, b);
  Array<std::uint8_t> state_bytes(static_cast<std::int64_t>(sizeof(SampleState)), Init::zero, device);
  auto* const state = reinterpret_cast<SampleState*>(state_bytes.data());
  Array<std::uint8_t> strata(a.rows, Init::none, device);
  Array<index_t> long_rows(a.nnz() / long_row + 1, Init::none, device);
  enqueue_strata(context, factors, a.rows, static_cast<double>(a.nnz()) / a.rows, strata.data(), long_rows.data(),
                 state);
  Array<std::uint8_t> item_bytes(std::int64_t{most_items} * static_cast<std::int64_t>(sizeof(SketchedRow)), Init::none,
                                 device);
  auto* const items = reinterpret_cast<SketchedRow*>(item_bytes.data());
  Array<std::uint8_t> shared_bytes(std::int64_t{most_split_rows} * static_cast<std::int64_t>(sizeof(SharedSketch)),
                                   Init::zero, device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * sketch_blocks_of_multiprocessor);
  launch("sample of a sparse product", context, Grid{std::min(blocks_for(a.rows, threads), enough), threads},
         select_kernel, a.rows, static_cast<const std::uint8_t*>(strata.data()), items, state);
  launch("sketches of sampled rows", context, Grid{enough, threads}, sketch_sample_kernel, factors,
         static_cast<const std::uint8_t*>(strata.data()), static_cast<const SketchedRow*>(items),
         reinterpret_cast<SharedSketch*>(shared_bytes.data()), state);
  SampleState result{};
  copy_bytes(Device{}, &result, device, state, sizeof(SampleState));
  std::copy(std::begin(result.totals), std::end(result.totals), sample.totals.begin());
  std::copy(std::begin(result.sums), std::end(result.sums), sample.sums.begin());
  sample.exact_entries = result.exact_entries;
  return sample;
}

template ProductSample sample_product(const CsrView<float>&, const CsrView<float>&, const Device&);
template ProductSample sample_product(const CsrView<double>&, const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
