/// \file
/// The plan of MERBIT on a GPU.
#include "spmv/merbit/merbit_plan.hpp"

#include "core/cuda/launch.cuh"
#include "core/cuda/memory.hpp"
#include "spmv/common/value_bytes.hpp"
#include "spmv/merbit/merbit_join_kernel.cuh"
#include "tessera/error.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::cuda {

namespace {

constexpr int bulk_copy_capability = 90;

/// Of the memory that is free, what codes and slots may take.
constexpr double most_code_share = 1.0 / 3.0;

/// Without tiles yet.
PlannedTiles planned_layout(MerbitLayout layout, std::string reason = {}) {
  PlannedTiles planned;
  planned.layout = layout;
  planned.reason = std::move(reason);
  return planned;
}

template <class T>
offset_t mean_length(const CsrView<T>& a) {
  return a.rows > 0 ? a.nnz() / a.rows : 0;
}

/// Whether a column array may be read in groups of 16 bytes.
bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

template <class T>
bool loads_fours(const CsrView<T>& a) {
  return is_aligned(a.columns.data()) && is_aligned(a.values.data());
}

/// Whether the code that runs on the GPU has bulk copies: code compiled for an older architecture and translated by the
/// driver has none, whatever the GPU.
bool has_bulk_copies(const Device& device) {
  const DeviceGuard current(device);
  cudaFuncAttributes code{};
  check(cudaFuncGetAttributes(&code, merbit_join_kernel<float, false, SnappedTileArrays>),
        "asking for the machine code");
  return code.ptxVersion >= bulk_copy_capability;
}

/// \throws NotSupported for a layout that does not suit the code, the arrays or the GPU
template <class T, class V>
void check_forced_layout(MerbitLayout layout, const CsrView<T>& a, const Device& device, bool bulk_copies) {
  if (layout == MerbitLayout::rows && !bulk_copies) {
    throw NotSupported(
        "the layout rows of MERBIT needs code for compute capability 9.0, which this build does not have for " +
        device.name());
  }
  const bool wide = layout != MerbitLayout::scalar && layout != MerbitLayout::exact;
  if (wide && !loads_fours(a)) throw NotSupported("this layout of MERBIT needs arrays aligned to 16 bytes");
  check_layout_fits(layout, merbit_footprint<T, V>(layout), Context::of(device).limits(), device.name());
}

/// Layout and reason alone. \param bulk_copies whether layouts that need them may be chosen
template <class T>
PlannedTiles layout_for(const CsrView<T>& a, const SpmvOptions& options, bool bulk_copies) {
  if (options.sigma != 0 || options.descriptor_bits == 64) return planned_layout(MerbitLayout::exact);
  if (!loads_fours(a)) return planned_layout(MerbitLayout::scalar);
  const GatherSample gathers = sample_gathers(a.columns, static_cast<int>(sizeof(T)), options.device);
  const LayoutTraits traits{gathers.line_share(), gathers.line_uses(),         a.nnz(),    mean_length(a),
                            a.is_pattern(),       sizeof(T) == sizeof(double), bulk_copies};
  const MerbitLayout layout = choose_layout(traits, Context::of(options.device).limits());
  PlannedTiles planned = planned_layout(layout, layout_reason(layout, traits));
  planned.line_share = traits.line_share;
  return planned;
}

/// Bytes that codes and slots may take: of the memory that is free a part, and what a limit leaves beside matrix and
/// tiles.
template <class T>
double code_room(const CsrView<T>& a, const SpmvOptions& options) {
  const double room = most_code_share * static_cast<double>(available_bytes(options.device));
  if (options.memory_limit_bytes == 0) return room;
  constexpr double tile_bytes = 0.4;
  const double held = static_cast<double>(a.nnz()) * (sizeof(index_t) + value_bytes_of(a, options) + tile_bytes) +
                      static_cast<double>(a.rows) * sizeof(offset_t);
  return std::min(room, static_cast<double>(options.memory_limit_bytes) - held);
}

/// Hubs that a block may stage.
template <class T>
std::int64_t stageable_hubs(const Device& device) {
  constexpr int columns_bytes = MerbitCudaPolicy<T, Ones>::ColumnsOfStagedHubs::dynamic_shared_bytes;
  return staged_hub_room(Context::of(device).limits(), columns_bytes) / static_cast<int>(sizeof(T));
}

/// The rules by which to look for hubs; nothing where they are not worth it. \param planned layout and sample
template <class T>
std::optional<HubRules> rules_of_hubs(const CsrView<T>& a, const SpmvOptions& options, const PlannedTiles& planned) {
  const std::int64_t cache = second_level_cache_bytes(options.device);
  HubRules rules = hub_rules(a.nnz(), sizeof(T), value_bytes_of(a, options), cache);
  rules.most_staged = planned.layout == MerbitLayout::columns ? stageable_hubs<T>(options.device) : 0;
  const double room = code_room(a, options);
  const HubTraits traits{a.cols, a.nnz(), planned.line_share, options.expected_applications, room, a.is_pattern()};
  if (!may_gain_by_hubs(traits, rules)) return std::nullopt;
  // Rankings keep packed x a second time, which the room does not count, and slots in them are not measured.
  if (!options.rank_products) rules.slots = slot_rules(a.cols, a.nnz(), room, rules, cache);
  return rules;
}

/// None where they do not pay, where no sample was taken, or where memory gives out. \param planned layout and sample
template <class T>
HubColumns hubs_of(const CsrView<T>& a, const SpmvOptions& options, const MerbitTuning& tuning,
                   const PlannedTiles& planned) try {
  std::optional<HubRules> rules;
  if (tuning.hubs) {
    rules = tuning.hubs;
    rules->most_staged = std::min(rules->most_staged, stageable_hubs<T>(options.device));
  } else {
    rules = rules_of_hubs(a, options, planned);
  }
  return rules ? find_hub_columns(a.cols, a.row_offsets, a.columns, *rules, options.device) : HubColumns{};
} catch (const OutOfMemory&) {
  return {};
}

/// For the layouts whose tiles may be walked.
TileRules tile_rules(MerbitLayout layout, index_t rows, offset_t nnz, int sigma, int batch) {
  if (layout == MerbitLayout::columns) return columns_tiles(rows, nnz, sigma);
  if (layout == MerbitLayout::local_columns) return local_columns_tiles(rows, nnz, sigma);
  return choose_tiles(rows, nnz, sigma, batch);
}

/// Tiles of the layout `rows`; empty where some of them would have to be walked.
template <class T>
SnappedTiles build_row_tiles(const CsrView<T>& a, int max_items, const Device& device) {
  const TileRules rules = row_tiles(mean_length(a), max_items, choose_snap(a.rows, a.nnz()));
  SnappedTiles tiles = build_snapped_tiles(a.rows, a.row_offsets, a.nnz(), rules, device);
  return tiles.cannot_be_summed ? SnappedTiles{} : std::move(tiles);
}

/// The tiles of a layout. \returns whether there are any: not of `rows` where some would have to be walked
template <class T, class V>
bool build_tiles(PlannedTiles& planned, const CsrView<T>& a, const SpmvOptions& options) {
  if (planned.layout == MerbitLayout::exact) {
    const MerbitShape shape = choose_merbit_shape(options, exact_sigma_32, exact_sigma_64);
    planned.exact =
        detail::build_merbit_tiles(a.rows, a.row_offsets, shape.sigma, shape.descriptor_bits, options.device);
    return true;
  }
  const MerbitProduct<T, V> product = merbit_product<T, V>(planned.layout);
  if (planned.layout == MerbitLayout::rows) {
    planned.snapped = build_row_tiles(a, product.max_items, options.device);
    return !planned.snapped.starts.empty();
  }
  const TileRules rules = tile_rules(planned.layout, a.rows, a.nnz(), product.sigma, product.batch);
  planned.snapped = build_snapped_tiles(a.rows, a.row_offsets, a.nnz(), rules, options.device);
  return true;
}

}  // namespace

