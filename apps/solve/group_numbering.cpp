// The numbering of the rows that several devices share out.
#include "group_numbering.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::cli {

GroupNumbering group_numbering(const Options& options, const RunSettings& settings) {
  const PrecondSettings& precond = settings.precond;
  const bool is_tied =
      precond.amg.block_size > 1 || !precond.coordinates_file.empty() || !precond.near_nullspace_file.empty();
  const std::optional<Ordering> named = ordering_setting(options);
  if (!is_tied) return {.ordering = named};
  if (named == Ordering::rcm) {
    throw UsageError("--ordering rcm separates the rows that blocks, coordinates and near-nullspaces belong to",
                     "--ordering natural");
  }
  return {.ordering = Ordering::natural};
}

template <class T>
NumberedSystem<T> number_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                   const GroupNumbering& numbering) {
  if (!matrix.is_square()) {
    throw DimensionError(
        fmt::format("a matrix on several devices must be square, is {} x {}", matrix.rows, matrix.cols));
  }
  GroupOrdering<T> ordering = order_for_group(matrix, facts, devices, numbering.ordering);
  Partition partition = Partition::by_nonzeros(ordering.reordered ? ordering.reordered->view() : matrix, devices);
  return {std::move(ordering), std::move(partition)};
}

template NumberedSystem<float> number_for_group(const CsrView<float>&, const MatrixStatistics&, int,
                                                const GroupNumbering&);
template NumberedSystem<double> number_for_group(const CsrView<double>&, const MatrixStatistics&, int,
                                                 const GroupNumbering&);

}  // namespace tessera::cli
