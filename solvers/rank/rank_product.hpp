/// \file
/// One step of PageRank as one product on a GPU, with everything else done where row sums are committed.
#pragma once

#include "solvers/rank/rank_state.hpp"
#include "spmv/kernel.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <memory>

namespace tessera {

/// What a step works on, on the device. Elements of K vectors are interleaved: that of vertex i and vector k is number
/// i * K + k.
template <class T>
struct RankVectors {
  T* scaled[2] = {};                 ///< y (scaled_rank.hpp): step i, from 0 on, reads entry i % 2 and writes the other
  const index_t* degrees = nullptr;  ///< number of out-links a vertex
  const T* teleport = nullptr;       ///< each sums to 1; null when all are uniform
  RankState* state = nullptr;        ///< one a vector, read and written
};

/// Steps with one pattern matrix, whose row i lists the vertices that link to i, of a fixed number of vectors.
template <class T>
class RankProduct {
 public:
  RankProduct() = default;
  RankProduct(const RankProduct&) = delete;
  RankProduct& operator=(const RankProduct&) = delete;
  virtual ~RankProduct() = default;

  /// Puts one step into the stream of the device: two launches, which leave alone every vector that has halted. Neither
  /// allocates nor copies nor waits, and every call launches the same, so it may be captured. Not concurrent with
  /// itself. \throws CudaError
  virtual void enqueue_step(const RankRules& rules, const RankVectors<T>& vectors) = 0;

  /// Puts several steps into the stream, recorded at the first call where that can be done; so every call must come
  /// with the same rules and vectors. \throws CudaError
  virtual void enqueue_steps(const RankRules& rules, const RankVectors<T>& vectors, int steps) = 0;

  /// Of its own, on the device.
  [[nodiscard]] virtual std::uint64_t bytes() const noexcept = 0;
};

/// Vectors that one product may step at a time.
inline constexpr int most_rank_vectors = 8;

/// \param kernel made for `a`; both outlive the result \param a the in-links, on `device` \param vectors 1, 2, 4 or 8
/// \returns null for kernels other than MERBIT, matrices with values, several vectors with the layout `exact`, other
/// numbers of vectors, and in a build without CUDA
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] std::unique_ptr<RankProduct<T>> make_rank_product(const Device& device, const SpmvKernel<T>& kernel,
                                                                const CsrView<T>& a, int vectors);

extern template std::unique_ptr<RankProduct<float>> make_rank_product(const Device&, const SpmvKernel<float>&,
                                                                      const CsrView<float>&, int);
extern template std::unique_ptr<RankProduct<double>> make_rank_product(const Device&, const SpmvKernel<double>&,
                                                                       const CsrView<double>&, int);

}  // namespace tessera
