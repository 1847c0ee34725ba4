// Tiles and fill from a stratified sample of tile rows, by the ratio of entries to tiles in it.
#include "preprocess/tile_estimate.hpp"

#include "core/parallel.hpp"
#include "tessera/tile_matrix.hpp"

#include <algorithm>

namespace tessera {

namespace {

using namespace detail;

TwoSums count_sample(const CsrStructurePointers& a, const SampledTileRows& sample, offset_t most,
                     const Device& device) {
  if (!device.is_host()) return cuda::count_sample(a, sample, most, device);
  return host::parallel_sum<TwoSums>(device, sample.count, [&](host::Range range) {
    TwoSums sum;
    for (std::int64_t number = range.begin; number < range.end; ++number) {
      sum += count_tile_row(a, sample.at(number, a), most);
    }
    return sum;
  });
}

}  // namespace

template <class T>
TileEstimate estimate_tiles(const CsrView<T>& matrix, const Device& device, const TileSample& sample) {
  const index_t tile_rows = tiles_across(matrix.rows);
  TileEstimate result;
  result.tile_rows = std::min(std::max<index_t>(sample.tile_rows, 1), tile_rows);
  const auto nnz = static_cast<double>(matrix.nnz());
  if (matrix.nnz() == 0) return result;
  const CsrStructurePointers a{matrix.rows, matrix.row_offsets.data(), matrix.columns.data()};
  const TwoSums counted =
      count_sample(a, {tile_rows, result.tile_rows, false}, std::max<offset_t>(sample.tiles, 1), device);
  result.tiles = tiles_of_sample(nnz, counted);
  result.fill = nnz / (64.0 * result.tiles);
  return result;
}

template TileEstimate estimate_tiles(const CsrView<float>&, const Device&, const TileSample&);
template TileEstimate estimate_tiles(const CsrView<double>&, const Device&, const TileSample&);

}  // namespace tessera