template <class T, class V>
PlannedTiles plan_tiles(const CsrView<T>& a, const SpmvOptions& options, const MerbitTuning& tuning) {
  const bool bulk_copies = has_bulk_copies(options.device);
  if (tuning.layout) check_forced_layout<T, V>(*tuning.layout, a, options.device, bulk_copies);
  PlannedTiles planned = tuning.layout ? planned_layout(*tuning.layout) : layout_for(a, options, bulk_copies);
  if (!build_tiles<T, V>(planned, a, options)) {
    planned = layout_for(a, options, false);
    build_tiles<T, V>(planned, a, options);
  }
  if (takes_hubs(planned.layout)) planned.hubs = hubs_of(a, options, tuning, planned);
  return planned;
}

template <class T>
HubForecast forecast_hubs(const CsrView<T>& a, const SpmvOptions& options) try {
  const PlannedTiles planned = layout_for(a, options, has_bulk_copies(options.device));
  if (!takes_hubs(planned.layout)) return {};
  const std::optional<HubRules> rules = rules_of_hubs(a, options, planned);
  return rules ? forecast_hub_columns(a.cols, a.row_offsets, a.columns, *rules, options.device) : HubForecast{};
} catch (const OutOfMemory&) {
  return {};
}

template HubForecast forecast_hubs(const CsrView<float>&, const SpmvOptions&);
template HubForecast forecast_hubs(const CsrView<double>&, const SpmvOptions&);

template PlannedTiles plan_tiles<float, float>(const CsrView<float>&, const SpmvOptions&, const MerbitTuning&);
template PlannedTiles plan_tiles<float, Ones>(const CsrView<float>&, const SpmvOptions&, const MerbitTuning&);
template PlannedTiles plan_tiles<double, double>(const CsrView<double>&, const SpmvOptions&, const MerbitTuning&);
template PlannedTiles plan_tiles<double, float>(const CsrView<double>&, const SpmvOptions&, const MerbitTuning&);
template PlannedTiles plan_tiles<double, Ones>(const CsrView<double>&, const SpmvOptions&, const MerbitTuning&);

}  // namespace tessera::cuda
