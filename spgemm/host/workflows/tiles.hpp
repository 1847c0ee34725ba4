/// \file
/// The workflow `tiles` on the host: both factors in 8 x 8 bitmap tiles; a tile row of C after the other, its positions
/// by Boolean products of bitmaps, its sums in dense tiles (bmSPARSE, GRADES-NDA 2018).
#pragma once

#include "spgemm/host/job.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <optional>

namespace tessera::host {

/// C, and in the report what tells of tiles; nothing when it does not fit into memory, which report.fallback then says.
/// If report.precision is not `working`, OutOfMemory instead.
/// The terms of an entry are added in the order of A's row, those of stored entries alone, so C has the bits of the
/// other workflows. O(pairs of tiles) work beside the products. \tparam V T, or NoValue for the pattern
/// \throws OutOfMemory when C alone does not fit
template <class V, class T>
[[nodiscard]] std::optional<Csr<T>> tile_product(HostJob<T>& job, SpgemmReport& report);

}  // namespace tessera::host
