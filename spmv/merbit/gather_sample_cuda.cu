#include "core/cuda/launch.cuh"
#include "spmv/merbit/gather_sample.hpp"
#include "tessera/array.hpp"

namespace tessera::cuda {

namespace {

/// One window a block, one nonzero a thread: counts the lines that no earlier nonzero of the window touches.
__global__ void __launch_bounds__(gather_window)
    count_lines(const index_t* columns, offset_t nnz, int entries_per_line, unsigned* lines) {
  __shared__ index_t line_of[gather_window];
  const offset_t begin = (nnz - gather_window) / gridDim.x * blockIdx.x;
  const auto mine = static_cast<int>(threadIdx.x);
  const index_t line = columns[begin + mine] / entries_per_line;
  line_of[mine] = line;
  __syncthreads();
  bool is_new = true;
  for (int other = 0; other < mine; ++other) is_new = is_new && line_of[other] != line;
  const int count = __syncthreads_count(is_new);
  if (mine == 0) atomicAdd(lines, static_cast<unsigned>(count));
}

}  // namespace

GatherSample sample_gathers(std::span<const index_t> columns, int element_bytes, const Device& device) {
  const auto nnz = static_cast<offset_t>(columns.size());
  GatherSample sample;
  sample.windows = gather_window_count(nnz);
  if (sample.windows == 0) return sample;
  Array<unsigned> lines(1, Init::zero, device);
  const CurrentDevice current(device);
  launch("sample of the columns", Context::of(device), Grid{static_cast<unsigned>(sample.windows), gather_window},
         count_lines, columns.data(), nnz, gather_line_bytes / element_bytes, lines.data());
  unsigned counted = 0;
  detail::copy_bytes(Device{}, &counted, device, lines.data(), sizeof(counted));
  sample.lines = counted;
  return sample;
}

}  // namespace tessera::cuda
