#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/warp.cuh"
#include "spgemm/cuda/workflows/esc.hpp"

#include <algorithm>

namespace tessera::cuda {

namespace {

constexpr int threads = 256;
constexpr int row_bits = 32;

/// Rows with more products than a block takes are not told apart.
__global__ void __launch_bounds__(threads) work_keys_kernel(index_t rows, RowFacts facts, std::uint64_t* keys) {
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= rows) return;
  const std::uint32_t products = min(facts.products[i], esc_block_products + 1);
  keys[i] = std::uint64_t{products} << row_bits | static_cast<std::uint64_t>(i);
}

/// Adds the rows of a warp to the totals of their classes. All lanes must call.
__device__ void add_rows(EscTotals* totals, bool exists, int size, unsigned products, unsigned width) {
  unsigned left = __ballot_sync(full_warp, exists);
  while (left != 0) {
    const int current = __shfl_sync(full_warp, size, __ffs(static_cast<int>(left)) - 1);
    const bool member = exists && size == current;
    const unsigned members = __ballot_sync(full_warp, member);
    const unsigned most = __reduce_max_sync(full_warp, member ? products : 0);
    const unsigned widest = __reduce_max_sync(full_warp, member ? width : 0);
    left &= ~members;
    if (threadIdx.x % warp_size != 0) continue;
    atomicAdd(&totals[current].rows, static_cast<unsigned>(__popc(members)));
    atomicMax(&totals[current].most_products, most);
    atomicMax(&totals[current].widest, widest);
  }
}

__global__ void __launch_bounds__(threads)
    list_rows_kernel(index_t rows, RowFacts facts, bool short_positions, std::uint32_t block_products,
                     const std::uint64_t* keys, index_t* list, EscTotals* of_all) {
  alignas(EscTotals) __shared__ unsigned char space[esc_classes * sizeof(EscTotals)];
  auto* const totals = reinterpret_cast<EscTotals*>(space);
  if (threadIdx.x < esc_classes) totals[threadIdx.x] = EscTotals{};
  __syncthreads();
  const std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x;
  const bool exists = i < rows;
  int size = 0;
  unsigned products = 0;
  unsigned width = 0;
  if (exists) {
    const auto row = static_cast<index_t>(keys[i] & 0xffffffff);
    list[i] = row;
    products = facts.products[row];
    width = static_cast<unsigned>(facts.widths[row]);
    size = static_cast<int>(esc_class(products, short_positions, block_products));
  }
  add_rows(totals, exists, size, products, width);
  __syncthreads();
  if (threadIdx.x >= esc_classes || totals[threadIdx.x].rows == 0) return;
  EscTotals& to = of_all[threadIdx.x];
  atomicAdd(&to.rows, totals[threadIdx.x].rows);
  atomicMax(&to.most_products, totals[threadIdx.x].most_products);
  atomicMax(&to.widest, totals[threadIdx.x].widest);
}

}  // namespace

RowBatch WorkOrder::batch(EscClass size, const RowFacts& facts, double mean_b_row_nnz) const noexcept {
  index_t first = 0;
  for (int before = 0; before < static_cast<int>(size); ++before) {
    first += static_cast<index_t>(totals[static_cast<std::size_t>(before)].rows);
  }
  RowBatch result;
  result.facts = facts;
  result.rows = rows.empty() ? nullptr : rows.data() + first;
  result.count = static_cast<index_t>(total(size).rows);
  result.most_products = total(size).most_products;
  result.widest = static_cast<index_t>(total(size).widest);
  result.most_entries = static_cast<index_t>(std::min(result.most_products, total(size).widest));
  result.mean_b_row_nnz = mean_b_row_nnz;
  return result;
}

std::uint64_t WorkOrder::peak_bytes(std::int64_t rows) noexcept {
  return static_cast<std::uint64_t>(rows) * (2 * sizeof(std::uint64_t) + sizeof(index_t)) +
         sort_scratch_bytes(tiles_of(rows));
}

WorkOrder natural_order(index_t rows, const EscTotals& all) noexcept {
  WorkOrder order;
  EscTotals& total = order.totals[static_cast<std::size_t>(esc_class(all.most_products, true))];
  total = all;
  total.rows = static_cast<unsigned>(rows);
  return order;
}

WorkOrder order_by_work(const Device& device, const RowFacts& facts, index_t rows, bool short_positions,
                        std::uint32_t block_products) {
  const Context& context = Context::of(device);
  const Grid grid{blocks_for(rows, threads), threads};
  Array<std::uint64_t> keys(rows, Init::none, device);
  Array<std::uint64_t> other(rows, Init::none, device);
  launch("keys of rows", context, grid, work_keys_kernel, rows, facts, keys.data());
  enqueue_sort(device, keys, other, one_segment(rows), row_bits, row_bits + bits_below(esc_block_products + 2));
  WorkOrder order;
  order.rows = Array<index_t>(rows, Init::none, device);
  Array<EscTotals> totals(esc_classes, Init::zero, device);
  launch("listing rows", context, grid, list_rows_kernel, rows, facts, short_positions, block_products, keys.data(),
         order.rows.data(), totals.data());
  const Array<EscTotals> on_host = totals.to(Device{});
  std::copy(on_host.begin(), on_host.end(), order.totals.begin());
  return order;
}

}  // namespace tessera::cuda
