/// \file
/// PageRank's fused product: one iteration of the power method as one product on a GPU. The rest of the iteration
/// happens where row sums are stored. A capability that a kernel may offer: SpmvKernel::make_rank_product().
#pragma once

#include "spmv/common/pagerank_iteration.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::detail {

/// Operands on the device. K vectors are interleaved: vertex i of vector k is element i * K + k.
template <class T>
struct RankVectors {
  T* scaled[2] = {};                 ///< y: iteration i, from 0 on, reads entry i % 2 and writes the other
  const index_t* degrees = nullptr;  ///< out-links per vertex
  const T* teleport = nullptr;       ///< each sums to 1; null when all are uniform
  RankState* state = nullptr;        ///< one per vector, read and written
};

/// Largest number of vectors per product.
inline constexpr int most_rank_vectors = 8;

/// Iterations with one pattern matrix and a fixed number of vectors. Row i of the matrix lists the vertices that link
/// to vertex i.
template <class T>
class RankProduct {
 public:
  RankProduct() = default;
  RankProduct(const RankProduct&) = delete;
  RankProduct& operator=(const RankProduct&) = delete;
  virtual ~RankProduct() = default;

  /// Puts one iteration into the device's stream, in two launches, or three. A vector that has halted stays as it is.
  /// Neither allocates nor copies nor waits. Every call launches the same, so it may be captured. Not concurrent with
  /// itself. \throws CudaError
  virtual void enqueue_iteration(const RankRules& rules, const RankVectors<T>& vectors) = 0;

  /// Puts several iterations into the stream. The first call records them into a CUDA graph where graphs are usable, so
  /// every call must pass the same rules and vectors. \throws CudaError
  virtual void enqueue_iterations(const RankRules& rules, const RankVectors<T>& vectors, int count) = 0;

  /// Memory on the device that the product owns.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
};

}  // namespace tessera::detail
