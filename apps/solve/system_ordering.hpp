/// \file
/// --ordering: a solve in another numbering of the unknowns, which what the user reads and writes does not show.
#pragma once

#include "options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/multi_vector_file.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

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
  [[nodiscard]] std::vector<T> gathered(std::span<const T> vector) const {
    std::vector<T> result(vector.begin(), vector.end());
    for (std::size_t k = 0; k < order.size(); ++k) result[k] = vector[static_cast<std::size_t>(order[k])];
    return result;
  }
  /// Back to it.
  [[nodiscard]] std::vector<T> scattered(std::vector<T> vector) const {
    if (order.empty()) return vector;
    std::vector<T> result(vector.size());
    for (std::size_t k = 0; k < order.size(); ++k) result[static_cast<std::size_t>(order[k])] = vector[k];
    return result;
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

/// Of a solve on one device: natural, unless another one is named. \param matrix square, on the host
template <class T>
[[nodiscard]] OrderedSystem<T> order_system(const Csr<T>& matrix, Ordering kind);

/// One line of the summary; empty where nothing was numbered anew nor asked to be.
[[nodiscard]] std::string ordering_line(const CommonOutcome& outcome);
[[nodiscard]] Json ordering_json(const OrderingFacts& facts);

}  // namespace tessera::cli
