/// \file
/// Output of blocks with one row per thread: allocates the rows and copies them through shared memory, so that
/// neighbouring threads write neighbouring entries.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"

#include <cstddef>

namespace tessera::cuda {

/// Entries of the rows of a block's threads.
using BlockEntries = BlockSum<offset_t>;

/// Every thread of the block calls, once per kernel. \param n entries of this thread's row, 0 without one
template <int Threads>
[[nodiscard]] __device__ BlockEntries entries_in_block(offset_t n) {
  __shared__ offset_t of_warps[Threads / warp_size];
  return running_sum_in_block<Threads>(n, of_warps);
}

/// Allocates `total` entries of the output buffer for a block, all or none. Every thread of the block calls, once per
/// kernel. \returns the first entry, or no_offset when the buffer is full
template <class V>
[[nodiscard]] __device__ offset_t block_allocate(const RowOutput<V>& out, offset_t total) {
  __shared__ offset_t first;
  if (threadIdx.x == 0) {
    const auto taken = static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(total)));
    first = taken + total <= out.capacity ? taken : no_offset;
  }
  __syncthreads();
  return first;
}

/// Notes how many entries a row has and where it lies in the allocation of its block. One thread calls for its row.
/// \param first what block_allocate() returned \returns the row's first entry, or no_offset
template <class V>
__device__ offset_t allocate_row_in_block(const RowOutput<V>& out, index_t row, offset_t n, offset_t first,
                                          offset_t before) {
  const offset_t offset = first == no_offset ? no_offset : first + before;
  out.counts[row] = n;
  out.buffer_offsets[row] = n == 0 ? 0 : offset;  // nothing fits anywhere
  return offset;
}

/// Arrays of entries: of C, of the output buffer, or of the stage in shared memory. \tparam V NoValue: columns alone
template <class V>
struct Entries {
  index_t* columns = nullptr;
  V* values = nullptr;

  __device__ void put(offset_t offset, index_t column, [[maybe_unused]] V value) const {
    columns[offset] = column;
    if constexpr (has_values<V>) values[offset] = value;
  }
  /// Copies entry `from_offset` of `from` to `offset`.
  __device__ void copy(offset_t offset, const Entries& from, offset_t from_offset) const {
    columns[offset] = from.columns[from_offset];
    if constexpr (has_values<V>) values[offset] = from.values[from_offset];
  }
  /// Bytes of an entry.
  static constexpr std::size_t bytes = sizeof(index_t) + (has_values<V> ? sizeof(V) : 0);
};

/// Where the entries of a block go.
struct BlockOffsets {
  offset_t entries = 0;         ///< of this thread's row
  offset_t offset = no_offset;  ///< of its first entry
  offset_t before = 0;          ///< entries of the block's earlier rows
  offset_t total = 0;           ///< entries of the block
  bool in_one_piece = false;    ///< the rows are contiguous in the output, as in the block
  offset_t first = no_offset;   ///< in one piece: offset of the block's first entry
};

/// For phase numeric, where offsets are known. Every thread of the block calls, once per kernel. \param exists whether
/// the thread has a row, which is `row`
template <int Threads, class V>
[[nodiscard]] __device__ BlockOffsets known_offsets(const RowOutput<V>& out, const RowBatch& batch, bool exists,
                                                    index_t row) {
  BlockOffsets result;
  if (exists) {
    result.offset = out.starts[row];
    result.entries = out.starts[row + 1] - result.offset;
  }
  if (batch.rows == nullptr) {
    const offset_t first_row = offset_t{blockIdx.x} * Threads;
    const offset_t end_row = first_row + Threads < batch.count ? first_row + Threads : batch.count;
    result.in_one_piece = true;
    result.first = out.starts[first_row];
    result.total = out.starts[end_row] - result.first;
    result.before = result.offset - result.first;
  } else {
    const BlockEntries in_block = entries_in_block<Threads>(result.entries);
    result.before = in_block.before;
    result.total = in_block.total;
  }
  return result;
}

/// For phase numeric_allocating. Every thread of the block calls, once per kernel. \param exists whether the thread has
/// a row, which is `row` \param n entries of the thread's row, 0 without one
template <int Threads, class V>
[[nodiscard]] __device__ BlockOffsets allocated_offsets(const RowOutput<V>& out, bool exists, index_t row, offset_t n) {
  const BlockEntries in_block = entries_in_block<Threads>(n);
  BlockOffsets result{n, no_offset, in_block.before, in_block.total};
  if (out.starts != nullptr) {
    if (exists) result.offset = allocate_row(out, row, n);
    return result;
  }
  result.in_one_piece = true;
  result.first = block_allocate(out, in_block.total);
  if (exists) result.offset = allocate_row_in_block(out, row, n, result.first, in_block.before);
  return result;
}

/// For rows that are contiguous in the output, too.
template <int Threads, class V>
__device__ void copy_piece(const Entries<V>& to, const Entries<V>& stage, const BlockOffsets& offsets) {
  for (int i = static_cast<int>(threadIdx.x); i < offsets.total; i += Threads) to.copy(offsets.first + i, stage, i);
}

/// Each warp copies its own rows, one group of lanes per row. All lanes must call.
template <class V>
__device__ void copy_rows(const Entries<V>& to, const Entries<V>& stage, const BlockOffsets& offsets) {
  constexpr int copy_lanes = 8;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int entries = offsets.offset == no_offset ? 0 : static_cast<int>(offsets.entries);
  const int before = static_cast<int>(offsets.before);
#pragma unroll 1
  for (int first = 0; first < warp_size; first += warp_size / copy_lanes) {
    const int owner = first + lane / copy_lanes;
    const offset_t offset = __shfl_sync(full_warp, offsets.offset, owner);
    const int from = __shfl_sync(full_warp, before, owner);
    const int length = __shfl_sync(full_warp, entries, owner);
#pragma unroll 1
    for (int k = lane % copy_lanes; k < length; k += copy_lanes) to.copy(offset + k, stage, from + k);
  }
}

/// Copies the stage of a block to the output. Every thread calls, after it has written its row.
template <int Threads, class V>
__device__ void copy_block(const Entries<V>& to, const Entries<V>& stage, const BlockOffsets& offsets) {
  __syncthreads();
  if (!offsets.in_one_piece) {
    copy_rows(to, stage, offsets);
  } else if (offsets.first != no_offset) {
    copy_piece<Threads>(to, stage, offsets);
  }
}

}  // namespace tessera::cuda
