/// \file
/// --ordering: work in another numbering of the unknowns or vertices, which what the user reads and writes does not
/// show.
#pragma once

#include "options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/multi_vector_file.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/statistics.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

/// From the numbering of the file: element k is that of number order[k]. \param order empty: the natural one
template <class U>
[[nodiscard]] std::vector<U> gathered(std::span<const index_t> order, std::span<const U> elements) {
  std::vector<U> result(elements.begin(), elements.end());
  for (std::size_t k = 0; k < order.size(); ++k) result[k] = elements[static_cast<std::size_t>(order[k])];
  return result;
}
/// Back to it.
template <class U>
[[nodiscard]] std::vector<U> scattered(std::span<const index_t> order, std::span<const U> elements) {
  std::vector<U> result(elements.begin(), elements.end());
  for (std::size_t k = 0; k < order.size(); ++k) result[static_cast<std::size_t>(order[k])] = elements[k];
  return result;
}

/// The system in that numbering.
template <class T>
struct OrderedSystem {
  OrderingFacts facts;
  std::vector<index_t> order;               ///< the row of the file that stands at a position; empty: the natural one
  std::shared_ptr<const Csr<T>> reordered;  ///< P A Pᵀ on the host; null for the natural one

  /// Of the permutation and P A Pᵀ.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return order.size() * sizeof(index_t) + (reordered ? reordered->bytes() : 0);
  }

  /// From the numbering of the file.
  [[nodiscard]] std::vector<T> gathered(std::span<const T> vector) const { return cli::gathered<T>(order, vector); }
  /// Back to it.
  [[nodiscard]] std::vector<T> scattered(std::vector<T> vector) const {
    return order.empty() ? std::move(vector) : cli::scattered<T>(order, vector);
  }
  /// Column by column, in place.
  void gather_columns(MultiVector<T>& block) const;
  void scatter_columns(MultiVector<T>& block) const;

  /// Puts P A Pᵀ here. \param matrix square, on the host
  void reorder(const CsrView<T>& matrix, Ordering kind);
};

/// --ordering metis, which is no numbering without a number of parts (group_numbering.hpp).
[[nodiscard]] bool names_metis(const Options& options);
/// --ordering; nothing for `auto`. \throws UsageError for metis
[[nodiscard]] std::optional<Ordering> ordering_setting(const Options& options);
/// The same of a command without `auto`; nothing where it is not given. \throws UsageError
[[nodiscard]] std::optional<Ordering> named_ordering(const Options& options);
/// \throws UsageError where blocks, coordinates or a near-nullspace belong to the numbering of the file
void require_free_numbering(const PrecondSettings& precond, std::string_view ordering);

/// The same, natural where blocks, coordinates or a near-nullspace belong to the numbering of the file.
/// \throws UsageError where another one is named besides
[[nodiscard]] std::optional<Ordering> ordering_beside(const Options& options, const PrecondSettings& precond);

/// \throws UsageError for another numbering than the natural one of rows and columns that have nothing in common
void require_square_ordering(Ordering kind, bool is_least_squares);

/// Memory on the host of a system that is numbered anew, before anything of it is done.
struct OrderingBytes {
  std::uint64_t held = 0;     ///< the permutation and P A Pᵀ
  std::uint64_t passing = 0;  ///< besides, at most, while they are made
};
/// O(1). \param facts of a square matrix \param value_bytes of an entry, 0 for a pattern \param threads that
/// order_system() works with, those of Device{}
[[nodiscard]] OrderingBytes predicted_ordering_bytes(Ordering kind, const MatrixStatistics& facts,
                                                     std::size_t value_bytes, int threads);

/// On one device: natural, unless another one is named. \param matrix square, on the host
template <class T>
[[nodiscard]] OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind);

/// Memory of the host that another numbering may take.
struct OrderingBudget {
  std::uint64_t limit_bytes = 0;  ///< 0: what the machine has
  std::uint64_t held_bytes = 0;   ///< taken already
  std::uint64_t later_bytes = 0;  ///< taken once the numbering is done
};

/// \throws OutOfMemory where `bytes` do not fit beside the rest \param what is numbered
void require_memory_of_ordering(const OrderingBytes& bytes, const OrderingBudget& budget, const std::string& what);

/// The same as order_system() within a budget. \param facts of the matrix
/// \throws OutOfMemory before anything is numbered
template <class T>
[[nodiscard]] OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind, const MatrixStatistics& facts,
                                            const OrderingBudget& budget);

/// Numbers the vertices of a graph anew, by the columns of its in-links. \param transition on the host, replaced
/// \param facts name, time, and the bytes of the permutation. \returns the permutation; empty for the natural one
template <class T>
[[nodiscard]] std::vector<index_t> reorder_graph(Ordering kind, TransitionMatrix<T>& transition, OrderingFacts& facts);

/// Memory on the host of reorder_graph(). O(1). \param facts of the adjacency \param most_in_links of a vertex
/// \param weighted whether the in-links have values of T
template <class T>
[[nodiscard]] OrderingBytes predicted_graph_ordering_bytes(Ordering kind, const MatrixStatistics& facts,
                                                           offset_t most_in_links, bool weighted, int threads);

/// One line of the summary; empty where nothing was numbered anew nor asked to be.
[[nodiscard]] std::string ordering_line(const CommonOutcome& outcome);
[[nodiscard]] Json ordering_json(const OrderingFacts& facts);

}  // namespace tessera::cli
