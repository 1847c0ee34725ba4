/// \file
/// Centralities of a graph beside PageRank: hubs and authorities (HITS), and Katz centrality.
#pragma once

#include "tessera/report.hpp"
#include "tessera/spmv.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera {

/// Parameters of hits() and katz().
struct CentralityOptions {
  double tolerance = 1e-9;  ///< in [0, 1)
  std::int64_t max_iterations = 1000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();
  bool keep_history = false;
  /// Bound on the rows of the history, at least 1000: the first 100, the last, and every 2^k-th between; 0: all.
  std::int64_t history_rows = 0;
  Observer observer = {};
  /// Names what the observer stopped for, as SolverOptions::stop_cause.
  std::function<std::string()> stop_cause = {};
};

/// How scores were reached.
struct CentralityReport {
  Status status = Status::max_iterations;
  std::string reason;  ///< the inequality that ended the iteration, with numbers
  std::int64_t iterations = 0;
  std::int64_t spmv_count = 0;        ///< products with A and Aᵀ, those of checks included
  std::vector<HistoryEntry> history;  ///< true_residual where it was computed
  Timings timings;

  [[nodiscard]] bool converged() const noexcept { return status == Status::converged; }
};

struct [[nodiscard]] HitsReport : CentralityReport {
  /// max(‖A a / Σ(A a) - h‖₁, ‖Aᵀh / Σ(Aᵀh) - a‖₁) of the scores handed out; infinity where it was not computed.
  double residual = std::numeric_limits<double>::infinity();
  /// Last change over the one before, about (σ₂ / σ₁)² of the largest two different singular values. Near 1 the
  /// distance to the limit is about change * contraction / (1 - contraction), more than the change. 0 before the third
  /// iteration.
  double contraction = 0.0;
};

/// HITS (J. M. Kleinberg, Authoritative sources in a hyperlinked environment, J. ACM 46(5), 1999): the power method for
/// the largest singular value of A. A good hub h links to good authorities a: h = A a / Σ(A a), a = Aᵀh / Σ(Aᵀh), both
/// with Σ = 1, as in NetworkX. Iterates from equal hubs until neither vector changes by more than the tolerance in the
/// 1-norm; `converged` is said after one more product with A and one with Aᵀ found the same of the scores handed out.
///
/// Where several singular vectors belong to the largest singular value (equal components, say), no vector is the only
/// one: the result is the part of equal hubs that lies in their space. A graph without links has scores 0.
///
/// \param plan        of A, made with SpmvOptions::with_transpose; row i holds the out-links of vertex i with weights
///                    >= 0. A may be rectangular: hubs are rows, authorities columns
/// \param hubs        rows() elements on the plan's device: the latest iterate on return, for every status
/// \param authorities cols() elements there
/// \throws NotSupported for a plan without the transpose; DimensionError for vectors of other sizes; InvalidArgument
///         for options out of range, and vectors that overlap or lie elsewhere; InvalidMatrix for a weight that is
///         negative or not finite, named by row and column; OutOfMemory, CudaError
/// Per iteration: one product with A, one with Aᵀ, 8 n elements of memory traffic, and no allocation. On a GPU the
/// whole loop runs there.
template <class T>
HitsReport hits(const SpmvPlan<T>& plan, std::span<std::type_identity_t<T>> hubs,
                std::span<std::type_identity_t<T>> authorities, const CentralityOptions& options = {});

struct KatzOptions : CentralityOptions {
  /// Attenuation per link, below 1 / ρ(A). 0: katz_share / (upper bound of ρ(A)).
  double alpha = 0.0;
  double beta = 1.0;       ///< score of a vertex without in-links, before it is normalized; > 0
  bool normalized = true;  ///< to ‖x‖₂ = 1, as in NetworkX
};

/// α ρ(A) that katz() aims at by itself: walks count as with PageRank's usual damping.
inline constexpr double katz_share = 0.85;

struct [[nodiscard]] KatzReport : CentralityReport {
  double alpha = 0.0;  ///< as it was used
  /// Upper bound of ρ(A), but for rounding of the products; NaN where it was not computed: neither was alpha to be
  /// chosen nor did the iteration fail.
  double spectral_bound = std::numeric_limits<double>::quiet_NaN();
  /// No score differs by more than this fraction from the exact one; infinity where nothing is proven.
  double error_bound = std::numeric_limits<double>::infinity();
  double sum = 0.0;  ///< Σ scores, as handed out
};

/// Katz centrality (L. Katz, A new status index derived from sociometric analysis, Psychometrika 18(1), 1953): x = α
/// Aᵀx
/// + β 1, the number of walks that end at a vertex, each link of a walk attenuated by α.
///
/// x = β Σ (α Aᵀ)^k 1 is summed term by term. Nothing cancels, since all terms are >= 0. The largest element of term k
/// over β is ‖(α Aᵀ)^k‖_∞: below 1 it proves that α ρ(A) < 1. Then |β 1 + α Aᵀx - x| <= ε β, element by element, means
/// that every score is within ε of the exact one, relative to that: `converged` is said when a product has found ε <=
/// tolerance. The bound of ρ(A) is the least max_i (Aᵀw)_i / w_i (Collatz, Wielandt) over the w > 0 of up to 64 steps
/// of the power method, shifted so that it converges for bipartite graphs as well.
///
/// \param in_links plan of Aᵀ: row i holds the vertices that link to i, with weights >= 0 (the transpose() of what
///                 hits() takes)
/// \param scores   rows() elements on the plan's device: the latest sum on return, for every status
/// \returns Status::diverged where a term exceeds 1e8 β, which an alpha >= 1 / ρ(A) leads to: the reason has the bound
///          of ρ(A)
/// \throws as hits(); DimensionError for a matrix that is not square; InvalidArgument for an alpha that is negative or
///         not finite, or a beta that is not positive and finite
/// Per iteration: one product, 5 n elements of memory traffic, and no allocation. On a GPU the whole loop runs there.
template <class T>
KatzReport katz(const SpmvPlan<T>& in_links, std::span<std::type_identity_t<T>> scores,
                const KatzOptions& options = {});

}  // namespace tessera
