/// \file
/// Outlook on bitmap tiles, which have one layout.
#include "spmv/common/layout_outlook.hpp"
#include "spmv/common/value_bytes.hpp"
#include "spmv/tiles/tiles_tuning.hpp"

#include <fmt/format.h>

namespace tessera::detail {

template <class T>
LayoutOutlook outlook_on_tiles(const CsrView<T>& a, double fill) {
  const double bytes = tile_bytes_per_nonzero(value_bytes_of(a, SpmvOptions{}), fill);
  return {SpmvAlgorithm::tiles,
          a.is_pattern() ? "no values" : "values in full",
          true,
          true,
          bytes,
          fmt::format("filled by {:.2g}: {:.3g} bytes per nonzero", fill, bytes)};
}

template LayoutOutlook outlook_on_tiles(const CsrView<float>&, double);
template LayoutOutlook outlook_on_tiles(const CsrView<double>&, double);

}  // namespace tessera::detail
