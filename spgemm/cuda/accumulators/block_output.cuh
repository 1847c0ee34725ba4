/// \file
/// Rows of C of a block that has a row a thread: where they go, and their way there through shared memory, so that
/// neighbouring threads write neighbouring entries.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/cuda/accumulators/rows.cuh"

#include <cstddef>

namespace tessera::cuda {

/// Entries of the rows of a block's threads.
using BlockEntries = BlockSum<offset_t>;

/// Every thread of the block calls, once a kernel. \param n entries of this thread's row, 0 without one
template <int Threads>
[[nodiscard]] __device__ BlockEntries entries_in_block(offset_t n) {
  __shared__ offset_t of_warps[Threads / warp_size];
  return running_sum_in_block<Threads>(n, of_warps);
}

/// Takes `total` entries of the common room for a block, all of them or none. Every thread of the block calls, once a
/// kernel. \returns the first place, or no_place when there is too little room
template <class V>
[[nodiscard]] __device__ offset_t claim_for_block(const RowOutput<V>& out, offset_t total) {
  __shared__ offset_t first;
  if (threadIdx.x == 0) {
    const auto taken = static_cast<offset_t>(atomicAdd(out.cursor, static_cast<unsigned long long>(total)));
    first = taken + total <= out.room ? taken : no_place;
  }
  __syncthreads();
  return first;
}

/// Says how many entries a row has and where it lies in what its block took. One thread calls for its row.
/// \param first what claim_for_block() returned \returns the row's first place, or no_place
template <class V>
__device__ offset_t take_of_block(const RowOutput<V>& out, index_t row, offset_t n, offset_t first, offset_t before) {
  const offset_t place = first == no_place ? no_place : first + before;
  out.counts[row] = n;
  out.places[row] = n == 0 ? 0 : place;  // nothing fits anywhere
  return place;
}

/// Entries on their way to C or to the room. \tparam V NoValue: columns alone
template <class V>
struct Entries {
  index_t* columns = nullptr;
  V* values = nullptr;

  __device__ void put(offset_t place, index_t column, [[maybe_unused]] V value) const {
    columns[place] = column;
    if constexpr (has_values<V>) values[place] = value;
  }
  /// Puts entry `from_place` of `from` to `place`.
  __device__ void copy(offset_t place, const Entries& from, offset_t from_place) const {
    columns[place] = from.columns[from_place];
    if constexpr (has_values<V>) values[place] = from.values[from_place];
  }
  /// Bytes of an entry.
  static constexpr std::size_t bytes = sizeof(index_t) + (has_values<V> ? sizeof(V) : 0);
};

/// Where the entries of a block go.
struct BlockPlaces {
  offset_t entries = 0;       ///< of this thread's row
  offset_t place = no_place;  ///< of its first entry
  offset_t before = 0;        ///< entries of the block's earlier rows
  offset_t total = 0;         ///< entries of the block
  bool in_one_piece = false;  ///< the rows lie one after the other, as they do in the block
  offset_t first = no_place;  ///< in one piece: place of the block's first entry
};

/// Of rows whose places are known. Every thread of the block calls, once a kernel. \param exists whether the thread
/// has a row, which is `row`
template <int Threads, class V>
[[nodiscard]] __device__ BlockPlaces known_places(const RowOutput<V>& out, const RowBatch& batch, bool exists,
                                                  index_t row) {
  BlockPlaces result;
  if (exists) {
    result.place = out.starts[row];
    result.entries = out.starts[row + 1] - result.place;
  }
  if (batch.rows == nullptr) {
    const offset_t first_row = offset_t{blockIdx.x} * Threads;
    const offset_t end_row = first_row + Threads < batch.count ? first_row + Threads : batch.count;
    result.in_one_piece = true;
    result.first = out.starts[first_row];
    result.total = out.starts[end_row] - result.first;
    result.before = result.place - result.first;
  } else {
    const BlockEntries in_block = entries_in_block<Threads>(result.entries);
    result.before = in_block.before;
    result.total = in_block.total;
  }
  return result;
}

/// Of rows that look for room. Every thread of the block calls, once a kernel. \param exists whether the thread has a
/// row, which is `row` \param n entries of the thread's row, 0 without one
template <int Threads, class V>
[[nodiscard]] __device__ BlockPlaces claimed_places(const RowOutput<V>& out, bool exists, index_t row, offset_t n) {
  const BlockEntries in_block = entries_in_block<Threads>(n);
  BlockPlaces result{n, no_place, in_block.before, in_block.total};
  if (out.starts != nullptr) {
    if (exists) result.place = claim_place(out, row, n);
    return result;
  }
  result.in_one_piece = true;
  result.first = claim_for_block(out, in_block.total);
  if (exists) result.place = take_of_block(out, row, n, result.first, in_block.before);
  return result;
}

/// The rows lie in one piece where they go, too.
template <int Threads, class V>
__device__ void copy_piece(const Entries<V>& to, const Entries<V>& stage, const BlockPlaces& places) {
  for (int i = static_cast<int>(threadIdx.x); i < places.total; i += Threads) to.copy(places.first + i, stage, i);
}

/// Each warp copies its own rows, a group of lanes a row. All lanes must call.
template <class V>
__device__ void copy_rows(const Entries<V>& to, const Entries<V>& stage, const BlockPlaces& places) {
  constexpr int copy_lanes = 8;
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  const int entries = places.place == no_place ? 0 : static_cast<int>(places.entries);
  const int before = static_cast<int>(places.before);
#pragma unroll 1
  for (int first = 0; first < warp_size; first += warp_size / copy_lanes) {
    const int owner = first + lane / copy_lanes;
    const offset_t place = __shfl_sync(full_warp, places.place, owner);
    const int from = __shfl_sync(full_warp, before, owner);
    const int length = __shfl_sync(full_warp, entries, owner);
#pragma unroll 1
    for (int k = lane % copy_lanes; k < length; k += copy_lanes) to.copy(place + k, stage, from + k);
  }
}

/// Copies what the block has written to `stage`. Every thread calls, once all are done with writing.
template <int Threads, class V>
__device__ void copy_block(const Entries<V>& to, const Entries<V>& stage, const BlockPlaces& places) {
  __syncthreads();
  if (!places.in_one_piece) {
    copy_rows(to, stage, places);
  } else if (places.first != no_place) {
    copy_piece<Threads>(to, stage, places);
  }
}

}  // namespace tessera::cuda
