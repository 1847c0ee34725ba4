#include "spmv/merbit/policy_cuda.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::cuda {

namespace {

/// Up to here neighbouring nonzeros read x so near to each other that all tiles take the same time.
constexpr double local_line_share = 0.16;

/// Rows from here on fill enough of a lane's time for a lane a row.
constexpr offset_t least_lane_row = 12;

/// Where so many places of a matrix read each line of x, the caches have it, and tiles take the same time too.
constexpr double even_line_uses = 3.0;

/// Persistent warps need some tiles each.
constexpr offset_t least_persistent_nonzeros = 6'000'000;

std::string_view name_of(MerbitLayout layout) {
  switch (layout) {
    case MerbitLayout::exact:
      return "exact";
    case MerbitLayout::scalar:
      return "scalar";
    case MerbitLayout::vector:
      return "vector";
    case MerbitLayout::columns:
      return "columns";
    case MerbitLayout::local_columns:
      return "local columns";
    case MerbitLayout::rows:
      break;
  }
  return "rows";
}

}  // namespace

MerbitLayout choose_layout(const LayoutTraits& traits) noexcept {
  const bool local = traits.line_share <= local_line_share;
  // Where tiles have more rows than nonzeros, row sums do not fit where columns were staged.
  if (!traits.pattern || traits.mean < 1) return local ? MerbitLayout::vector : MerbitLayout::scalar;
  const bool lane_rows = traits.mean >= least_lane_row && (traits.mean < long_mean || !traits.doubles);
  if (local && lane_rows && traits.has_bulk_copies) return MerbitLayout::rows;
  const bool even = local || traits.line_uses >= even_line_uses;
  if (even && traits.doubles && traits.nnz >= least_persistent_nonzeros) return MerbitLayout::local_columns;
  return local ? MerbitLayout::vector : MerbitLayout::columns;
}

std::string layout_reason(MerbitLayout layout, const LayoutTraits& traits) {
  return fmt::format(
      "layout {}: 100 neighbouring nonzeros touch {:.0f} lines of x, each of them in {:.1f} places of a sample",
      name_of(layout), 100.0 * traits.line_share, traits.line_uses);
}

}  // namespace tessera::cuda
