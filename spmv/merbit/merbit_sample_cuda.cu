/// \file
/// The sample of columns that the layout of MERBIT is chosen by, and the size of the second-level cache.
#include "core/cuda/launch.cuh"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/array.hpp"

namespace tessera::cuda {

namespace {

/// Bits of a filter that distinguishes lines: so many that few of 65536 lines collide.
constexpr int filter_bits_log2 = 21;
constexpr int filter_words = (1 << filter_bits_log2) / 32;

/// Counts of all blocks, zero before.
struct LineCounts {
  unsigned of_windows;
  unsigned of_all;
  std::uint32_t filter[filter_words];
};

/// Whether this is the first use of the line.
__device__ bool is_first_use(LineCounts& counts, index_t line) {
  const std::uint32_t bit = static_cast<std::uint32_t>(line) * 2654435761U >> (32 - filter_bits_log2);
  const std::uint32_t mask = 1U << (bit % 32);
  return (atomicOr(&counts.filter[bit / 32], mask) & mask) == 0;
}

/// One block per window, one thread per nonzero: counts the lines that no earlier nonzero of the window touches, and
/// those that no nonzero of any window touched before.
__global__ void __launch_bounds__(gather_window)
    count_lines(const index_t* columns, offset_t nnz, int entries_per_line, LineCounts* counts) {
  __shared__ index_t line_of[gather_window];
  const offset_t begin = (nnz - gather_window) / gridDim.x * blockIdx.x;
  const auto mine = static_cast<int>(threadIdx.x);
  const index_t line = columns[begin + mine] / entries_per_line;
  line_of[mine] = line;
  __syncthreads();
  bool is_new = true;
  for (int other = 0; other < mine; ++other) is_new = is_new && line_of[other] != line;
  const int count = __syncthreads_count(is_new);
  const int first_uses = __syncthreads_count(is_new && is_first_use(*counts, line));
  if (mine != 0) return;
  atomicAdd(&counts->of_windows, static_cast<unsigned>(count));
  atomicAdd(&counts->of_all, static_cast<unsigned>(first_uses));
}

}  // namespace

GatherSample sample_gathers(std::span<const index_t> columns, int element_bytes, const Device& device) {
  const auto nnz = static_cast<offset_t>(columns.size());
  GatherSample sample;
  sample.windows = gather_window_count(nnz);
  if (sample.windows == 0) return sample;
  Array<LineCounts> counts(1, Init::zero, device);
  const DeviceGuard current(device);
  launch("sample of the columns", Context::of(device), Grid{static_cast<unsigned>(sample.windows), gather_window},
         count_lines, columns.data(), nnz, gather_line_bytes / element_bytes, counts.data());
  unsigned counted[2] = {};
  detail::copy_bytes(Device{}, counted, device, &counts.data()->of_windows, sizeof(counted));
  sample.lines = counted[0];
  sample.all_lines = counted[1];
  return sample;
}

std::int64_t second_level_cache_bytes(const Device& device) {
  int bytes = 0;
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.ordinal()), "asking for the second-level cache");
  return bytes;
}

}  // namespace tessera::cuda
