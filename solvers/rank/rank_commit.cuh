/// \file
/// What becomes of the row sums of a tile in a step of PageRank: a commit policy of spmv/merbit/tile_commit.cuh that
/// writes the next scaled ranks and adds up what the next step has to know.
#pragma once

#include "core/cuda/warp.cuh"
#include "solvers/rank/rank_product.hpp"
#include "solvers/rank/scaled_rank.hpp"
#include "spmv/merbit/tile_commit.cuh"

namespace tessera::cuda {

/// Asks for the cache lines of some elements, that of the last one too, which need not begin in any of the others. All
/// lanes.
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

/// What a warp or a block adds to the sums of a step, but for the largest change: total, dangling, l1, and with the
/// norm l2 the squares, as in RankParts.
struct alignas(16) RankSlot {
  double sum[4];
};

/// The argument of kernels.
template <class T>
struct RankOutput {
  RankVectors<T> vectors;
  T* carries = nullptr;       ///< one a tile, vector after vector; null where no row is shared
  RankSlot* parts = nullptr;  ///< one a slot, vector after vector
  double* largest = nullptr;  ///< the same, used with the norm linf alone
  std::int64_t tiles = 0;
  std::int64_t slots = 0;
  RankNorm norm = RankNorm::l1;  ///< in which the change is wanted, besides l1
  bool self_weighted = false;    ///< dangling vertices keep a share of their rank
};

/// Sum over the lanes whose numbers differ from this one's by a multiple of K, in a fixed order; every lane gets it.
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

/// Of four numbers a lane: lanes 0, 8, 16 and 24 get the sums of the first, second, third and fourth over the warp, in
/// a fixed order. Each half of the warp goes on with two of them, each quarter with one: six exchanges instead of
/// twenty.
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

/// Tiles that share a row leave their parts of it for rank_join_kernel: the one in which it ends in the vector that is
/// written, the others in `carries`. \tparam K vectors; a thread works for one of them
template <class T, int K = 1>
class RankCommit {
 public:
  using Sum = T;
  using Output = RankOutput<T>;
  [[nodiscard]] static constexpr int fewer_blocks(int width) { return width > 1 ? 1 : 0; }

  __device__ explicit RankCommit(const RankOutput<T>& out, int vector = 0) : out_(out), vector_(vector) {
    const RankState& state = out.vectors.state[vector_of_thread()];
    halted_ = state.halt != 0;
    const auto from = static_cast<int>(state.iteration % 2);
    source_ = from == 0 ? out.vectors.scaled[0] : out.vectors.scaled[1];
    target_ = from == 0 ? out.vectors.scaled[1] : out.vectors.scaled[0];
  }

  [[nodiscard]] __device__ bool is_idle() const { return halted_; }
  [[nodiscard]] __device__ const T* source(const T* /*x*/) const { return source_; }

  /// Asks for the degrees and the old ranks of the tile's rows, which would be waited for at its end.
  __device__ void expect(const TileSpan& tile, int lane) const {
    prefetch(out_.vectors.degrees + tile.row, tile.rows, lane);
    if constexpr (K == 1) prefetch(source_ + tile.row, tile.rows, lane);
  }

  /// A row that lies in one tile, or whose parts have been added.
  __device__ void store(index_t row, T sum) {
    const index_t degree = __ldcs(out_.vectors.degrees + row);
    const auto i = element(row);
    const T old = __ldg(source_ + i);
    // Read again for every row, from the first cache level: that leaves registers to every thread.
    const passes::RankWeights* const weights = &out_.vectors.state[vector_of_thread()].weights;
    const double2 links_and_constant = __ldg(reinterpret_cast<const double2*>(weights));
    double base = links_and_constant.y;
    if (out_.vectors.teleport != nullptr) {
      base += __ldg(&weights->teleport) * static_cast<double>(__ldcs(out_.vectors.teleport + i));
    }
    if (out_.self_weighted) {
      // Not only where the degree is 0, which would end the chain of loads with one more.
      const double self = __ldg(&weights->self) * static_cast<double>(old);
      base += degree == 0 ? self : 0.0;
    }
    target_[i] =
        scaled_rank_step(links_and_constant.x, base, sum, old, rank_divisor(degree), degree == 0, out_.norm, parts_);
  }

  /// Row number `i` of the tile, which ends there.
  __device__ void store_ended(const TileSpan& tile, int i, T sum) {
    if (i > 0 || !tile.from_inside) {
      store(tile.row + i, sum);
    } else {
      target_[element(tile.row)] = sum;
    }
  }

  /// What the tile holds of the row inside which it ends. One lane.
  __device__ void leave_open(const TileSpan& tile, T sum) { carries()[tile.tile] = sum; }

  /// What the tile that ended a shared row found of it.
  [[nodiscard]] __device__ T ended(index_t row) const { return target_[element(row)]; }

  /// Of the thread's vector.
  [[nodiscard]] __device__ T* carries() const { return out_.carries + vector_of_thread() * out_.tiles; }
  /// What was written. \param slot of a warp or a block
  [[nodiscard]] __device__ passes::RankSums sums_of(std::int64_t slot) const {
    const RankSlot of = out_.parts[place(slot)];
    const double squares = out_.norm == RankNorm::l2 ? of.sum[3] : 0.0;
    const double largest = out_.norm == RankNorm::linf ? out_.largest[place(slot)] : 0.0;
    return {{of.sum[0], 0.0}, {of.sum[1], 0.0}, of.sum[2], squares, {largest}};
  }

  [[nodiscard]] __device__ passes::RankSums sums() const { return parts_.sums(out_.norm); }

  /// The warp's share of the sums. All lanes, lane i for vector i % K. \param slot of the warp
  __device__ void write_sums(std::int64_t slot, int lane) {
    if constexpr (K == 1) {
      const double sum = transposed_sum({parts_.total, parts_.dangling, parts_.l1, parts_.other}, lane);
      if (lane % 8 == 0) out_.parts[slot].sum[lane / 8] = sum;
    } else {
      const RankSlot sums{{sum_over_vector<K>(parts_.total), sum_over_vector<K>(parts_.dangling),
                           sum_over_vector<K>(parts_.l1), sum_over_vector<K>(parts_.other)}};
      if (lane < K) out_.parts[place(slot)] = sums;
    }
    if (out_.norm != RankNorm::linf) return;
    const double largest = largest_over_vector<K>(parts_.other);
    if (lane < K) out_.largest[place(slot)] = largest;
  }

  /// The share of a block that works for one vector, warp after warp. All threads. \param slot of the block
  template <int Warps>
  __device__ void write_sums_of_block(std::int64_t slot, int lane) {
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
      out_.parts[slot].sum[threadIdx.x] = total;
    }
    if (out_.norm != RankNorm::linf || threadIdx.x != 0) return;
    double largest = 0.0;
    for (const auto& warp : of_warp) largest = warp[4] <= largest ? largest : warp[4];
    out_.largest[slot] = largest;
  }

 private:
  [[nodiscard]] __device__ int vector_of_thread() const { return K == 1 ? 0 : vector_; }
  [[nodiscard]] __device__ std::int64_t place(std::int64_t slot) const {
    return vector_of_thread() * out_.slots + slot;
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
  RankParts parts_;
};

}  // namespace tessera::cuda
