/// \file
/// A first look at a few rows of a matrix: one block counts, in a hash table in shared memory, in how many ways they
/// begin.
#include "spmv/patterns/row_screen.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "core/cuda/warp.cuh"
#include "tessera/array.hpp"

namespace tessera::cuda {

using namespace detail;

namespace {

/// A thread per row. The table is never full.
constexpr int screen_threads = 1024;
constexpr unsigned screen_slots = 4096;
static_assert(screen_threads == screened_rows && screen_slots >= 2 * screened_rows);

/// Of the length of a row and its first relative columns; never 0. All loads are under way at once.
[[nodiscard]] __device__ unsigned hash_beginning(const offset_t* row_offsets, const index_t* columns, index_t row) {
  const offset_t begin = row_offsets[row];
  const offset_t length = row_offsets[row + 1] - begin;
  index_t column[screened_entries];
#pragma unroll
  for (int k = 0; k < screened_entries; ++k) column[k] = k < length ? __ldg(columns + begin + k) - row : 0;
  unsigned hash = 0x9e3779b9U ^ static_cast<unsigned>(length);
#pragma unroll
  for (int k = 0; k < screened_entries; ++k) {
    hash = (hash ^ static_cast<unsigned>(column[k])) * 0x85ebca6bU;
    hash ^= hash >> 15;
  }
  return hash == 0 ? 1 : hash;
}

/// Whether the hash is new in the table.
[[nodiscard]] __device__ bool insert_hash(unsigned* table, unsigned hash) {
  for (unsigned at = hash % screen_slots;; at = (at + 1) % screen_slots) {
    const unsigned there = atomicCAS(table + at, 0u, hash);
    if (there == 0) return true;
    if (there == hash) return false;
  }
}

__global__ void __launch_bounds__(screen_threads)
    count_beginnings_kernel(SampledRows sample, const offset_t* row_offsets, const index_t* columns, int* beginnings) {
  __shared__ unsigned table[screen_slots];
  const auto i = static_cast<index_t>(threadIdx.x);
  const unsigned hash = i < sample.count ? hash_beginning(row_offsets, columns, sample[i]) : 0;
  for (unsigned slot = threadIdx.x; slot < screen_slots; slot += screen_threads) table[slot] = 0;
  __syncthreads();
  const bool is_new = hash != 0 && insert_hash(table, hash);
  const int count = __syncthreads_count(is_new ? 1 : 0);
  if (i == 0) *beginnings = count;
}

}  // namespace

template <class T>
bool rows_may_repeat(const CsrView<T>& on_device, const Device& device) {
  if (on_device.rows <= most_screened_beginnings) return true;
  const SampledRows sample{on_device.rows, on_device.rows < screened_rows ? on_device.rows : screened_rows};
  Array<int> beginnings(1, Init::none, device);
  const DeviceGuard current(device);
  launch("beginnings of rows", Context::of(device), Grid{1, screen_threads}, count_beginnings_kernel, sample,
         on_device.row_offsets.data(), on_device.columns.data(), beginnings.data());
  int count = 0;
  copy_bytes(Device{}, &count, device, beginnings.data(), sizeof(count));
  return count <= most_screened_beginnings;
}

template bool rows_may_repeat(const CsrView<float>&, const Device&);
template bool rows_may_repeat(const CsrView<double>&, const Device&);

}  // namespace tessera::cuda
