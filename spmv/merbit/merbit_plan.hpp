/// \file
/// The plan of MERBIT on a GPU: layout, tiles, hub columns.
#pragma once

#include "preprocess/merbit_tiles.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/hub_columns.hpp"
#include "spmv/merbit/merbit.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_tuning.hpp"

#include <cstdint>
#include <string>

namespace tessera::cuda {

/// Above this many tiles sharing rows, atomic contention costs more than the carry fix-up pass.
inline constexpr double crowd = 4096;

/// The tiles of a plan: of one kind or the other.
struct PlannedTiles {
  MerbitLayout layout = MerbitLayout::scalar;
  std::string reason;       ///< of the layout, where a sample of the columns decided
  double line_share = 0.0;  ///< of a sample; 0 where the layout was forced
  SnappedTiles snapped;
  MerbitTiles exact;
  HubColumns hubs;

  [[nodiscard]] bool are_exact() const { return layout == MerbitLayout::exact; }
  [[nodiscard]] std::int64_t count() const { return are_exact() ? exact.tiles() : snapped.tiles(); }
  [[nodiscard]] std::uint64_t bytes() const { return (are_exact() ? exact.bytes() : snapped.bytes()) + hubs.bytes(); }
  /// Whether any row may lie in several tiles.
  [[nodiscard]] bool share_rows() const { return are_exact() ? exact.tiles() > 1 : snapped.shared_starts > 0; }

  [[nodiscard]] bool crowd_rows() const { return snapped.crowded_tiles >= crowd; }

  [[nodiscard]] SnappedTileArrays snapped_arrays() const {
    return {snapped.starts.data(), snapped.lane_words.data(), snapped.tiles()};
  }
  [[nodiscard]] ExactTileArrays exact_arrays() const {
    return {
        exact.tile_x.data(), exact.tile_y.data(), exact.lane_words_32.data(), exact.lane_words_64.data(), exact.tiles(),
        exact.sigma,         exact.rows};
  }
};

/// Chosen for the matrix and the GPU, unless the options or the tuning say otherwise. Waits.
/// \tparam V of the values, as in merbit_product() \param a on options.device
/// \throws NotSupported for a forced layout that does not suit the GPU or the matrix; OutOfMemory, CudaError
template <class T, class V>
[[nodiscard]] PlannedTiles plan_tiles(const CsrView<T>& a, const SpmvOptions& options, const MerbitTuning& tuning);

/// What the hubs that such a plan may look for would change, by samples. Zeros where there is no memory for these.
/// Waits. \param a on options.device \throws CudaError
template <class T>
[[nodiscard]] HubForecast forecast_hubs(const CsrView<T>& a, const SpmvOptions& options);

}  // namespace tessera::cuda
