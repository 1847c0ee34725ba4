/// \file
/// PageRank's iteration by row patterns: the rank of a vertex is updated where its row sum is stored. Rows of a pattern
/// matrix on a list are summed from the table of lists alone; rows on no list by warps of the first blocks, from CSR.
#pragma once

#include "spmv/merbit/merbit_tile_sum.cuh"
#include "spmv/merbit/rank_epilogue.cuh"
#include "spmv/patterns/patterns_kernel.cuh"

#include <cstdint>

namespace tessera::cuda {

/// The matrix besides its lists, for exceptions.
struct PatternRankLinks {
  const offset_t* row_offsets = nullptr;
  const index_t* columns = nullptr;
};

inline constexpr int pattern_rank_warps = pattern_threads / warp_size;
/// Gathers of a lane in flight where it takes one row at a time.
inline constexpr int pattern_rank_unroll = 4;

/// The exception of this warp, or none: -1.
[[nodiscard]] __device__ inline index_t exception_of_warp(const PatternRows& p) {
  const unsigned number = blockIdx.x * pattern_rank_warps + threadIdx.x / warp_size;
  return number < p.exception_count ? p.exceptions[number] : -1;
}

/// Sum of a row on no list over every groups-th link from `group` on. \param source at the vector of the lane
template <int K, class T>
[[nodiscard]] __device__ T part_of_exception(const PatternRankLinks& links, index_t row, const T* source, int group) {
  const offset_t begin = links.row_offsets[row];
  const auto count = static_cast<int>(links.row_offsets[row + 1] - begin);
  const index_t* const columns = links.columns + begin;
  const auto terms = [columns, source](int k) { return __ldg(source + std::int64_t{__ldg(columns + k)} * K); };
  return sum_strided<pattern_rank_unroll, T>(terms, group, count, warp_size / K);
}

/// The sums of the rows of a lane, as in multiply_slice().
template <class Chunk, class T>
__device__ void sum_pattern_rows(const PatternRows& p, const index_t* table, const T* source,
                                 const RowsOfLane<Chunk::rows>& own, T (&sums)[Chunk::rows]) {
  constexpr int C = Chunk::terms;
  NoValues::OfSlice<Chunk::rows> none;
  if constexpr (!Chunk::loop) {
    add_chunk<NoValues, C, false>(0, p.width, table, source, own, none, sums);
  } else {
#pragma unroll 1
    for (int k0 = 0; k0 < p.width && any_beyond(k0, own); k0 += C) {
      add_chunk<NoValues, C, false>(k0, p.width, table, source, own, none, sums);
    }
  }
}

/// One vector: a thread per row of a slice, several rows per thread.
template <class Chunk, class T>
__global__ void __launch_bounds__(pattern_threads, pattern_min_blocks_without_values)
    pattern_ranks_kernel(PatternRows p, PatternRankLinks links, RankOutput<T> out) {
  constexpr int R = Chunk::rows;
  RankEpilogue<T> epilogue(out);
  if (epilogue.is_idle()) return;
  const T* const source = epilogue.source(nullptr);
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  if (blockIdx.x < p.exception_blocks) {
    const index_t row = exception_of_warp(p);
    if (row >= 0) {
      const T sum = sum_over_lanes(part_of_exception<1>(links, row, source, lane));
      if (lane == 0) epilogue.store(row, sum);
    }
  } else {
    auto* const table = reinterpret_cast<index_t*>(dynamic_shared_memory());
    const unsigned slice = (blockIdx.x - p.exception_blocks) * pattern_rank_warps + threadIdx.x / warp_size;
    RowsOfLane<R> own;
    if (slice < p.slices) load_codes(p, slice, own.code);
    for (int i = static_cast<int>(threadIdx.x); i < p.places(); i += pattern_threads) table[i] = __ldg(p.table + i);
    __syncthreads();
    if (slice < p.slices) {
      look_up<R>(p, table, slice, own);
      const index_t first = own.first - lane;
      const index_t rows = p.rows - first;
      epilogue.expect({.row = first, .rows = rows < R * warp_size ? rows : R * warp_size}, lane);
      T sums[R] = {};
      sum_pattern_rows<Chunk>(p, table, source, own, sums);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        if (own.code[r] != p.lists) epilogue.store(own.first + r * warp_size, sums[r]);
      }
    }
  }
  epilogue.template write_sums_of_block<pattern_rank_warps>(blockIdx.x, lane);
}

/// The rows of a slice for K vectors: K lanes share a row, each for its own vector.
template <int R, int K, class T>
__device__ void rank_slice(const PatternRows& p, const index_t* table, unsigned slice, const T* source, int lane,
                           RankEpilogue<T, K>& epilogue) {
  constexpr int groups = warp_size / K;
  const std::uint8_t* const codes = p.codes + std::size_t{slice} * (warp_size * R);
  for (int local = lane / K; local < warp_size * R; local += groups) {
    const int code = __ldg(codes + local % warp_size * R + local / warp_size);
    if (code == p.lists) continue;
    const auto row = static_cast<index_t>(slice * (warp_size * R) + static_cast<unsigned>(local));
    const index_t* const list = table + code * p.stride();
    const T* const from = source + std::int64_t{row} * K;
    const auto terms = [list, from](int k) { return __ldg(from + std::int64_t{list[1 + k]} * K); };
    epilogue.store(row, sum_strided<pattern_rank_unroll, T>(terms, 0, list[0], 1));
  }
}

/// K vectors, interleaved.
template <int R, int K, class T>
__global__ void __launch_bounds__(pattern_threads, pattern_min_blocks_without_values)
    pattern_multi_ranks_kernel(PatternRows p, PatternRankLinks links, RankOutput<T> out) {
  const int lane = static_cast<int>(threadIdx.x % warp_size);
  RankEpilogue<T, K> epilogue(out, lane % K);
  const bool is_idle = epilogue.is_idle();
  // The same for all warps: lanes of each hold every vector.
  if (__ballot_sync(full_warp, !is_idle) == 0) return;
  const T* const source = epilogue.source(nullptr) + lane % K;
  if (blockIdx.x < p.exception_blocks) {
    const index_t row = exception_of_warp(p);
    if (row >= 0) {
      const T sum = sum_over_vector<K>(is_idle ? T{0} : part_of_exception<K>(links, row, source, lane / K));
      if (lane < K && !is_idle) epilogue.store(row, sum);
    }
  } else {
    auto* const table = reinterpret_cast<index_t*>(dynamic_shared_memory());
    for (int i = static_cast<int>(threadIdx.x); i < p.places(); i += pattern_threads) table[i] = __ldg(p.table + i);
    __syncthreads();
    const unsigned slice = (blockIdx.x - p.exception_blocks) * pattern_rank_warps + threadIdx.x / warp_size;
    if (slice < p.slices && !is_idle) rank_slice<R>(p, table, slice, source, lane, epilogue);
    __syncwarp();
  }
  epilogue.write_sums(std::int64_t{blockIdx.x} * pattern_rank_warps + threadIdx.x / warp_size, lane);
}

}  // namespace tessera::cuda
