/// \file
/// PageRank's epilogue of the MERBIT kernels: each row sum becomes the next scaled rank of its vertex, and the sums
/// that the next iteration needs are formed on the way. Has the interface of ProductEpilogue
/// (spmv/merbit/merbit_epilogue.cuh).
#pragma once

#include "core/cuda/warp.cuh"
#include "spmv/common/rank_product.hpp"
#include "spmv/merbit/merbit_epilogue.cuh"

namespace tessera::cuda {

/// Prefetches the cache lines of `count` elements, the line of the last one too. All lanes must call.
template <class Element>
__device__ void prefetch(const Element* from, int count, int lane) {
  constexpr int per_line = 128 / static_cast<int>(sizeof(Element));
  if (count == 0) return;
  for (int k = lane * per_line; k < count + per_line - 1; k += warp_size * per_line) {
    const Element* const element = from + (k < count ? k : count - 1);
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" : : "l"(element));
#else
    static_cast<void>(*element);
#endif
  }
}

/// Partial sums of one warp or block: total, dangling, l1, and with the norm l2 the squares, as in RankParts.
struct alignas(16) RankPart {
  double sum[4];
};

/// Kernel argument.
template <class T>
struct RankOutput {
  detail::RankVectors<T> vectors;
  T* carries = nullptr;       ///< one per tile, vector after vector; null where no row is shared
  RankPart* parts = nullptr;  ///< one per warp or block, vector after vector
  double* largest = nullptr;  ///< one per warp or block, vector after vector; norm linf only
  std::int64_t tiles = 0;
  std::int64_t part_count = 0;
  RankNorm norm = RankNorm::l1;  ///< of the change; l1 is always summed
  bool self_weighted = false;    ///< dangling vertices keep a share of their rank
};

/// Sum over the lanes of one vector (lane i works for vector i % K), in a fixed order. Every lane gets it.
template <int K, class V>
[[nodiscard]] __device__ V sum_over_vector(V value) {
  for (int distance = warp_size / 2; distance >= K; distance /= 2) {
    value += __shfl_xor_sync(full_warp, value, distance);
  }
  return value;
}

template <int K>
[[nodiscard]] __device__ inline double largest_over_vector(double value) {
  for (int distance = warp_size / 2; distance >= K; distance /= 2) {
    const double other = __shfl_xor_sync(full_warp, value, distance);
    value = other <= value ? value : other;
  }
  return value;
}

/// Sums four numbers per lane over the warp, in a fixed order: lanes 0, 8, 16 and 24 get the first, second, third and
/// fourth sum. Each half of the warp continues with two of them, each quarter with one: six shuffles instead of twenty.
[[nodiscard]] __device__ inline double transposed_sum(const double (&mine)[4], int lane) {
  const bool upper_half = (lane & 16) != 0;
  const bool upper_quarter = (lane & 8) != 0;
  double pair[2];
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const double kept = upper_half ? mine[k + 2] : mine[k];
    const double given = upper_half ? mine[k] : mine[k + 2];
    pair[k] = kept + __shfl_xor_sync(full_warp, given, 16);
  }
  const double given = upper_quarter ? pair[0] : pair[1];
  double sum = (upper_quarter ? pair[1] : pair[0]) + __shfl_xor_sync(full_warp, given, 8);
#pragma unroll
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(full_warp, sum, distance);
  return sum;
}

/// A row shared by several tiles is completed by rank_join_kernel: the tile that ends it writes its part to the output
/// vector, the others write theirs to `carries`. \tparam K vectors; a thread works for one of them
template <class T, int K = 1>
class RankEpilogue {
 public:
  using Sum = T;
  using Output = RankOutput<T>;
  [[nodiscard]] static constexpr int fewer_blocks(int width) { return width > 1 ? 1 : 0; }

  __device__ explicit RankEpilogue(const RankOutput<T>& out, int vector = 0) : out_(out), vector_(vector) {
    const detail::RankState& state = out.vectors.state[vector_of_thread()];
    halted_ = state.halt != 0;
    const auto from = static_cast<int>(state.iteration % 2);
    source_ = from == 0 ? out.vectors.scaled[0] : out.vectors.scaled[1];
    target_ = from == 0 ? out.vectors.scaled[1] : out.vectors.scaled[0];
  }

  [[nodiscard]] __device__ bool is_idle() const { return halted_; }
  [[nodiscard]] __device__ const T* source(const T* /*x*/) const { return source_; }

  /// Prefetches the degrees and the old ranks of the tile's rows: their latency would show at the end of the tile.
  __device__ void expect(const TileSpan& tile, int lane) const {
    prefetch(out_.vectors.degrees + tile.row, tile.rows, lane);
    if constexpr (K == 1) prefetch(source_ + tile.row, tile.rows, lane);
  }

