#include "spmv/merbit/policy_cuda.hpp"

namespace tessera::cuda {

namespace {

/// Up to here neighbouring nonzeros read x so near to each other that all tiles take the same time.
constexpr double local_line_share = 0.16;

/// Rows from here on fill enough of a lane's time for a lane a row.
constexpr offset_t least_lane_row = 12;

/// Shorter rows are so many in a tile that four nonzeros a load pay in double too.
constexpr offset_t least_scalar_mean = 4;

}  // namespace

MerbitLayout choose_layout(const LayoutTraits& traits) noexcept {
  if (traits.line_share > local_line_share) return MerbitLayout::scalar;
  if (!traits.pattern) return MerbitLayout::vector;
  const bool lane_rows = traits.mean >= least_lane_row && (traits.mean < long_mean || !traits.doubles);
  if (lane_rows && traits.has_bulk_copies) return MerbitLayout::rows;
  return traits.doubles && traits.mean >= least_scalar_mean ? MerbitLayout::local_scalar : MerbitLayout::vector;
}

}  // namespace tessera::cuda
