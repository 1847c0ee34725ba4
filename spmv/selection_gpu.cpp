/// \file
/// The choice of `automatic` on a GPU.
#include "spmv/selection_rules.hpp"

#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/patterns/patterns_tuning.hpp"
#include "spmv/prediction/device_figures.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tessera/error.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

namespace tessera::detail {

namespace {

/// Products from which tiles pay on a GPU.
constexpr std::int64_t applications_worth_tiles = 50;

/// The same where tiles bring PageRank's fused iteration, which saves about half of a product each time.
constexpr std::int64_t applications_worth_rank_tiles = 5;

/// On a GPU, rows of at least so many nonzeros on average and of similar length are balanced without tiles.
constexpr offset_t mean_worth_warps = 48;
constexpr double most_spread = 1.1;

/// On a GPU, the time of products with at most so many nonzeros is that of dependent loads: least where a few lanes sum
/// a row, without a fix-up (bench/NOTES.md).
constexpr offset_t most_of_short_chains = 2'000'000;

/// A layout that a sample promises.
struct LayoutPromise {
  SpmvSelection selection;
  double bytes = 0.0;  ///< of the matrix that a product reads per nonzero
  double fill = 0.0;   ///< of tiles
  bool sorts = false;  ///< rows of sliced ELL
};

/// Bitmap tiles where a sample promises that a product reads much less.
template <class T>
std::optional<LayoutPromise> promise_of_tiles(const CsrView<T>& a, const SpmvOptions& options,
                                              const RefusedKernels& refused) {
  if (refused.tiles || options.expected_applications < applications_worth_bitmap_tiles ||
      a.nnz() <= most_of_short_chains || !gpu_kernel_keeps_class(SpmvAlgorithm::tiles, options)) {
    return std::nullopt;
  }
  const double fill = estimate_tiles(a, options.device).fill;
  const double value_bytes = value_bytes_of(a, options);
  if (!bitmap_tiles_pay(value_bytes, fill)) return std::nullopt;
  const double bytes = tile_bytes_per_nonzero(value_bytes, fill);
  return LayoutPromise{{SpmvAlgorithm::tiles,
                        fmt::format("tiles of 8 x 8 are filled by {:.2g} in a sample: {:.2g} bytes per nonzero instead "
                                    "of {:.2g}, which {} products repay",
                                    fill, bytes, csr_bytes_per_nonzero(value_bytes), options.expected_applications)},
                       bytes,
                       fill};
}

/// Whether tiles are faster than row patterns.
bool are_full(const std::optional<LayoutPromise>& bitmap_tiles) {
  return bitmap_tiles && bitmap_tiles->fill >= least_fill_before_row_patterns;
}

/// Row patterns where a sample of rows promises that lists name nearly all of them.
struct PatternsPromise {
  SpmvSelection selection;
  bool without_values = false;  ///< templates, or a pattern matrix: next to nothing is read
  bool before_tiles = false;    ///< also where those pay
  bool are_floats = false;      ///< values, multiplied in double
};

template <class T>
std::optional<PatternsPromise> promise_of_patterns(const CsrView<T>& a, const SpmvOptions& options,
                                                   const RefusedKernels& refused) {
  if (refused.patterns || options.expected_applications < applications_worth_row_templates ||
      a.nnz() <= most_of_short_chains || !gpu_kernel_keeps_class(SpmvAlgorithm::patterns, options)) {
    return std::nullopt;
  }
  const RowListEstimate estimate = cuda::estimate_row_lists(a, options.device);
  if (!estimate.promises() || estimate.named_nonzero_share < least_named_nonzeros) return std::nullopt;
  const double full = value_bytes_of(a, options);
  const bool without_values = a.is_pattern() || estimate.kind == RowListKind::columns_and_values;
  if (!without_values && options.expected_applications < applications_worth_row_patterns) return std::nullopt;
  const double own = without_values ? 0.0 : std::min(full, cuda::promised_value_bytes(a, options.device));
  const double bytes = pattern_bytes_per_nonzero(own, static_cast<double>(a.nnz()) / static_cast<double>(a.rows));
  return PatternsPromise{
      {SpmvAlgorithm::patterns,
       fmt::format("{} {} name {:.3g} % of a sample of rows: {:.2g} bytes per nonzero instead of {:.2g}, which {} "
                   "products repay",
                   estimate.lists, name_of(estimate.kind), 100.0 * estimate.named_share, bytes,
                   csr_bytes_per_nonzero(full), options.expected_applications)},
      without_values,
      own < full || std::is_same_v<T, float>,
      own == sizeof(float) && std::is_same_v<T, double>};
}

/// Sliced ELL where a sample promises columns and values in few bytes.
template <class T>
std::optional<LayoutPromise> promise_of_sell(const CsrView<T>& a, const SpmvOptions& options,
                                             const RefusedKernels& refused) {
  if (refused.sell || options.expected_applications < applications_worth_sell || a.nnz() <= most_of_short_chains ||
      !gpu_kernel_keeps_class(SpmvAlgorithm::sell, options)) {
    return std::nullopt;
  }
  const SellSample sample = cuda::sample_for_sell(a, options.device);
  const SellLayout layout = sample.layout(a.is_pattern(), std::is_same_v<T, double>);
  const double value_bytes = value_bytes_of(a, options);
  if (!sample.pays(layout, value_bytes)) return std::nullopt;
  const double bytes = sample.bytes_per_nonzero(layout, value_bytes);
  return LayoutPromise{
      {SpmvAlgorithm::sell,
       fmt::format("a sample has {}: {:.2g} bytes per nonzero instead of {:.2g}, which {} products repay",
                   describe_layout(layout, sample.values.distinct), bytes, csr_entry_bytes(value_bytes),
                   options.expected_applications),
       layout},
      bytes,
      0.0,
      sample.sorts()};
}

/// Of tiles and sliced ELL, where both are promised, that with the shorter predicted time. By the figures of the kind
/// of GPU: a calibration changes no result.
template <class T>
std::optional<SpmvSelection> faster_of(std::optional<LayoutPromise> bitmap_tiles, std::optional<LayoutPromise> sliced,
                                       const CsrView<T>& a, const SpmvOptions& options) {
  if (!bitmap_tiles && !sliced) return std::nullopt;
  if (!bitmap_tiles) return std::move(sliced->selection);
  if (!sliced) return std::move(bitmap_tiles->selection);
  ProductTraits traits = sampled_traits(a, options);
  traits.tile_bytes = bitmap_tiles->bytes;
  traits.sell_bytes = sliced->bytes;
  traits.sell_is_sorted = sliced->sorts;
  const DeviceFigures figures = figures_of(attributes_of(options.device));
  const auto by_tiles = predict_product(SpmvAlgorithm::tiles, traits, figures);
  const auto by_slices = predict_product(SpmvAlgorithm::sell, traits, figures);
  return std::move((by_tiles->ms <= by_slices->ms ? bitmap_tiles : sliced)->selection);
}

/// Of templates or a pattern matrix, whose row patterns read next to nothing.
template <class T>
SpmvSelection select_without_values(PatternsPromise row_patterns, const CsrView<T>& a, const SpmvOptions& options,
                                    const RefusedKernels& refused) {
  if (!a.is_pattern() || options.rank_products) return std::move(row_patterns.selection);
  std::optional<LayoutPromise> bitmap_tiles = promise_of_tiles(a, options, refused);
  return std::move(are_full(bitmap_tiles) ? bitmap_tiles->selection : row_patterns.selection);
}

/// Row patterns with values of their own, tiles or sliced ELL.
template <class T>
std::optional<SpmvSelection> select_layout(std::optional<PatternsPromise> row_patterns, const CsrView<T>& a,
                                           const SpmvOptions& options, const RefusedKernels& refused) {
  const bool long_and_few = cuda::are_rows_long_and_few(a.rows, a.nnz());
  if (row_patterns && row_patterns->before_tiles) {
    // Slices are faster where such rows hold floats, 1.12 and 1.09 times (bench/NOTES.md), and are too long for a half.
    const bool try_slices =
        row_patterns->are_floats && long_and_few && a.nnz() / a.rows >= offset_t{2} * most_half_diagonals;
    std::optional<LayoutPromise> sliced;
    if (try_slices) sliced = promise_of_sell(a, options, refused);
    return std::move(sliced ? sliced->selection : row_patterns->selection);
  }
  // Of values in full, multiplied in double, tiles read a little more and are faster (bench/NOTES.md), but for half
  // empty ones where rows are long and few.
  std::optional<LayoutPromise> bitmap_tiles = promise_of_tiles(a, options, refused);
  if (row_patterns && (!bitmap_tiles || (long_and_few && !are_full(bitmap_tiles)))) {
    return std::move(row_patterns->selection);
  }
  return faster_of(std::move(bitmap_tiles), promise_of_sell(a, options, refused), a, options);
}

/// The blocked product where reads of x are scattered over more than caches hold.
template <class T>
std::optional<SpmvSelection> select_blocked(const CsrView<T>& a, const SpmvOptions& options,
                                            const RefusedKernels& refused) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(a.values.data()) % 16 == 0;
  if (refused.blocked || !aligned || a.nnz() <= most_of_short_chains ||
      !gpu_kernel_keeps_class(SpmvAlgorithm::blocked, options)) {
    return std::nullopt;
  }
  const cuda::BlockedForecast forecast = cuda::forecast_blocked(a, options.device);
  if (!forecast.pays(options.expected_applications)) return std::nullopt;
  return SpmvSelection{
      SpmvAlgorithm::blocked,
      fmt::format(
          "{:.2g} cache lines per nonzero, in a sample, of an x of {:.3g} MB: x by blocks of columns takes {:.2g} "
          "of the time of gathers, which {} products repay",
          forecast.line_share, 1e-6 * forecast.x_bytes, forecast.blocked_ms / forecast.gather_ms,
          options.expected_applications)};
}

/// One kernel of csr-vector where launches and dependent loads are the time of a product.
template <class T>
std::optional<SpmvSelection> select_short_chains(const CsrView<T>& a, const SpmvOptions& options) {
  using enum SpmvAlgorithm;
  if (a.nnz() > most_of_short_chains || !gpu_kernel_keeps_class(csr_vector, options)) return std::nullopt;
  const auto [lanes, longest] = cuda::whole_product(options.device, a.row_offsets);
  if (lanes == 0) return std::nullopt;
  const bool wide = value_bytes_of(a, options) > sizeof(float);
  if (wide && options.expected_applications >= applications_worth_tiles && gpu_kernel_keeps_class(merbit, options) &&
      cuda::csr_vector_idles(a.rows, a.nnz(), lanes, longest)) {
    return SpmvSelection{merbit,
                         fmt::format("a row of {} nonzeros asks for {} lanes per row, {:.2g} per nonzero: equal shares "
                                     "of the work for every warp, which {} products repay",
                                     longest, lanes, 1.0 * a.rows * lanes / static_cast<double>(a.nnz()),
                                     options.expected_applications)};
  }
  return SpmvSelection{csr_vector,
                       fmt::format("{} nonzeros are so few that launches and loads in a chain decide: one kernel, {} "
                                   "lanes per row, at most {} loads in a chain",
                                   a.nnz(), lanes, cuda::csr_vector_chain(lanes, longest))};
}

}  // namespace

