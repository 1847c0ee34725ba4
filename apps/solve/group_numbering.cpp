// The numbering of the rows that several devices share out.
#include "group_numbering.hpp"

#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "tessera/error.hpp"
#include "tessera/metis_partition.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace tessera::cli {

namespace {

/// Keeps the parts unless they are only tried and do not halve the halo.
template <class T>
void take_metis(const CsrView<T>& matrix, int devices, bool is_trial, NumberedSystem<T>& system) {
  OrderedSystem<T>& ordering = system.ordering;
  OrderingFacts& facts = ordering.facts;
  GroupedRows grouped = metis_partition(matrix, devices, Ordering::rcm);
  Csr<T> reordered = permuted(matrix, std::span<const index_t>(grouped.order));
  const std::int64_t halo = grouped.partition.halo(reordered.view());
  if (is_trial && 2 * halo >= *facts.halo) {
    facts.reason += fmt::format(", by metis {}", halo);
    return;
  }
  if (is_trial) facts.reason = fmt::format("halo {} instead of {}", counted(halo, "element"), facts.natural_halo);
  facts.name = "metis";
  facts.halo = halo;
  ordering.order = std::move(grouped.order);
  ordering.reordered = std::make_shared<const Csr<T>>(std::move(reordered));
  system.partition = std::move(grouped.partition);
}

}  // namespace

GroupNumbering group_numbering(const Options& options, const RunSettings& settings) {
  if (!names_metis(options)) return {.ordering = ordering_beside(options, settings.precond), .is_metis = false};
  require_free_numbering(settings.precond, "metis");
  return {.ordering = std::nullopt, .is_metis = true};
}

template <class T>
NumberedSystem<T> number_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                   const GroupNumbering& numbering) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a matrix on several devices must be square, is {} x {}", matrix.rows, matrix.cols));
  }
  const Stopwatch timer;
  // Not tried yet: the numbering of the file.
  const std::optional<Ordering> first = numbering.is_metis ? Ordering::natural : numbering.ordering;
  OrderedSystem<T> ordering = order_for_group(matrix, facts, devices, first);
  Partition partition = Partition::by_nonzeros(ordering.reordered ? ordering.reordered->view() : matrix, devices);
  NumberedSystem<T> system{std::move(ordering), std::move(partition)};
  OrderingFacts& found = system.ordering.facts;
  if (numbering.is_metis) {
    take_metis(matrix, devices, false, system);
  } else if (!numbering.ordering && is_large_halo(facts, *found.halo) && are_separable(facts)) {
    if (survey_metis().library.empty()) {
      found.reason += "; METIS, which may find less, is not installed";
    } else {
      take_metis(matrix, devices, true, system);
    }
  }
  found.ms = timer.milliseconds();
  return system;
}

template NumberedSystem<float> number_for_group(const CsrView<float>&, const MatrixStatistics&, int,
                                                const GroupNumbering&);
template NumberedSystem<double> number_for_group(const CsrView<double>&, const MatrixStatistics&, int,
                                                 const GroupNumbering&);

}  // namespace tessera::cli
