/// \file
/// What becomes of the row sums of a tile in a step of PageRank: a commit policy of spmv/merbit/tile_commit.cuh that
/// writes the next scaled ranks and adds up what the next step has to know.
#pragma once

#include "core/cuda/warp.cuh"
#include "solvers/rank/rank_product.hpp"
#include "solvers/rank/scaled_rank.hpp"
#include "spmv/merbit/tile_commit.cuh"

namespace tessera::cuda {

/// Asks for the cache lines of some elements. All lanes.
template <class Element>
__device__ void prefetch(const Element* from, int count, int lane) {
  constexpr int per_line = 128 / static_cast<int>(sizeof(Element));
  for (int k = lane * per_line; k < count; k += warp_size * per_line) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" : : "l"(from + k));
#else
    static_cast<void>(from[k]);
#endif
  }
}

/// The argument of kernels.
template <class T>
struct RankOutput {
  RankVectors<T> vectors;
  T* carries = nullptr;        ///< one a tile, vector after vector; null where no row is shared
  RankParts* parts = nullptr;  ///< one a slot, vector after vector
  std::int64_t tiles = 0;
  std::int64_t slots = 0;
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
[[nodiscard]] __device__ RankParts sum_over_vector(const RankParts& mine) {
  RankParts sum{sum_over_vector<K>(mine.total), sum_over_vector<K>(mine.dangling), sum_over_vector<K>(mine.l1),
                sum_over_vector<K>(mine.squares), mine.largest};
  for (int distance = warp_size / 2; distance >= K; distance /= 2) {
    const double other = __shfl_xor_sync(full_warp, sum.largest, distance);
    sum.largest = other <= sum.largest ? sum.largest : other;
  }
  return sum;
}

/// Read again for every row, from the first cache level: eight registers less for every thread.
[[nodiscard]] __device__ inline passes::RankWeights load_weights(const RankState* state) {
  const passes::RankWeights& from = state->weights;
  return {__ldg(&from.links), __ldg(&from.teleport), __ldg(&from.constant), __ldg(&from.self)};
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
    const T v = out_.vectors.teleport != nullptr ? __ldcs(out_.vectors.teleport + i) : T{0};
    const passes::RankWeights weights = load_weights(out_.vectors.state + vector_of_thread());
    target_[i] = scaled_rank_step(weights, sum, v, degree, __ldg(source_ + i), parts_);
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
  [[nodiscard]] __device__ RankParts* slots() const { return out_.parts + vector_of_thread() * out_.slots; }

  [[nodiscard]] __device__ const RankParts& parts() const { return parts_; }

  /// The warp's share of the sums. All lanes, lane i for vector i % K. \param slot of the warp
  __device__ void write_sums(std::int64_t slot, int lane) {
    const RankParts sum = sum_over_vector<K>(parts_);
    if (lane < K) slots()[slot] = sum;
  }

 private:
  [[nodiscard]] __device__ int vector_of_thread() const { return K == 1 ? 0 : vector_; }
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
