/// \file
/// Tuning of MERBIT on GPUs: sizes of each layout, and which layout suits a matrix. Everything here is plain host code.
#pragma once

#include "spmv/merbit/gather_sample.hpp"
#include "spmv/merbit/product_cuda.hpp"

namespace tessera::cuda {

/// Sizes of the layouts `scalar` and `vector`. A type, since nvcc takes no values of classes as arguments of kernels.
/// \tparam Sigma     odd: walks are free of bank conflicts
/// \tparam Width     nonzeros of a load: 1 or 4
/// \tparam Batch     loads of a lane that are in flight together
/// \tparam Threads   a block; a block waits for its slowest warp
/// \tparam MinBlocks a multiprocessor: bounds the registers
/// \tparam TilesPerWarp which a warp sums one after the other
template <int Sigma, int Width, int Batch, int Threads, int MinBlocks, int TilesPerWarp = 8>
struct DirectPolicy {
  static constexpr int sigma = Sigma;
  static constexpr int width = Width;
  static constexpr int batch = Batch;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr int tiles_per_warp = TilesPerWarp;
};

/// Sizes of the layouts `pipelined`, `staged` and `rows`.
/// \tparam Sigma     of walks; 0 where tiles are never walked
/// \tparam Unroll    terms of a row that are in flight together
/// \tparam Staged    whether products are put side by side before rows are summed
/// \tparam Steps     of the longest tile
template <int Sigma, int Unroll, int Threads, int MinBlocks, bool Staged = false, int Steps = lanes_per_tile* Sigma>
struct PipelinePolicy {
  static constexpr int sigma = Sigma;
  static constexpr int unroll = Unroll;
  static constexpr int threads = Threads;
  static constexpr int min_blocks = MinBlocks;
  static constexpr bool staged = Staged;
  static constexpr int steps = Steps;
};

/// Products read back from shared memory at a time.
inline constexpr int staged_unroll = 4;

/// The registers that a lane needs grow with Batch and the size of T; MinBlocks is chosen to leave them and no more.
/// Sigma as the prototypes measured it on one H200 (bench/NOTES.md).
template <class T, class V>
struct MerbitCudaPolicy;

template <>
struct MerbitCudaPolicy<float, float> {
  using Scalar = DirectPolicy<13, 1, 7, 128, 12>;
  using Vector = DirectPolicy<15, 4, 4, 128, 8>;
  using Pipelined = PipelinePolicy<11, 6, 256, 4>;
};
template <>
struct MerbitCudaPolicy<float, Ones> {
  using Scalar = DirectPolicy<17, 1, 9, 128, 12>;
  using Vector = DirectPolicy<15, 4, 4, 128, 8>;
  using Pipelined = PipelinePolicy<11, 6, 256, 4>;
};
template <>
struct MerbitCudaPolicy<double, double> {
  using Scalar = DirectPolicy<13, 1, 7, 128, 8>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8>;
  using Pipelined = PipelinePolicy<11, 6, 256, 3>;
};
template <>
struct MerbitCudaPolicy<double, float> {
  using Scalar = DirectPolicy<13, 1, 7, 128, 8>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8>;
  using Pipelined = PipelinePolicy<11, 6, 256, 3>;
};
template <>
struct MerbitCudaPolicy<double, Ones> {
  using Scalar = DirectPolicy<17, 1, 9, 128, 8>;
  using Vector = DirectPolicy<15, 4, 2, 128, 8>;
  using Pipelined = PipelinePolicy<11, 6, 256, 3>;
};

/// Default sigma of `exact`, by descriptor width.
inline constexpr int exact_sigma_32 = 15;
inline constexpr int exact_sigma_64 = 15;

/// Rows of up to so many nonzeros on average are kept whole, by tiles that begin up to this many steps earlier.
inline constexpr int short_snap = 16;
inline constexpr int long_snap = 32;

[[nodiscard]] inline int choose_snap(index_t rows, offset_t nnz) noexcept {
  const offset_t mean = rows > 0 ? nnz / rows : 0;
  return mean >= short_snap - 2 && mean < long_snap ? long_snap : short_snap;
}

/// The layout for a matrix, by the share of distinct 128-byte lines of x among neighbouring nonzeros. Bulk copies pay
/// while the lines of x stay in the first-level cache, whose room the buffers take.
/// \param has_bulk_copies compute capability 9.0 or later
[[nodiscard]] MerbitLayout choose_layout(const GatherSample& sample, bool has_bulk_copies) noexcept;

}  // namespace tessera::cuda
