/// \file
/// Row sums of one tile by one warp, in the ways of TileKind. `terms(k)` is the product of nonzero k with its entry of
/// x, k counted from the start of the tile. The sums go to `epilogue` (merbit_epilogue.cuh). All lanes of the warp call
/// these functions.
#pragma once

#include "spmv/merbit/merbit_epilogue.cuh"

namespace tessera::cuda {

/// terms(begin) + terms(begin + stride) + ... below `end`, in this order, with Unroll terms in flight.
template <int Unroll, class T, class Terms>
[[nodiscard]] __device__ inline T sum_strided(const Terms& terms, int begin, int end, int stride) {
  T sum{0};
  for (int k = begin; k < end; k += Unroll * stride) {
    T term[Unroll];
#pragma unroll
    for (int u = 0; u < Unroll; ++u) term[u] = k + u * stride < end ? terms(k + u * stride) : T{0};
#pragma unroll
    for (int u = 0; u < Unroll; ++u) sum += term[u];
  }
  return sum;
}

/// A tile inside one row.
template <int Unroll, class Terms, class Epilogue>
__device__ inline void sum_one_row(const TileSpan& tile, const Terms& terms, int lane, Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  const T sum = sum_over_lanes(sum_strided<Unroll, T>(terms, lane, tile.nonzeros, warp_size));
  if (lane == 0) epilogue.leave_open(tile, sum);
}

/// The whole warp sums row after row. \param end_of_row in lane i: end of row i
template <int Unroll, class Terms, class Epilogue>
__device__ inline void sum_few_rows(const TileSpan& tile, std::uint32_t end_of_row, const Terms& terms, int lane,
                                    Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  T of_my_row{0};
  int begin = 0;
  for (int i = 0; i < tile.rows; ++i) {
    const auto end = static_cast<int>(__shfl_sync(full_warp, end_of_row, i));
    const T sum = sum_over_lanes(sum_strided<Unroll, T>(terms, begin + lane, end, warp_size));
    if (lane == i) of_my_row = sum;
    begin = end;
  }
  if (lane < tile.rows) epilogue.store_ended(tile, lane, of_my_row);
  if (!tile.to_inside) return;
  const T open = sum_over_lanes(sum_strided<Unroll, T>(terms, begin + lane, tile.nonzeros, warp_size));
  if (lane == 0) epilogue.leave_open(tile, open);
}

/// Sums over lanes 0 ... lane of two 16-bit numbers at once.
[[nodiscard]] __device__ inline std::uint32_t inclusive_sums(std::uint32_t pair, int lane) {
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const std::uint32_t other = __shfl_up_sync(full_warp, pair, static_cast<unsigned>(distance));
    if (lane >= distance) pair += other;
  }
  return pair;
}

/// A tile of complete rows, one lane per row. \param lengths of rows lane, lane + 32, ...: one byte each
template <int Unroll, class Terms, class Epilogue>
__device__ inline void sum_row_a_lane(const TileSpan& tile, std::uint32_t lengths, const Terms& terms, int lane,
                                      Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  int before = 0;
  for (int first = 0; first < tile.rows; first += 2 * warp_size, lengths >>= 16) {
    const auto near = static_cast<int>(lengths & 0xff);
    const auto far = static_cast<int>(lengths >> 8 & 0xff);
    const std::uint32_t ends = inclusive_sums(static_cast<std::uint32_t>(near | far << 16), lane);
    const std::uint32_t totals = __shfl_sync(full_warp, ends, warp_size - 1);
    const int near_end = before + static_cast<int>(ends & 0xffff);
    const T near_sum = sum_strided<Unroll, T>(terms, near_end - near, near_end, 1);
    if (first + lane < tile.rows) epilogue.store(tile.row + first + lane, near_sum);
    before += static_cast<int>(totals & 0xffff);
    if (first + warp_size < tile.rows) {
      const int far_end = before + static_cast<int>(ends >> 16);
      const T far_sum = sum_strided<Unroll, T>(terms, far_end - far, far_end, 1);
      if (first + warp_size + lane < tile.rows) epilogue.store(tile.row + first + warp_size + lane, far_sum);
    }
    before += static_cast<int>(totals >> 16);
  }
}

