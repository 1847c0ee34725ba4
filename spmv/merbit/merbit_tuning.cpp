/// \file
/// Choice of MERBIT's layout on a GPU.
#include "spmv/merbit/merbit_tuning.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <string_view>

namespace tessera::cuda {

namespace {

/// Up to this share neighbouring nonzeros read x so close together that all tiles take equal time.
constexpr double local_line_share = 0.16;

/// Rows from this length on keep a lane busy enough for one lane per row.
constexpr offset_t least_lane_row = 12;

/// Where at least so many parts of a matrix read each line of x, caches hold it, and tiles take equal time, too.
constexpr double even_line_uses = 3.0;

/// Persistent warps need several tiles each.
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

MerbitLayout choose_layout(const LayoutTraits& traits, const DeviceLimits& gpu) noexcept {
  using enum MerbitLayout;
  const auto fits_pattern = [&](MerbitLayout layout) {
    return fits(traits.doubles ? merbit_footprint<double, Ones>(layout) : merbit_footprint<float, Ones>(layout), gpu);
  };
  const bool local = traits.line_share <= local_line_share;
  const MerbitLayout direct = local ? vector : scalar;
  // Where tiles have more rows than nonzeros, row sums do not fit where columns were staged.
  if (!traits.pattern || traits.mean < 1) return direct;
  const bool lane_rows = traits.mean >= least_lane_row && (traits.mean < long_mean || !traits.doubles);
  if (local && lane_rows && traits.has_bulk_copies && fits_pattern(rows)) return rows;
  const bool even = local || traits.line_uses >= even_line_uses;
  const bool worth_persistence = even && traits.doubles && traits.nnz >= least_persistent_nonzeros;
  if (worth_persistence && fits_pattern(local_columns)) return local_columns;
  return !local && fits_pattern(columns) ? columns : direct;
}

std::string layout_reason(MerbitLayout layout, const LayoutTraits& traits) {
  return fmt::format(
      "layout {}: 100 neighbouring nonzeros touch {:.0f} lines of x, each of them in {:.1f} places of a sample",
      name_of(layout), 100.0 * traits.line_share, traits.line_uses);
}

void check_layout_fits(MerbitLayout layout, const KernelFootprint& block, const DeviceLimits& gpu,
                       std::string_view device_name) {
  if (fits(block, gpu)) return;
  throw NotSupported(
      fmt::format("the layout {} of MERBIT needs blocks of {} threads and {} bytes of shared memory: a multiprocessor "
                  "of {} has {} threads and {} bytes per block",
                  name_of(layout), block.threads, block.shared_bytes, device_name, gpu.threads_per_multiprocessor,
                  gpu.largest_shared_per_block));
}

}  // namespace tessera::cuda
