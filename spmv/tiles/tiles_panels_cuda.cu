/// \file
/// Bitmap tiles times a multivector on a GPU: a launch per panel of eight columns, two more where tile rows are long.
#include "spmv/tiles/tiles_panels.hpp"

#include "core/cuda/launch.cuh"
#include "spmv/tiles/tiles_panel_kernel.cuh"

namespace tessera::cuda {

namespace {

template <class Terms, class T>
void launch_panel(const Context& context, const GpuTiles& tiles, const Terms& terms, const StridedUpdate<T>& y,
                  int columns, std::span<T> sums) {
  constexpr int warps = tiles_threads / warp_size;
  const TileRecord* const records = tiles.records.data();
  launch("product of tile rows with eight columns", context, Grid{blocks_for(tiles.tile_rows(), warps), tiles_threads},
         tile_rows_panel_kernel<Terms, T>, tiles.row_arrays(), records, terms, y, columns);
  const TilePartArrays parts = tiles.part_arrays();
  if (parts.count == 0) return;
  launch("product of long tile rows with eight columns", context, Grid{blocks_for(parts.count, warps), tiles_threads},
         tile_parts_panel_kernel<Terms, T>, parts, records, terms, sums.data());
  launch("sums of long tile rows", context, Grid{static_cast<unsigned>(parts.count), joining_threads},
         join_panel_parts_kernel<T>, parts, static_cast<const T*>(sums.data()), tiles.rows, y, columns);
}

}  // namespace

template <class T, class V>
void enqueue_panels(const Context& context, const GpuTiles& tiles, std::span<const V> values, T alpha,
                    const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y, std::span<T> sums) {
  // Without rows of X there are no tiles.
  const auto last_row = static_cast<std::uint32_t>(x.rows() > 0 ? x.rows() - 1 : 0);
  for_each_panel(x, y, [&](const StridedVectors<const T>& source, const StridedVectors<T>& target, int columns) {
    const StridedUpdate<T> update{target, alpha, beta};
    if (values.empty()) {
      return launch_panel(context, tiles, PanelTerms<T, void>{nullptr, source, last_row, columns - 1}, update, columns,
                          sums);
    }
    launch_panel(context, tiles, PanelTerms<T, V>{values.data(), source, last_row, columns - 1}, update, columns, sums);
  });
}

template void enqueue_panels(const Context&, const GpuTiles&, std::span<const float>, float,
                             const MultiVectorView<const float>&, float, const MultiVectorView<float>&,
                             std::span<float>);
template void enqueue_panels(const Context&, const GpuTiles&, std::span<const double>, double,
                             const MultiVectorView<const double>&, double, const MultiVectorView<double>&,
                             std::span<double>);
template void enqueue_panels(const Context&, const GpuTiles&, std::span<const float>, double,
                             const MultiVectorView<const double>&, double, const MultiVectorView<double>&,
                             std::span<double>);

}  // namespace tessera::cuda
