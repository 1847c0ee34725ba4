/// \file
/// PageRankSolver: PageRank that keeps its vectors, and what a GPU has recorded, for many solves on one graph.
#pragma once

#include "tessera/pagerank.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace tessera {

/// Ranks that an iteration begins from.
enum class RankStart : std::uint8_t {
  teleport,  ///< the teleport distribution, as pagerank() does
  given,     ///< those handed over (warm start)
};

/// PageRank with many teleport distributions, one after the other. It gives the bits and reports of pagerank(), and
/// keeps what that makes anew in every call: the plan, the vectors, and on a GPU the CUDA graph of its iterations.
/// Where the transition matrix lies on a GPU, nothing but scalars comes to the host, and a solve allocates nothing on
/// the device and records nothing, from the second uniform one on, and from the second personalized one on: each of
/// both kinds has vectors and a graph of its own, made at its first solve. A solve while another one runs is refused.
template <class T>
class PageRankSolver {
 public:
  /// \param transition referred to
  /// \param options copied, for all solves; personalization must be empty
  /// \throws InvalidArgument as pagerank(), or for options with a personalization; OutOfMemory, CudaError
  explicit PageRankSolver(const TransitionMatrix<T>& transition, const PageRankOptions& options = {});
  ~PageRankSolver();
  /// A moved-from solver may only be assigned to or destroyed.
  PageRankSolver(PageRankSolver&&) noexcept;
  PageRankSolver& operator=(PageRankSolver&&) noexcept;

  /// \param personalization as PageRankOptions::personalization
  /// \param ranks n elements on the device of the transition matrix: the latest iterate on return, sum 1. For
  ///        RankStart::given also the first one, scaled to sum 1: then the fewer iterations the nearer it is
  /// \throws as pagerank(); DimensionError for another number of ranks; InvalidArgument for a first iterate whose
  ///         sum is not positive and finite. Another solve may follow
  PageRankReport solve(std::span<const double> personalization, std::span<T> ranks,
                       RankStart start = RankStart::teleport);

  [[nodiscard]] const PageRankOptions& options() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

extern template class PageRankSolver<float>;
extern template class PageRankSolver<double>;

}  // namespace tessera