template <class T>
SpmvSelection select_for_gpu(const CsrView<T>& a, const SpmvOptions& options, const RefusedKernels& refused) {
  using enum SpmvAlgorithm;
  const bool worth_tiles = options.expected_applications >= applications_worth_tiles;
  std::optional<PatternsPromise> row_patterns = promise_of_patterns(a, options, refused);
  if (row_patterns && row_patterns->without_values) {
    return select_without_values(*std::move(row_patterns), a, options, refused);
  }
  if (auto blocked_lists = select_blocked(a, options, refused)) return *std::move(blocked_lists);
  if (options.rank_products && a.is_pattern() && options.expected_applications >= applications_worth_rank_tiles &&
      gpu_kernel_keeps_class(merbit, options)) {
    return {merbit, "a whole iteration of PageRank is one product along tiles, for any rows"};
  }
  if (auto layout = select_layout(std::move(row_patterns), a, options, refused)) return *std::move(layout);
  const offset_t mean = a.rows > 0 ? a.nnz() / a.rows : 0;
  if (mean >= mean_worth_warps && gpu_kernel_keeps_class(csr_vector, options) &&
      cuda::row_length_spread(options.device, a.row_offsets) <= most_spread) {
    return {csr_vector, fmt::format("rows of like length, {} nonzeros on average, balance by themselves", mean)};
  }
  if (std::optional<SpmvSelection> short_chains = select_short_chains(a, options)) return *std::move(short_chains);
  const std::array ranked =
      worth_tiles ? std::array{merbit, merge, csr_vector, csr5} : std::array{merge, csr_vector, merbit, csr5};
  for (const SpmvAlgorithm algorithm : ranked) {
    if (!gpu_kernel_keeps_class(algorithm, options)) continue;
    return {algorithm, algorithm == merbit
                           ? fmt::format("equal shares of the work for every warp; {} products repay the tiles",
                                         options.expected_applications)
                           : fmt::format("{} products would not repay tiles", options.expected_applications)};
  }
  throw NotSupported(fmt::format("no kernel on {} keeps {}", options.device.name(), to_string(options.determinism)));
}

template SpmvSelection select_for_gpu(const CsrView<float>&, const SpmvOptions&, const RefusedKernels&);
template SpmvSelection select_for_gpu(const CsrView<double>&, const SpmvOptions&, const RefusedKernels&);

}  // namespace tessera::detail
