/// \file
/// Plans in tiles on a GPU: the tiles of both factors and the pairs of C are kept; other values are copied into dense
/// tiles and multiplied.
#pragma once

#include "core/stopwatch.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/cuda/planned_factors.hpp"
#include "tessera/spgemm.hpp"

#include <memory>

namespace tessera::cuda {

/// A plan in tiles where the options name them, or `automatic` takes them for all of a product. Else nothing;
/// report.fallback then says why tiles were given up. \param total running since the planning began
/// \param report upload_ms is known \throws CudaError
[[nodiscard]] std::unique_ptr<ProductPlan<double>> make_tile_plan(const PlannedFactors<double>& factors,
                                                                  const SpgemmOptions& options, const Stopwatch& total,
                                                                  SpgemmReport& report);

}  // namespace tessera::cuda
