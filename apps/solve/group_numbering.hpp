/// \file
/// The numbering that --ordering names for the rows that several devices share out, and the parts that it cuts them in.
#pragma once

#include "group_ordering.hpp"
#include "options.hpp"
#include "settings.hpp"

#include "tessera/csr.hpp"
#include "tessera/several_devices.hpp"
#include "tessera/statistics.hpp"

#include <optional>

namespace tessera::cli {

struct GroupNumbering {
  std::optional<Ordering> ordering;  ///< nothing: `auto`
  bool is_metis = false;             ///< parts by METIS, numbered by rcm inside
};

/// What belongs to the numbering of the file keeps it. \throws UsageError for another one there
[[nodiscard]] GroupNumbering group_numbering(const Options& options, const RunSettings& settings);

/// A system as it is shared out.
template <class T>
struct NumberedSystem {
  OrderedSystem<T> ordering;
  Partition partition;

  /// \param matrix in the numbering of the file
  [[nodiscard]] CsrView<T> matrix(const Csr<T>& matrix) const {
    return ordering.reordered ? ordering.reordered->view() : matrix.view();
  }
};

/// `auto` asks METIS, where it is installed, after order_for_group() where the halo is still large, and takes its parts
/// if they halve it. \param matrix on the host \throws DimensionError where it is not square, InvalidArgument for fewer
/// rows than devices; NotSupported where METIS is named and not installed
template <class T>
[[nodiscard]] NumberedSystem<T> number_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                                 const GroupNumbering& numbering);

}  // namespace tessera::cli