  /// A row with its whole sum.
  __device__ void store(index_t row, T sum) {
    const index_t degree = __ldcs(out_.vectors.degrees + row);
    const auto i = element(row);
    const T old = __ldg(source_ + i);
    // Read again for every row, from the L1 cache: that saves registers.
    const detail::RankWeights* const weights = &out_.vectors.state[vector_of_thread()].weights;
    const double2 links_and_constant = __ldg(reinterpret_cast<const double2*>(weights));
    double base = links_and_constant.y;
    if (out_.vectors.teleport != nullptr) {
      base += __ldg(&weights->teleport) * static_cast<double>(__ldcs(out_.vectors.teleport + i));
    }
    if (out_.self_weighted) {
      // Loaded for every degree: a load that depends on the degree would lengthen the chain of loads.
      const double self = __ldg(&weights->self) * static_cast<double>(old);
      base += degree == 0 ? self : 0.0;
    }
    target_[i] = detail::update_scaled_rank(links_and_constant.x, base, sum, old, detail::rank_divisor(degree),
                                            degree == 0, out_.norm, parts_);
  }

  /// Row number `i` of the tile, which ends there.
  __device__ void store_ended(const TileSpan& tile, int i, T sum) {
    if (i > 0 || !tile.from_inside) {
      store(tile.row + i, sum);
    } else {
      target_[element(tile.row)] = sum;
    }
  }

  /// Part of the row that goes on in the next tile. One lane.
  __device__ void leave_open(const TileSpan& tile, T sum) { carries()[tile.tile] = sum; }

  /// Part of a shared row by the tile that ends it.
  [[nodiscard]] __device__ T ended(index_t row) const { return target_[element(row)]; }

  /// Of the thread's vector.
  [[nodiscard]] __device__ T* carries() const { return out_.carries + vector_of_thread() * out_.tiles; }
  /// Partial sums that were written. \param part of a warp or a block
  [[nodiscard]] __device__ detail::RankSums sums_of(std::int64_t part) const {
    const RankPart of = out_.parts[place(part)];
    const double squares = out_.norm == RankNorm::l2 ? of.sum[3] : 0.0;
    const double largest = out_.norm == RankNorm::linf ? out_.largest[place(part)] : 0.0;
    return {{of.sum[0], 0.0}, {of.sum[1], 0.0}, of.sum[2], squares, {largest}};
  }

  [[nodiscard]] __device__ detail::RankSums sums() const { return parts_.sums(out_.norm); }

  /// Writes the partial sums of the warp. All lanes, lane i for vector i % K. \param part of the warp
  __device__ void write_sums(std::int64_t part, int lane) {
    if constexpr (K == 1) {
      const double sum = transposed_sum({parts_.total, parts_.dangling, parts_.l1, parts_.other}, lane);
      if (lane % 8 == 0) out_.parts[part].sum[lane / 8] = sum;
    } else {
      const RankPart sums{{sum_over_vector<K>(parts_.total), sum_over_vector<K>(parts_.dangling),
                           sum_over_vector<K>(parts_.l1), sum_over_vector<K>(parts_.other)}};
      if (lane < K) out_.parts[place(part)] = sums;
    }
    if (out_.norm != RankNorm::linf) return;
    const double largest = largest_over_vector<K>(parts_.other);
    if (lane < K) out_.largest[place(part)] = largest;
  }

  /// Writes the partial sums of a block that works for one vector, added in the order of warps. All threads.
  /// \param part of the block
  template <int Warps>
  __device__ void write_sums_of_block(std::int64_t part, int lane) {
    static_assert(K == 1);
    __shared__ double of_warp[Warps][5];
    double* const mine = of_warp[threadIdx.x / warp_size];
    const double sum = transposed_sum({parts_.total, parts_.dangling, parts_.l1, parts_.other}, lane);
    if (lane % 8 == 0) mine[lane / 8] = sum;
    if (out_.norm == RankNorm::linf) {
      const double largest = largest_over_vector<1>(parts_.other);
      if (lane == 0) mine[4] = largest;
    }
    __syncthreads();
    if (threadIdx.x < 4) {
      double total = 0.0;
      for (const auto& warp : of_warp) total += warp[threadIdx.x];
      out_.parts[part].sum[threadIdx.x] = total;
    }
    if (out_.norm != RankNorm::linf || threadIdx.x != 0) return;
    double largest = 0.0;
    for (const auto& warp : of_warp) largest = warp[4] <= largest ? largest : warp[4];
    out_.largest[part] = largest;
  }

 private:
  [[nodiscard]] __device__ int vector_of_thread() const { return K == 1 ? 0 : vector_; }
  [[nodiscard]] __device__ std::int64_t place(std::int64_t part) const {
    return vector_of_thread() * out_.part_count + part;
  }
  [[nodiscard]] __device__ auto element(index_t row) const {
    if constexpr (K == 1) {
      return row;
    } else {
      return std::int64_t{row} * K + vector_;
    }
  }

  RankOutput<T> out_;
  int vector_;
  const T* source_;
  T* target_;
  bool halted_;
  detail::RankParts parts_;
};

}  // namespace tessera::cuda
