/// \file
/// The numbering in which several devices share out the rows of a system: few elements of x should cross between them.
#pragma once

#include "system_ordering.hpp"

#include "tessera/csr.hpp"
#include "tessera/ordering.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <optional>

namespace tessera::cli {

/// Whether a halo is so large that another numbering is worth a trial.
[[nodiscard]] bool is_large_halo(const MatrixStatistics& matrix, std::int64_t halo);
/// Whether no row has so many times the mean length that it joins everything to everything.
[[nodiscard]] bool are_separable(const MatrixStatistics& matrix);

/// Decides, and reorders the matrix. Where none is named, takes reverse Cuthill-McKee where the natural halo is more
/// than a twentieth of the rows and no row is so long that it joins everything to everything, and if that more than
/// halves the halo. \param devices at least 1 \param matrix on the host
template <class T>
[[nodiscard]] OrderedSystem<T> order_for_group(const CsrView<T>& matrix, const MatrixStatistics& facts, int devices,
                                               std::optional<Ordering> named);

}  // namespace tessera::cli
