/// \file
/// PageRank by the power method.
///
/// One definition: a random surfer at vertex j follows one of its out-links with probability d (damping), chosen in
/// proportion to the edge weights, and otherwise jumps to a vertex drawn from the teleport distribution v. With W the
/// weighted adjacency matrix (row = source), the ranks are the fixed point of
///
///     x' = d (Pᵀ x + dangling(x)) + (1 - d) v,   P = D⁻¹ W,  Σ x = 1,
///
/// where dangling(x) distributes the rank of vertices without out-links. No edge is removed or added, self-loops count,
/// and the order of the vertices is that of the matrix.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The graph by in-links: row i lists the vertices that link to i. The division of edge weights by the total out weight
/// of their source is a scaling of the vector, so a pattern graph needs no values. Made where the graph lies, with the
/// same bits on the host and on a GPU; the vectors of its PageRank lie there too.
template <class T>
class TransitionMatrix {
 public:
  /// O(vertices + edges), and a transposition: on a GPU that costs 20 bytes per edge of temporary memory.
  /// \param adjacency on `device`, square; row i holds the out-links of vertex i with weights >= 0. A zero weight is no
  ///        link
  /// \throws InvalidMatrix when not square, for a negative or non-finite weight (named by row and column), or for a
  ///         vertex whose total out weight is so small or large that its inverse is no normal number of T; OutOfMemory,
  ///         CudaError; NotSupported as transpose()
  explicit TransitionMatrix(const CsrView<T>& adjacency, const Device& device = Device{});

