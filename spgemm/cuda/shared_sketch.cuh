/// \file
/// Sketches of sampled rows of C (HyperLogLog): the columns of the products of a row, put into the registers of the
/// blocks that share it, and the entries estimated from them.
#pragma once

#include "core/cuda/warp.cuh"
#include "spgemm/common/factors.hpp"
#include "spgemm/common/prediction.hpp"

#include <cstdint>

namespace tessera::cuda {

inline constexpr int sketch_threads = 256;
inline constexpr int sketch_warps = sketch_threads / warp_size;
/// Rows of B with more entries are put into a sketch by all threads of a block, and by all blocks that share it.
inline constexpr offset_t long_b_row = 512;

/// A sampled row, or a part of one that blocks share.
struct SketchedRow {
  index_t row;
  std::int32_t slot;  ///< of the shared sketch; -1: the row is not shared
  std::uint32_t part;
  std::uint32_t parts;
};

/// The sketch of a row that blocks share.
struct SharedSketch {
  std::uint32_t registers[sample_registers];
  unsigned long long products;
  unsigned done;  ///< blocks that are
  unsigned unused;
};

inline __device__ void insert_column(unsigned* registers, index_t column) {
  const SketchMark mark = sketch_mark<sample_registers>(sketch_hash(static_cast<std::uint32_t>(column)));
  if (registers[mark.slot] < mark.rank) atomicMax(&registers[mark.slot], static_cast<unsigned>(mark.rank));
}

/// The entries of A of a sampled row, and those of its part.
struct SampledEntries {
  offset_t begin;
  offset_t end;
  offset_t first;
  offset_t last;
};

inline __device__ SampledEntries entries_of(const Factors<NoValue>& factors, const SketchedRow& item) {
  const offset_t begin = factors.a_offsets[item.row];
  const offset_t length = factors.a_offsets[item.row + 1] - begin;
  return {begin, begin + length, begin + length * item.part / item.parts,
          begin + length * (item.part + 1) / item.parts};
}

/// Short rows of B that the part of a row names: a warp per row of B. \returns their products, in every lane of a warp
/// those of its rows
inline __device__ unsigned long long insert_short_rows(const Factors<NoValue>& factors, const SampledEntries& of,
                                                       unsigned* registers) {
  const unsigned lane = threadIdx.x % warp_size;
  unsigned long long products = 0;
#pragma unroll 2
  for (offset_t k = of.first + threadIdx.x / warp_size; k < of.last; k += sketch_warps) {
    const index_t b_row = factors.a_columns[k];
    const offset_t begin = factors.b_offsets[b_row];
    const offset_t end = factors.b_offsets[b_row + 1];
    if (end - begin > long_b_row) continue;
    products += static_cast<unsigned long long>(end - begin);
#pragma unroll 4
    for (offset_t l = begin + lane; l < end; l += warp_size) insert_column(registers, factors.b_columns[l]);
  }
  return products;
}

/// Long rows of B that any entry of the row names, of which every part takes its share. Every thread must call.
/// \returns their products, in every thread of part 0
inline __device__ unsigned long long insert_long_rows(const Factors<NoValue>& factors, const SketchedRow& item,
                                                      const SampledEntries& of, unsigned* registers) {
  __shared__ index_t long_rows[sketch_threads];
  __shared__ int count;
  unsigned long long products = 0;
  for (offset_t tile = of.begin; tile < of.end; tile += sketch_threads) {
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const offset_t k = tile + threadIdx.x;
    const index_t named = k < of.end ? factors.a_columns[k] : 0;
    const bool is_long = k < of.end && factors.b_offsets[named + 1] - factors.b_offsets[named] > long_b_row;
    if (is_long) long_rows[atomicAdd(&count, 1)] = named;
    __syncthreads();
    for (int i = 0; i < count; ++i) {
      const offset_t begin = factors.b_offsets[long_rows[i]];
      const offset_t end = factors.b_offsets[long_rows[i] + 1];
      products += static_cast<unsigned long long>(end - begin);
#pragma unroll 4
      for (offset_t l = begin + item.part * sketch_threads + threadIdx.x; l < end;
           l += offset_t{sketch_threads} * item.parts) {
        insert_column(registers, factors.b_columns[l]);
      }
    }
    __syncthreads();
  }
  return item.part == 0 ? products : 0;
}

/// Puts the products of a sampled row, or of its part, into the registers of the block. Every thread must call.
/// \returns products, in thread 0
inline __device__ unsigned long long insert_products(const Factors<NoValue>& factors, const SketchedRow& item,
                                                     unsigned* registers, unsigned long long* of_warp) {
  const SampledEntries of = entries_of(factors, item);
  const unsigned long long of_short = insert_short_rows(factors, of, registers);
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = of_short;
  unsigned long long products = insert_long_rows(factors, item, of, registers);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 0; w < sketch_warps; ++w) products += of_warp[w];
  }
  return products;
}

/// Joins the registers of a block with those of the others that share a row. \returns whether this block is the last
/// one; then `registers` and `products` are those of the row. Every thread must call.
inline __device__ bool join_parts(SharedSketch& shared, unsigned parts, unsigned* registers,
                                  unsigned long long& products, unsigned* is_last) {
  for (int r = static_cast<int>(threadIdx.x); r < sample_registers; r += sketch_threads) {
    if (registers[r] != 0) atomicMax(&shared.registers[r], registers[r]);
  }
  if (threadIdx.x == 0) atomicAdd(&shared.products, products);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *is_last = atomicAdd(&shared.done, 1u) == parts - 1 ? 1 : 0;
  __syncthreads();
  if (*is_last == 0) return false;
  __threadfence();
  for (int r = static_cast<int>(threadIdx.x); r < sample_registers; r += sketch_threads) {
    registers[r] = __ldcg(&shared.registers[r]);
  }
  if (threadIdx.x == 0) products = atomicAdd(&shared.products, 0ull);
  __syncthreads();
  return true;
}

/// Adds a row to the sums of its stratum, in shared memory. Every thread must call; a group of registers per warp.
inline __device__ void estimate_sampled_row(const unsigned* registers, unsigned long long products, int s,
                                            StratumSums* sums, SketchSums* of_group) {
  static_assert(sample_groups == sketch_warps && group_registers % warp_size == 0);
  const unsigned lane = threadIdx.x % warp_size;
  const unsigned warp = threadIdx.x / warp_size;
  SketchSums part;
  for (unsigned r = lane; r < group_registers; r += warp_size) part.add(registers[warp * group_registers + r]);
  part.powers = sum_over_lanes(static_cast<unsigned long long>(part.powers));
  part.empty = sum_over_lanes(part.empty);
  if (lane == 0) {
    of_group[warp] = part;
    sums[s].groups[warp] += scaled_to_stratum(corrected_estimate<group_registers>(part), s);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    SketchSums all;
    for (int g = 0; g < sample_groups; ++g) {
      all.powers += of_group[g].powers;
      all.empty += of_group[g].empty;
    }
    const std::uint64_t p = scaled_to_stratum(static_cast<double>(products), s);
    const std::uint64_t estimate = scaled_to_stratum(corrected_estimate<sample_registers>(all), s);
    const std::uint64_t e = estimate < p ? estimate : p;
    StratumSums& to = sums[s];
    ++to.rows;
    to.products += p;
    to.entries += e;
    to.products_squared += p * p;
    to.products_entries += p * e;
    to.entries_squared += e * e;
  }
}

}  // namespace tessera::cuda
