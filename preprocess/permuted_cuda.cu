/// \file
/// Symmetric permutation on a GPU. A few lanes sort a row by counting: an entry stands behind as many as have a smaller
/// column. Rows that are too long for that are sorted by a segmented radix sort of the runs of the permutation.
#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"
#include "preprocess/permuted.hpp"
#include "tessera/error.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int threads = 256;
/// Entries per lane of the longest row that is sorted by counting.
constexpr int entries_of_lane = 16;
constexpr int most_keys = threads * entries_of_lane;  ///< of a block

/// What kernels read and write.
template <class T>
struct SymmetricPermutation {
  index_t rows;
  const offset_t* offsets;
  const index_t* columns;
  const T* values;
  const index_t* order;
  const index_t* position;
  PermutedOutput<T> out;

  /// Entry `from` of A becomes entry `to`.
  __device__ void move(offset_t from, offset_t to, index_t column) const {
    if (out.columns != nullptr) out.columns[to] = column;
    if (out.values != nullptr) out.values[to] = values[from];
    if (out.positions != nullptr) out.positions[to] = static_cast<index_t>(from);
  }
};

/// Lanes per row. All lanes of a warp meet in every round.
template <class T, int Lanes>
__global__ void __launch_bounds__(threads) count_sort_kernel(SymmetricPermutation<T> p) {
  constexpr int rows_of_block = threads / Lanes;
  constexpr int longest = Lanes * entries_of_lane;
  __shared__ index_t keys[most_keys];
  const int group = static_cast<int>(threadIdx.x) / Lanes;
  const int lane = static_cast<int>(threadIdx.x) % Lanes;
  index_t* const own = keys + group * longest;
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_of_block;
  for (std::int64_t first = std::int64_t{blockIdx.x} * rows_of_block; first < p.rows; first += stride) {
    const std::int64_t k = first + group;
    offset_t begin = 0;
    int length = 0;
    if (k < p.rows) {
      begin = p.offsets[p.order[k]];
      const offset_t entries = p.offsets[p.order[k] + 1] - begin;
      length = entries <= longest ? static_cast<int>(entries) : 0;
    }
    for (int i = lane; i < length; i += Lanes) own[i] = p.position[p.columns[begin + i]];
    __syncwarp();
    for (int i = lane; i < length; i += Lanes) {
      const index_t column = own[i];
      int before = 0;
      for (int j = 0; j < length; ++j) before += own[j] < column ? 1 : 0;
      p.move(begin + i, p.out.row_offsets[k] + before, column);
    }
    __syncwarp();
  }
}

template <class T, int Lanes>
void count_sort(const Device& device, const SymmetricPermutation<T>& p) {
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  const auto enough = static_cast<unsigned>(context.multiprocessors() * 64);
  const unsigned needed = blocks_for(p.rows, threads / Lanes);
  launch("sorting permuted rows", context, Grid{needed < enough ? needed : enough, threads},
         count_sort_kernel<T, Lanes>, p);
}

/// Lanes per row for a mean length.
[[nodiscard]] int lanes_for(index_t rows, offset_t nnz) {
  const offset_t mean = nnz / rows;
  return mean <= 6 ? 4 : mean <= 16 ? 8 : 32;
}

/// New rows with more than `longest` entries, ascending, on the device.
[[nodiscard]] Array<index_t> long_rows(const Device& device, index_t rows, const offset_t* offsets, offset_t longest) {
  Array<offset_t> before(rows, Init::none, device);
  offset_t* const count = before.data();
  for_each(device, rows, [=] __device__(std::int64_t k) { count[k] = offsets[k + 1] - offsets[k] > longest ? 1 : 0; });
  Array<index_t> result(exclusive_sum(device, before.span()), Init::none, device);
  if (result.empty()) return result;
  index_t* const list = result.data();
  for_each(device, rows, [=] __device__(std::int64_t k) {
    if (offsets[k + 1] - offsets[k] > longest) list[count[k]] = static_cast<index_t>(k);
  });
  return result;
}

/// Where the keys of each of the rows begin, then their number; on the host.
[[nodiscard]] std::vector<offset_t> begins_of(const Device& device, const Array<index_t>& list,
                                              const offset_t* offsets) {
  Array<offset_t> lengths(list.size(), Init::none, device);
  const index_t* const row = list.data();
  offset_t* const length = lengths.data();
  for_each(device, list.size(), [=] __device__(std::int64_t s) { length[s] = offsets[row[s] + 1] - offsets[row[s]]; });
  const Array<offset_t> fetched = lengths.to(Device{});
  std::vector<offset_t> begins{0};
  for (const offset_t each : fetched.span()) begins.push_back(begins.back() + each);
  return begins;
}

/// The ascending runs of a permutation, numbered. Inside one, new columns ascend with the old ones, which ascend in a
/// row. So a stable sort by run sorts the row, and an order of few runs, as those by degree are, needs few bits.
struct AscendingRuns {
  Array<offset_t> run_of;  ///< per new number
  int bits = 0;            ///< of a run's number
};

[[nodiscard]] AscendingRuns ascending_runs(const Device& device, std::int64_t n, const index_t* order) {
  AscendingRuns runs{Array<offset_t>(n, Init::none, device)};
  offset_t* const descends = runs.run_of.data();
  for_each(device, n, [=] __device__(std::int64_t k) { descends[k] = k + 1 < n && order[k + 1] < order[k] ? 1 : 0; });
  const offset_t last = exclusive_sum(device, runs.run_of.span());
  runs.bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(last)));
  return runs;
}

/// Composite sort key of an entry of a long row: the run of its new column above its number in the row.
struct CompositeKey {
  int number_bits;