  /// Where all of it lies: spans are of memory there.
  [[nodiscard]] const Device& device() const noexcept { return in_links_->device(); }
  [[nodiscard]] index_t vertices() const noexcept { return in_links_->rows(); }
  [[nodiscard]] offset_t edges() const noexcept { return in_links_->nnz(); }
  /// Wᵀ without zero weights; a pattern when the adjacency was one or all its weights are equal.
  [[nodiscard]] const std::shared_ptr<const Csr<T>>& in_links() const noexcept { return in_links_; }
  /// Per vertex 1 / (total out weight), or 1 / (number of out-links) when in_links() is a pattern; 0 for none.
  [[nodiscard]] std::span<const T> inverse_out_weight() const noexcept { return inverse_out_weight_.span(); }
  /// Number of out-links per vertex.
  [[nodiscard]] std::span<const index_t> out_degree() const noexcept { return out_degree_.span(); }
  /// Vertices without out-links, ascending.
  [[nodiscard]] std::span<const index_t> dangling() const noexcept { return dangling_.span(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// The same graph with its vertices numbered anew: new vertex k is the old vertex order[k], so the rank at k is that
  /// of old vertex order[k]. Iterations are faster where the ranks that a product reads then lie together; hundreds of
  /// them repay the permutation, so it is for many rankings of one graph (docs/reordering.md). O(vertices + edges
  /// log(most in-links)) as tessera::permuted(), and the in-links twice while it lasts.
  /// \param order a permutation of 0 ... n-1 on device(): ordering(in_links()->view(), kind, device()), say, whose
  ///        columns are the sources of links, so that `degree` counts out-links
  /// \throws DimensionError, InvalidArgument as tessera::permuted(); OutOfMemory, CudaError
  [[nodiscard]] TransitionMatrix permuted(std::span<const index_t> order) const;

 private:
  TransitionMatrix() = default;

  std::shared_ptr<const Csr<T>> in_links_;
  Array<T> inverse_out_weight_;
  Array<index_t> out_degree_;
  Array<index_t> dangling_;
};

extern template class TransitionMatrix<float>;
extern template class TransitionMatrix<double>;

/// Where the rank of a vertex without out-links goes.
enum class Dangling {
  teleport,  ///< to the teleport distribution v (the default; the same as uniform when v is)
  uniform,   ///< to all vertices alike
  self,      ///< stays where it is, as if the vertex had a self-loop
  drop,      ///< is lost; the vector is scaled back to sum 1 after every iteration
};

[[nodiscard]] std::string_view to_string(Dangling dangling);  ///< "teleport", "uniform", "self", "drop"

enum class RankNorm { l1, l2, linf };

[[nodiscard]] std::string_view to_string(RankNorm norm);  ///< "l1", "l2", "linf"

struct PageRankOptions {
  double damping = 0.85;    ///< in [0, 1)
  double tolerance = 1e-9;  ///< stop when ‖x' - x‖ <= tolerance in `norm`
  RankNorm norm = RankNorm::l1;
  Dangling dangling = Dangling::teleport;
  /// Teleport distribution: n weights >= 0 with a positive sum, scaled to sum 1; empty means uniform. On the device of
  /// the transition matrix.
  std::span<const double> personalization = {};
  std::int64_t max_iterations = 1000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  bool keep_history = false;
  /// Bound on the rows of the history, at least 1000: the first 100, the last, and every 2^k-th between; 0: all.
  std::int64_t history_rows = 0;
  Observer observer = {};
  /// Names what the observer stopped for, after it did, for the reason of the report: "interrupted by Ctrl-C". Empty:
  /// "stopped by the observer".
  std::function<std::string()> stop_cause = {};
  /// Kernel for the product with the in-links, and the device where the iteration runs. A transition matrix on a GPU is
  /// iterated there, in its context, for the default device too.
  SpmvOptions spmv = {};
};

/// How ranks were reached.
struct [[nodiscard]] PageRankReport {
  Status status = Status::max_iterations;
  std::string reason;  ///< the inequality that ended the iteration, with numbers
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;  ///< products with the matrix, one per iteration
  double change = 0.0;  ///< ‖x' - x‖ of the last iteration, in the norm of the options; infinity before the first
  double sum = 0.0;     ///< Σ ranks, as handed out
  index_t dangling_count = 0;
  PlanInfo plan;
  std::vector<HistoryEntry> history;
  Timings timings;

  [[nodiscard]] bool converged() const noexcept { return status == Status::converged; }
};

/// Ranks and how they were reached.
template <class T>
struct [[nodiscard]] PageRankResult : PageRankReport {
  /// One per vertex, on the device of the transition matrix, sum 1; the latest iterate, for every status.
  Array<T> ranks;
};

/// Iterates to the tolerance, or to Status::stagnated where rounding keeps the change above it. Per iteration: one
/// product, and no allocation. Sums are compensated, and each iteration divides by the sum of the one before, so Σx
/// stays 1.
///
/// \throws InvalidArgument for a damping outside [0, 1), a tolerance that is negative or that any two distributions
///         meet (l1 >= 2, l2 >= sqrt(2), linf >= 1), a personalization that is negative, not finite or sums to 0;
///         DimensionError for one of another length; InvalidArgument for spmv.device a GPU, where the transition matrix
///         lies on another one or in another context; OutOfMemory, CudaError
template <class T>
[[nodiscard]] PageRankResult<T> pagerank(const TransitionMatrix<T>& transition, const PageRankOptions& options = {});

/// PageRank from several teleport distributions on one graph, with one plan. Result k is that of pagerank() with
/// personalizations[k] (empty: uniform); each vector has its own status and reason. `plan` and plan_ms of every result
/// are those of the one plan; a time limit counts for all vectors together.
/// On a GPU up to eight vectors share each product where the in-links are a pattern and the kernel is `merbit`;
/// elsewhere one vector is iterated after the other.
///
/// \param options personalization must be empty. The observer is called with the iterations of each vector, those of
/// several vectors in turn; it stops the vector that it is called for
/// \returns one result per personalization, in their order
/// \throws as pagerank(), before any iteration; InvalidArgument for options with a personalization
template <class T>
[[nodiscard]] std::vector<PageRankResult<T>> pagerank_multi(const TransitionMatrix<T>& transition,
                                                            std::span<const std::span<const double>> personalizations,
                                                            const PageRankOptions& options = {});

/// A vertex and its rank.
struct RankedVertex {
  index_t vertex = 0;  ///< 0-based
  double rank = 0.0;
};

/// The k highest ranks (all when k >= n), descending; equal ranks by ascending vertex. O(n log k).
/// \param ranks on the host
template <class T>
[[nodiscard]] std::vector<RankedVertex> top_ranks(std::span<const T> ranks, std::int64_t k);

}  // namespace tessera
