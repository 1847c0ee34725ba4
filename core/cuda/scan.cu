#include "core/cuda/launch.cuh"
#include "core/cuda/scan.hpp"
#include "tessera/array.hpp"

namespace tessera::cuda {

namespace {

constexpr int scan_threads = 256;
constexpr int scan_warps = scan_threads / warp_size;
/// Entries that a block adds up.
constexpr std::int64_t scan_chunk = 8 * scan_threads;

/// Sum of the values of this thread and the earlier ones of its block; `total` becomes that of all. Every thread must
/// call.
__device__ offset_t block_running_sum(offset_t value, offset_t& total) {
  __shared__ offset_t of_warp[scan_warps];
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  for (unsigned distance = 1; distance < warp_size; distance *= 2) {
    const offset_t other = __shfl_up_sync(full_warp, value, distance);
    if (lane >= distance) value += other;
  }
  if (lane == warp_size - 1) of_warp[warp] = value;
  __syncthreads();
  total = 0;
  for (unsigned w = 0; w < scan_warps; ++w) {
    if (w == warp) value += total;
    total += of_warp[w];
  }
  __syncthreads();  // the next call overwrites of_warp
  return value;
}

/// Sum of each chunk.
__global__ void __launch_bounds__(scan_threads)
    chunk_sums_kernel(std::int64_t n, const offset_t* counts, offset_t* sums) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * scan_chunk;
  const std::int64_t end = begin + scan_chunk < n ? begin + scan_chunk : n;
  offset_t sum = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += scan_threads) sum += counts[i];
  offset_t total = 0;
  block_running_sum(sum, total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

/// Running sums inside each chunk, from what lies before it.
/// \param before a sum for each chunk, or null for a single one \param total of the single chunk
__global__ void __launch_bounds__(scan_threads)
    chunk_scan_kernel(std::int64_t n, offset_t* counts, const offset_t* before, offset_t* total) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * scan_chunk;
  offset_t sum = before == nullptr ? 0 : before[blockIdx.x];
  for (std::int64_t first = begin; first < begin + scan_chunk; first += scan_threads) {
    const std::int64_t i = first + threadIdx.x;
    const offset_t count = i < n ? counts[i] : 0;
    offset_t of_block = 0;
    const offset_t inclusive = block_running_sum(count, of_block);
    if (i < n) counts[i] = sum + inclusive - count;
    sum += of_block;
  }
  if (before == nullptr && threadIdx.x == 0) *total = sum;
}

/// The same without waiting. \param total where the sum of all goes, on the device
void scan(const Context& context, const Device& device, std::span<offset_t> counts, offset_t* total) {
  const auto n = static_cast<std::int64_t>(counts.size());
  const unsigned chunks = blocks_for(n, static_cast<int>(scan_chunk));
  const Grid grid{chunks, scan_threads};
  if (chunks == 1) {
    launch("running sums", context, grid, chunk_scan_kernel, n, counts.data(), nullptr, total);
    return;
  }
  Array<offset_t> sums(chunks, Init::none, device);
  launch("sums of chunks", context, grid, chunk_sums_kernel, n, counts.data(), sums.data());
  scan(context, device, sums.span(), total);
  launch("running sums", context, grid, chunk_scan_kernel, n, counts.data(), sums.data(), nullptr);
}

}  // namespace

offset_t exclusive_sum(const Device& device, std::span<offset_t> counts) {
  if (counts.empty()) return 0;
  const Context& context = Context::of(device);
  const CurrentDevice current(device);
  Array<offset_t> total(1, Init::none, device);
  scan(context, device, counts, total.data());
  offset_t result = 0;
  detail::copy_bytes(Device{}, &result, device, total.data(), sizeof(result));
  return result;
}

void exclusive_sum_on_device(const Device& device, std::span<offset_t> counts) {
  if (counts.empty()) return;
  const CurrentDevice current(device);
  Array<offset_t> total(1, Init::none, device);
  scan(Context::of(device), device, counts, total.data());
}

}  // namespace tessera::cuda
