/// \file
/// Prediction of the hierarchy of smoothed-aggregation AMG from the number of strong entries per row, without building
/// it.
#pragma once

#include "tessera/amg.hpp"
#include "tessera/csr.hpp"
#include "tessera/statistics.hpp"

#include <cstdint>
#include <vector>

namespace tessera::support {

struct PredictedLevel {
  index_t rows = 0;
  offset_t nnz = 0;
};

struct AmgPrediction {
  double strong_neighbours = 0.0;  ///< per row of A
  std::vector<PredictedLevel> levels;
  double operator_complexity = 1.0;
  double grid_complexity = 1.0;
};

/// Mean number of strong off-diagonal entries per row, strong as AmgOptions::strength_threshold says. O(nnz).
/// \param matrix on the host
template <class T>
[[nodiscard]] double strong_neighbours(const CsrView<T>& matrix, double threshold, const Device& device = Device{});

/// A root of a maximal independent set of distance two takes its d strong neighbours and a share of those around them:
/// 1.9 d rows per aggregate on stencils of 2 to 26 neighbours. Coarser levels have more neighbours, up to a limit.
/// Number of levels to within one, entries of the coarser levels to within a factor of 2 on the stencils of
/// generators.hpp. \param neighbours as strong_neighbours()
[[nodiscard]] AmgPrediction predict_amg(const MatrixStatistics& matrix, double neighbours,
                                        const AmgOptions& options = {});

/// Memory of the hierarchy in the cycle: A, P and R of all levels, and vectors. \param element bytes of the matrix's
/// type
[[nodiscard]] std::uint64_t predicted_bytes(const AmgPrediction& prediction, std::size_t element,
                                            const AmgOptions& options);

}  // namespace tessera::support
