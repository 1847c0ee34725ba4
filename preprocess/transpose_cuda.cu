/// \file
/// Transposition by a radix sort: column and position of every entry as one key, sorted by the column alone.
#include "core/cuda/launch.cuh"
#include "core/cuda/radix_sort.hpp"
#include "core/cuda/reduce.cuh"
#include "core/partition_point.hpp"
#include "preprocess/csr5_descriptor.hpp"
#include "preprocess/transpose_map.hpp"
#include "tessera/error.hpp"

#include <bit>
#include <cstdint>
#include <string>

namespace tessera::cuda {

using namespace detail;

namespace {

constexpr int key_threads = 256;
constexpr int entries_of_thread = 8;
constexpr int entries_of_block = key_threads * entries_of_thread;

/// A key holds the column of an entry above its position.
struct EntryKeys {
  int position_bits = 1;
  int column_bits = 0;

  EntryKeys(index_t cols, offset_t nnz)
      : position_bits(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(nnz)))),
        column_bits(cols > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint32_t>(cols - 1))) : 0) {}

  [[nodiscard]] __device__ std::uint64_t key(index_t column, offset_t position) const {
    return static_cast<std::uint64_t>(column) << position_bits | static_cast<std::uint64_t>(position);
  }
  [[nodiscard]] __device__ offset_t position(std::uint64_t key) const {
    return static_cast<offset_t>(key & ((std::uint64_t{1} << position_bits) - 1));
  }
  /// The least key of a column.
  [[nodiscard]] __device__ std::uint64_t first(std::int64_t column) const {
    return static_cast<std::uint64_t>(column) << position_bits;
  }
};

/// Key and row of every entry.
__global__ void __launch_bounds__(key_threads)
    keys_kernel(const offset_t* offsets, index_t rows, offset_t nnz, const index_t* columns, EntryKeys form,
                std::uint64_t* keys, index_t* row_of) {
  __shared__ index_t range[2];
  const offset_t begin = offset_t{blockIdx.x} * entries_of_block;
  const offset_t end = begin + entries_of_block < nnz ? begin + entries_of_block : nnz;
  if (threadIdx.x < 2) range[threadIdx.x] = row_of_nonzero(offsets, rows, threadIdx.x == 0 ? begin : end - 1);
  __syncthreads();
  const index_t first = range[0];
  const index_t count = range[1] - first + 1;
  for (offset_t k = begin + threadIdx.x; k < end; k += key_threads) {
    keys[k] = form.key(columns[k], k);
    row_of[k] = first + row_of_nonzero(offsets + first, count, k);
  }
}

/// Number of keys below `key`.
__device__ offset_t keys_below(const std::uint64_t* keys, offset_t count, std::uint64_t key) {
  return detail::partition_point(offset_t{0}, count, [&](offset_t k) { return keys[k] < key; });
}

/// Fills the parts of A^T from the sorted keys.
template <class T>
void enqueue_output(const Device& device, const CsrView<T>& a, const EntryKeys& form, const std::uint64_t* keys,
                    const index_t* row_of, const TransposeOutput<T>& out) {
  const offset_t nnz = a.nnz();
  const T* const values = a.values.data();
  for_each(device, nnz, [=] __device__(std::int64_t k) {
    const offset_t position = form.position(keys[k]);
    out.columns[k] = row_of[position];
    if (out.values != nullptr) out.values[k] = values[position];
    if (out.positions != nullptr) out.positions[k] = static_cast<index_t>(position);
  });
  for_each(device, std::int64_t{a.cols} + 1,
           [=] __device__(std::int64_t j) { out.row_offsets[j] = keys_below(keys, nnz, form.first(j)); });
}

}  // namespace

template <class T>
void transpose_into(const CsrView<T>& matrix, const Device& device, const TransposeOutput<T>& out) {
  const offset_t nnz = matrix.nnz();
  if (nnz == 0) {
    zero_bytes(device, out.row_offsets, (static_cast<std::uint64_t>(matrix.cols) + 1) * sizeof(offset_t));
    return;
  }
  const EntryKeys form(matrix.cols, nnz);
  if (form.position_bits + form.column_bits > 63) {
    throw NotSupported("no transposition on " + device.name() + " of a matrix of " + std::to_string(matrix.cols) +
                       " columns and " + std::to_string(nnz) + " entries: 63 bits must number both");
  }
  Array<std::uint64_t> keys(nnz, Init::none, device);
  Array<index_t> row_of(nnz, Init::none, device);
  {
    const DeviceGuard current(device);
    launch("keys of entries", Context::of(device), Grid{blocks_for(nnz, entries_of_block), key_threads}, keys_kernel,
           matrix.row_offsets.data(), matrix.rows, nnz, matrix.columns.data(), form, keys.data(), row_of.data());
  }
  {
    Array<std::uint64_t> other(nnz, Init::none, device);
    enqueue_sort(device, keys, other, one_segment(nnz), form.position_bits, form.position_bits + form.column_bits);
  }
  enqueue_output(device, matrix, form, keys.data(), row_of.data(), out);
}

template void transpose_into(const CsrView<float>&, const Device&, const TransposeOutput<float>&);
template void transpose_into(const CsrView<double>&, const Device&, const TransposeOutput<double>&);

}  // namespace tessera::cuda
