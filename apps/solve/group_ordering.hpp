/// \file
/// The numbering in which several devices share out the rows of a system: few elements of x should cross between them.
#pragma once

#include "options.hpp"
#include "outcome.hpp"
#include "report_json.hpp"

#include "tessera/csr.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

/// The system in that numbering.
template <class T>
struct GroupOrdering {
  GroupOrderingFacts facts;
  std::vector<index_t> order;       ///< the row of the file that stands at a position; empty for the natural one
  std::optional<Csr<T>> reordered;  ///< none for the natural one

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
};

/// Whether a halo is so large that another numbering is worth a trial.
[[nodiscard]] bool is_large_halo(const MatrixStatistics& matrix, std::int64_t halo);
/// Whether no row has so many times the mean length that it joins everything to everything.
[[nodiscard]] bool are_separable(const MatrixStatistics& matrix);

/// --ordering metis, which is no numbering without a number of parts (group_numbering.hpp).
[[nodiscard]] bool names_metis(const Options& options);
/// --ordering; nothing for `auto`. \throws UsageError for metis
[[nodiscard]] std::optional<Ordering> ordering_setting(const Options& options);

/// Decides, and reorders the matrix. Where none is named, takes reverse Cuthill-McKee where the natural halo is more
/// than a twentieth of the rows and no row is so long that it joins everything to everything, and if that more than
/// halves the halo. \param devices at least 1 \param matrix on the host
template <class T>
[[nodiscard]] GroupOrdering<T> order_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                               std::optional<Ordering> named);

/// One line of the summary; empty where nothing was shared out, or a graph.
[[nodiscard]] std::string ordering_line(const CommonOutcome& outcome);
[[nodiscard]] Json ordering_json(const GroupOrderingFacts& facts);

}  // namespace tessera::cli