  [[nodiscard]] __device__ std::uint64_t pack(offset_t run, offset_t number) const {
    return static_cast<std::uint64_t>(run) << number_bits | static_cast<std::uint64_t>(number);
  }
  [[nodiscard]] __device__ offset_t number(std::uint64_t key) const {
    return static_cast<offset_t>(key & ((std::uint64_t{1} << number_bits) - 1));
  }
};

/// visit(p, new row, place in the segment, index of the key) for every entry of the long rows, a block per tile of
/// keys.
template <class T, class Visit>
__global__ void __launch_bounds__(threads)
    long_rows_kernel(SymmetricPermutation<T> p, KeyTiles tiles, const index_t* list, Visit visit) {
  const KeyTile tile = tiles.tile(blockIdx.x);
  const offset_t first = tile.number * keys_of_tile;
  for (int i = static_cast<int>(threadIdx.x); i < tile.keys; i += threads) {
    visit(p, list[tile.segment], first + i, tile.first + i);
  }
}

template <class T, class Visit>
void visit_long_rows(const Device& device, const SymmetricPermutation<T>& p, const KeyTiles& tiles, const index_t* list,
                     const Visit& visit) {
  const DeviceGuard current(device);
  launch("long rows of a permuted matrix", Context::of(device), Grid{static_cast<unsigned>(tiles.tiles), threads},
         long_rows_kernel<T, Visit>, p, tiles, list, visit);
}

template <class T>
void sort_long_rows(const Device& device, const SymmetricPermutation<T>& p, const Array<index_t>& list) {
  const std::vector<offset_t> begins = begins_of(device, list, p.out.row_offsets);
  const TileTable table(device, begins);
  const KeyTiles tiles = table.view();
  const AscendingRuns runs = ascending_runs(device, p.rows, p.order);
  const offset_t* const run_of = runs.run_of.data();
  // Of a square matrix without double entries, a row has no more than 2^31 - 1.
  const CompositeKey key_of{static_cast<int>(std::bit_width(static_cast<std::uint32_t>(p.rows)))};
  Array<std::uint64_t> keys(begins.back(), Init::none, device);
  std::uint64_t* const unsorted = keys.data();
  visit_long_rows(device, p, tiles, list.data(),
                  [=] __device__(const SymmetricPermutation<T>& all, index_t row, offset_t number, offset_t index) {
                    const offset_t from = all.offsets[all.order[row]] + number;
                    unsorted[index] = key_of.pack(run_of[all.position[all.columns[from]]], number);
                  });
  {
    Array<std::uint64_t> other(begins.back(), Init::none, device);
    enqueue_sort(device, keys, other, tiles, key_of.number_bits, key_of.number_bits + runs.bits);
  }
  const std::uint64_t* const sorted = keys.data();
  visit_long_rows(device, p, tiles, list.data(),
                  [=] __device__(const SymmetricPermutation<T>& all, index_t row, offset_t number, offset_t index) {
                    const offset_t from = all.offsets[all.order[row]] + key_of.number(sorted[index]);
                    all.move(from, all.out.row_offsets[row] + number, all.position[all.columns[from]]);
                  });
}

}  // namespace

template <class T>
void permute_into(const CsrView<T>& matrix, std::span<const index_t> order, std::span<const index_t> position,
                  const Device& device, const PermutedOutput<T>& out) {
  const index_t rows = matrix.rows;
  const offset_t* const offsets = matrix.row_offsets.data();
  const index_t* const from = order.data();
  for_each(device, std::int64_t{rows} + 1, [=] __device__(std::int64_t k) {
    out.row_offsets[k] = k < rows ? offsets[from[k] + 1] - offsets[from[k]] : 0;
  });
  exclusive_sum_on_device(device, {out.row_offsets, static_cast<std::size_t>(rows) + 1});
  if (matrix.nnz() == 0) return;
  const SymmetricPermutation<T> p{rows, offsets, matrix.columns.data(), matrix.values.data(), from, position.data(),
                                  out};
  const int lanes = lanes_for(rows, matrix.nnz());
  if (lanes == 4) {
    count_sort<T, 4>(device, p);
  } else if (lanes == 8) {
    count_sort<T, 8>(device, p);
  } else {
    count_sort<T, 32>(device, p);
  }
  const Array<index_t> list = long_rows(device, rows, out.row_offsets, offset_t{lanes} * entries_of_lane);
  if (!list.empty()) sort_long_rows(device, p, list);
}

Array<index_t> inverse_permutation(std::span<const index_t> order, const Device& device) {
  const std::int64_t n = std::ssize(order);
  Array<index_t> position(n, Init::none, device);
  index_t* const to = position.data();
  const index_t* const from = order.data();
  for_each(device, n, [=] __device__(std::int64_t k) { to[k] = -1; });
  for_each(device, n, [=] __device__(std::int64_t k) {
    if (from[k] >= 0 && from[k] < n) to[from[k]] = static_cast<index_t>(k);
  });
  // Of a number that occurs twice one occurrence finds the other in its place.
  const double faults = fused_sum<1>(device, n, [=] __device__(std::int64_t k, double* sums) {
    if (from[k] < 0 || from[k] >= n || to[from[k]] != static_cast<index_t>(k)) sums[0] += 1.0;
  })[0];
  return faults == 0.0 ? std::move(position) : Array<index_t>();
}

template void permute_into(const CsrView<float>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const PermutedOutput<float>&);
template void permute_into(const CsrView<double>&, std::span<const index_t>, std::span<const index_t>, const Device&,
                           const PermutedOutput<double>&);

}  // namespace tessera::cuda