/// A tile of at most 32 complete rows, 2^lanes_log2 lanes per row. \param length of row `lane`
template <int Unroll, class Terms, class Epilogue>
__device__ inline void sum_row_a_group(const TileSpan& tile, int lanes_log2, std::uint32_t length, const Terms& terms,
                                       int lane, Epilogue& epilogue) {
  using T = typename Epilogue::Sum;
  const std::uint32_t ends = inclusive_sums(length, lane);
  const int lanes = 1 << lanes_log2;
  const int of_group = lane & (lanes - 1);
  for (int first = 0; first < tile.rows; first += warp_size >> lanes_log2) {
    const int i = first + (lane >> lanes_log2);
    const auto end = static_cast<int>(__shfl_sync(full_warp, ends, i % warp_size));
    const auto begin = end - static_cast<int>(__shfl_sync(full_warp, length, i % warp_size));
    T sum = i < tile.rows ? sum_strided<Unroll, T>(terms, begin + of_group, end, lanes) : T{0};
    sum = sum_over_lanes(sum, lanes);
    if (of_group == 0 && i < tile.rows) epilogue.store(tile.row + i, sum);
  }
}

/// Segmented scan: sum of the open sums of this lane of a walk and of those before it, back to the nearest that closed
/// a row. \param open the lane's sum after the last row it closed
template <class T>
[[nodiscard]] __device__ inline T open_sums(T open, bool closed, int lane) {
  const unsigned closing = __ballot_sync(full_warp, closed);
  const unsigned so_far = closing & (full_warp >> (warp_size - 1 - lane));
  const int first_lane = so_far != 0 ? warp_size - 1 - __clz(static_cast<int>(so_far)) : 0;
#pragma unroll
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const T other = __shfl_up_sync(full_warp, open, static_cast<unsigned>(distance));
    if (lane - distance >= first_lane) open += other;
  }
  return open;
}

/// Joins the open sums of the lanes of a walk and passes the row sums to the epilogue.
/// \param row_sums     of all rows of the tile; the first that a lane closed lacks the parts of lanes before it
/// \param first_closed number in the tile of the first row that the lane closed \param closed whether it closed any
/// \param open         the lane's sum after the last row it closed
template <class T, class Epilogue>
__device__ inline void finish_walk(const TileSpan& tile, T* row_sums, int first_closed, bool closed, T open, int lane,
                                   Epilogue& epilogue) {
  const T carry = open_sums(open, closed, lane);
  const T before = __shfl_up_sync(full_warp, carry, 1);
  if (closed && lane > 0) row_sums[first_closed] += before;
  __syncwarp();
  for (int i = lane; i < tile.rows; i += warp_size) epilogue.store_ended(tile, i, row_sums[i]);
  if (tile.to_inside && lane == warp_size - 1) epilogue.leave_open(tile, carry);
}

/// Walks sigma path items per lane. \param products of the tile, in shared memory, followed by room for one element per
/// row; complete and visible to the warp \param word the lane's descriptor
template <int Sigma, class T, class Epilogue>
__device__ inline void sum_by_walk(const TileSpan& tile, T* products, std::uint32_t word, int lane,
                                   Epilogue& epilogue) {
  const LaneItems<std::uint32_t> items = unpack_lane(word, Sigma);
  const int left = tile.nonzeros + tile.rows - lane * Sigma;
  constexpr std::uint32_t all = (std::uint32_t{1} << Sigma) - 1;
  const std::uint32_t valid = left >= Sigma ? all : left <= 0 ? 0 : (std::uint32_t{1} << left) - 1;
  const std::uint32_t right_flags = ~items.down_flags & valid;
  const auto first_closed = static_cast<int>(items.y_offset);
  T* const row_sums = products + tile.nonzeros;
  const T* product = products + (lane * Sigma - first_closed);
  T* row_sum = row_sums + first_closed;
  T sum{0};
#pragma unroll
  for (int item = 0; item < Sigma; ++item) {
    if ((right_flags >> item & 1) != 0) sum += *product++;
    if ((items.down_flags >> item & 1) != 0) {
      *row_sum++ = sum;
      sum = T{0};
    }
  }
  finish_walk(tile, row_sums, first_closed, items.down_flags != 0, sum, lane, epilogue);
}

/// Sums a tile without a walk. \returns false for a tile that has to be walked
template <int Unroll, class Terms, class Epilogue>
__device__ inline bool sum_without_walk(const TileSpan& tile, const TileStart& start, std::uint32_t word,
                                        const Terms& terms, int lane, Epilogue& epilogue) {
  switch (start.kind()) {
    case TileKind::walk:
      return false;
    case TileKind::one_row:
      sum_one_row<Unroll>(tile, terms, lane, epilogue);
      return true;
    case TileKind::few_rows:
      sum_few_rows<Unroll>(tile, word, terms, lane, epilogue);
      return true;
    case TileKind::rows:
      break;
  }
  if (start.lanes_per_row_log2() == 0) {
    sum_row_a_lane<Unroll>(tile, word, terms, lane, epilogue);
  } else {
    sum_row_a_group<Unroll>(tile, start.lanes_per_row_log2(), word & 0xff, terms, lane, epilogue);
  }
  return true;
}

}  // namespace tessera::cuda
