// Exclusive scan: cub::DeviceScan for many counts, own kernels for few (reduce-then-scan: the sum of each chunk of 2048
// counts, then the scan of each chunk from the sum of the chunks before it).
#include "core/cuda/launch.cuh"
#include "core/cuda/scan.hpp"
#include "core/cuda/warp.cuh"
#include "tessera/array.hpp"

namespace tessera::cuda {

namespace {

constexpr int scan_threads = 256;
constexpr int entries_of_thread = 8;
/// Entries per block.
constexpr std::int64_t scan_chunk = entries_of_thread * scan_threads;
/// Up to so many chunks, every block adds up the sums of the chunks before its own; above, these sums are scanned too.
constexpr unsigned most_direct_chunks = 4096;

/// Every thread must call.
__device__ BlockSum<offset_t> running_sum(offset_t value) {
  __shared__ offset_t of_warps[scan_threads / warp_size];
  return running_sum_in_block<scan_threads, true>(value, of_warps);
}

/// Sum of entries [begin, end), for all threads of a block. Every thread must call.
__device__ offset_t sum_by_block(const offset_t* entries, std::int64_t begin, std::int64_t end) {
  offset_t sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += scan_threads) sum += entries[i];
  return running_sum(sum).total;
}

/// Sum of each chunk.
__global__ void __launch_bounds__(scan_threads)
    chunk_sums_kernel(std::int64_t n, const offset_t* counts, offset_t* sums) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * scan_chunk;
  const offset_t total = sum_by_block(counts, begin, begin + scan_chunk < n ? begin + scan_chunk : n);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/// Scan of each chunk, from the sum of the chunks before it.
/// \param sums of the chunks; null for a single chunk \param running whether `sums` are exclusive sums already
/// \param total receives the sum of all; may be null
__global__ void __launch_bounds__(scan_threads)
    chunk_scan_kernel(std::int64_t n, offset_t* counts, const offset_t* sums, bool running, offset_t* total) {
  offset_t before = 0;
  if (sums != nullptr) before = running ? sums[blockIdx.x] : sum_by_block(sums, 0, blockIdx.x);
  const std::int64_t begin = std::int64_t{blockIdx.x} * scan_chunk + std::int64_t{threadIdx.x} * entries_of_thread;
  offset_t own[entries_of_thread];
  offset_t of_thread = 0;
#pragma unroll
  for (int k = 0; k < entries_of_thread; ++k) {
    own[k] = begin + k < n ? counts[begin + k] : 0;
    of_thread += own[k];
  }
  const BlockSum<offset_t> in_block = running_sum(of_thread);
  offset_t sum = before + in_block.before;
#pragma unroll
  for (int k = 0; k < entries_of_thread; ++k) {
    if (begin + k < n) counts[begin + k] = sum;
    sum += own[k];
  }
  if (total != nullptr && blockIdx.x + 1 == gridDim.x && threadIdx.x == 0) *total = before + in_block.total;
}

/// \param total on the device, receives the sum of all; may be null
void own_exclusive_sum(const Context& context, const Device& device, std::span<offset_t> counts, offset_t* total) {
  const auto n = static_cast<std::int64_t>(counts.size());
  const unsigned chunks = blocks_for(n, static_cast<int>(scan_chunk));
  const Grid grid{chunks, scan_threads};
  if (chunks == 1) {
    launch("exclusive sum", context, grid, chunk_scan_kernel, n, counts.data(), nullptr, false, total);
    return;
  }
  Array<offset_t> sums(chunks, Init::none, device);
  launch("sums of chunks", context, grid, chunk_sums_kernel, n, counts.data(), sums.data());
  const bool running = chunks > most_direct_chunks;
  if (running) own_exclusive_sum(context, device, sums.span(), nullptr);
  launch("exclusive sum", context, grid, chunk_scan_kernel, n, counts.data(), sums.data(), running, total);
}

/// The total is the last count and the sum before it: both are copied to the host after the scan.
offset_t cub_exclusive_sum_and_total(const Device& device, std::span<offset_t> counts) {
  Array<offset_t> last(2, Init::none, device);
  const offset_t* const back = &counts.back();
  detail::copy_bytes(device, last.data(), device, back, sizeof(offset_t));
  cub_exclusive_sum(device, counts);
  detail::copy_bytes(device, last.data() + 1, device, back, sizeof(offset_t));
  const Array<offset_t> on_host = last.to(Device{});
  return on_host[0] + on_host[1];
}

[[nodiscard]] bool uses_cub(std::span<offset_t> counts, PrimitiveBy by) {
  return by == PrimitiveBy::automatic ? static_cast<std::int64_t>(counts.size()) > own_scan_limit
                                      : by == PrimitiveBy::cub;
}

}  // namespace

offset_t exclusive_sum(const Device& device, std::span<offset_t> counts, PrimitiveBy by) {
  if (counts.empty()) return 0;
  if (uses_cub(counts, by)) return cub_exclusive_sum_and_total(device, counts);
  const Context& context = Context::of(device);
  const DeviceGuard current(device);
  Array<offset_t> total(1, Init::none, device);
  own_exclusive_sum(context, device, counts, total.data());
  offset_t result = 0;
  detail::copy_bytes(Device{}, &result, device, total.data(), sizeof(result));
  return result;
}

void exclusive_sum_on_device(const Device& device, std::span<offset_t> counts, PrimitiveBy by) {
  if (counts.empty()) return;
  if (uses_cub(counts, by)) return cub_exclusive_sum(device, counts);
  const DeviceGuard current(device);
  own_exclusive_sum(Context::of(device), device, counts, nullptr);
}

}  // namespace tessera::cuda
