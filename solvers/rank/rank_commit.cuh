/// \file
/// What becomes of the row sums of a tile in a step of PageRank: a commit policy of spmv/merbit/tile_commit.cuh that
/// writes the next scaled ranks and adds up what the next step has to know.
#pragma once

#include "core/cuda/warp.cuh"
#include "solvers/rank/rank_product.hpp"
#include "solvers/rank/scaled_rank.hpp"
#include "spmv/merbit/tile_commit.cuh"

namespace tessera::cuda {

/// The argument of kernels.
template <class T>
struct RankOutput {
  RankVectors<T> vectors;
  T* carries = nullptr;        ///< one a tile; null where no row is shared
  RankParts* parts = nullptr;  ///< one a slot
};

/// Sums over the warp, in a fixed order; every lane gets them.
[[nodiscard]] __device__ inline RankParts sum_over_lanes(const RankParts& mine) {
  RankParts sum{sum_over_lanes(mine.total), sum_over_lanes(mine.dangling), sum_over_lanes(mine.l1),
                sum_over_lanes(mine.squares), mine.largest};
  for (int distance = warp_size / 2; distance > 0; distance /= 2) {
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
/// written, the others in `carries`.
template <class T>
class RankCommit {
 public:
  using Sum = T;
  using Output = RankOutput<T>;
  [[nodiscard]] static constexpr int fewer_blocks(int width) { return width > 1 ? 1 : 0; }

  __device__ explicit RankCommit(const RankOutput<T>& out) : out_(out) {
    const RankState& state = *out.vectors.state;
    halted_ = state.halt != 0;
    const auto from = static_cast<int>(state.iteration % 2);
    source_ = from == 0 ? out.vectors.scaled[0] : out.vectors.scaled[1];
    target_ = from == 0 ? out.vectors.scaled[1] : out.vectors.scaled[0];
  }

  [[nodiscard]] __device__ bool is_idle() const { return halted_; }
  [[nodiscard]] __device__ const T* source(const T* /*x*/) const { return source_; }

  /// A row that lies in one tile, or whose parts have been added.
  __device__ void store(index_t row, T sum) {
    const index_t degree = __ldcs(out_.vectors.degrees + row);
    const T v = out_.vectors.teleport != nullptr ? __ldcs(out_.vectors.teleport + row) : T{0};
    target_[row] = scaled_rank_step(load_weights(out_.vectors.state), sum, v, degree, __ldg(source_ + row), parts_);
  }

  /// Row number `i` of the tile, which ends there.
  __device__ void store_ended(const TileSpan& tile, int i, T sum) {
    if (i > 0 || !tile.from_inside) {
      store(tile.row + i, sum);
    } else {
      target_[tile.row] = sum;
    }
  }

  /// What the tile holds of the row inside which it ends. One lane.
  __device__ void leave_open(const TileSpan& tile, T sum) { out_.carries[tile.tile] = sum; }

  /// What the tile that ended a shared row found of it.
  [[nodiscard]] __device__ T ended(index_t row) const { return target_[row]; }

  [[nodiscard]] __device__ const RankParts& parts() const { return parts_; }

  /// The warp's share of the sums. All lanes. \param slot of the warp, in out.parts
  __device__ void write_sums(std::int64_t slot, int lane) {
    const RankParts sum = sum_over_lanes(parts_);
    if (lane == 0) out_.parts[slot] = sum;
  }

 private:
  RankOutput<T> out_;
  const T* source_;
  T* target_;
  bool halted_;
  RankParts parts_;
};

}  // namespace tessera::cuda
