// Sketches of the rows of chains of products on a GPU, which go from factor to factor.
#include "spgemm/common/prediction.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/reduce.cuh"

#include <algorithm>
#include <iterator>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int warps = threads / warp_size;

/// A warp per row, its registers in shared memory.
template <int M>
__global__ void __launch_bounds__(threads) sketch_rows_kernel(const offset_t* offsets, const index_t* columns,
                                                              index_t rows, std::uint32_t* words, float* sizes) {
  __shared__ unsigned space[warps][M];
  const std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  if (row >= rows) return;
  unsigned* const registers = space[threadIdx.x / warp_size];
  const unsigned lane = threadIdx.x % warp_size;
  for (unsigned r = lane; r < M; r += warp_size) registers[r] = 0;
  __syncwarp();
  const offset_t begin = offsets[row];
  const offset_t end = offsets[row + 1];
  for (offset_t k = begin + lane; k < end; k += warp_size) {
    const SketchMark mark = sketch_mark<M>(sketch_hash(static_cast<std::uint32_t>(columns[k])));
    atomicMax(&registers[mark.slot], static_cast<unsigned>(mark.rank));
  }
  __syncwarp();
  for (unsigned w = lane; w < M / 4; w += warp_size) {
    words[row * (M / 4) + w] =
        registers[4 * w] | registers[4 * w + 1] << 8 | registers[4 * w + 2] << 16 | registers[4 * w + 3] << 24;
  }
  if (lane == 0) sizes[row] = static_cast<float>(end - begin);
}

/// A warp per row of A, whose groups of lanes take different rows of B; a word of four registers per lane.
template <int M>
__global__ void __launch_bounds__(threads)
    merge_sketches_kernel(const offset_t* offsets, const index_t* columns, index_t rows, const std::uint32_t* b_words,
                          std::uint32_t* words) {
  constexpr int lanes = M / 4;
  static_assert(lanes <= warp_size);
  const std::int64_t row = std::int64_t{blockIdx.x} * warps + threadIdx.x / warp_size;
  if (row >= rows) return;
  const int in_warp = static_cast<int>(threadIdx.x) % warp_size;
  const int lane = in_warp % lanes;
  const offset_t end = offsets[row + 1];
  std::uint32_t word = 0;
#pragma unroll 4
  for (offset_t k = offsets[row] + in_warp / lanes; k < end; k += warp_size / lanes) {
    word = __vmaxu4(word, __ldg(b_words + std::int64_t{columns[k]} * lanes + lane));
  }
  for (int distance = lanes; distance < warp_size; distance *= 2) {
    word = __vmaxu4(word, __shfl_xor_sync(full_warp, word, distance));
  }
  if (in_warp < lanes) words[row * lanes + lane] = word;
}

template <int M, class T>
RowSketches sketch_sized(const CsrView<T>& a, const Device& device) {
  RowSketches result{Array<std::uint32_t>(std::int64_t{a.rows} * (M / 4), Init::none, device),
                     Array<float>(a.rows, Init::none, device),
                     static_cast<double>(a.nnz()),
                     {}};
  result.groups.fill(result.entries / chain_groups);
  if (a.rows == 0) return result;
  launch("sketches of rows", Context::of(device), Grid{blocks_for(a.rows, warps), threads}, sketch_rows_kernel<M>,
         a.row_offsets.data(), a.columns.data(), a.rows, result.words.data(), result.sizes.data());
  return result;
}

template <int M, class T>
RowSketches merge_sized(const CsrView<T>& a, const RowSketches& b, index_t most, const Device& device) {
  RowSketches result{Array<std::uint32_t>(std::int64_t{a.rows} * (M / 4), Init::none, device),
                     Array<float>(a.rows, Init::none, device),
                     0.0,
                     {}};
  if (a.rows == 0) return result;
  launch("unions of sketches", Context::of(device), Grid{blocks_for(a.rows, warps), threads}, merge_sketches_kernel<M>,
         a.row_offsets.data(), a.columns.data(), a.rows, b.words.data(), result.words.data());
  const std::uint32_t* const words = result.words.data();
  float* const sizes = result.sizes.data();
  const auto bound = static_cast<double>(most);
  const auto sums =
      fused_values<SketchedEntries>(device, a.rows, [=] __device__(std::int64_t row, SketchedEntries & sum) {
        std::uint32_t sketch[M / 4];
#pragma unroll
        for (int w = 0; w < M / 4; ++w) sketch[w] = words[row * (M / 4) + w];
        sizes[row] = estimate_row<M>(reinterpret_cast<const std::uint8_t*>(sketch), bound, sum);
      });
  result.entries = sums.entries;
  std::copy(std::begin(sums.groups), std::end(sums.groups), result.groups.begin());
  return result;
}

}  // namespace

template <class T>
RowSketches sketch_rows(const CsrView<T>& a, int registers, const Device& device) {
  const DeviceGuard current(device);
  if (registers == 32) return sketch_sized<32>(a, device);
  if (registers == 64) return sketch_sized<64>(a, device);
  return sketch_sized<128>(a, device);
}

template <class T>
RowSketches merge_sketches(const CsrView<T>& a, const RowSketches& b, index_t most, int registers,
                           const Device& device) {
  const DeviceGuard current(device);
  if (registers == 32) return merge_sized<32>(a, b, most, device);
  if (registers == 64) return merge_sized<64>(a, b, most, device);
  return merge_sized<128>(a, b, most, device);
}

double products_of_sizes(const Array<float>& u, const Array<float>& v, const Device& device) {
  const float* const left = u.data();
  const float* const right = v.data();
  return fused_sum<1>(device, u.size(), [=] __device__(std::int64_t k, double(&sum)[1]) {
    sum[0] += static_cast<double>(left[k]) * static_cast<double>(right[k]);
  })[0];
}

int multiprocessors_of(const Device& device) { return Context::of(device).multiprocessors(); }

template RowSketches sketch_rows(const CsrView<float>&, int, const Device&);
template RowSketches sketch_rows(const CsrView<double>&, int, const Device&);
template RowSketches merge_sketches(const CsrView<float>&, const RowSketches&, index_t, int, const Device&);
template RowSketches merge_sketches(const CsrView<double>&, const RowSketches&, index_t, int, const Device&);

}  // namespace tessera::cuda
