/// \file
/// From options to a kernel: checks, the choice of `automatic`, set-up.
#include "spmv/selection.hpp"

#include "core/parallel.hpp"
#include "preprocess/long_row_slices.hpp"
#include "preprocess/merge_search.hpp"
#include "spmv/blocked/blocked.hpp"
#include "spmv/blocked/blocked_tuning.hpp"
#include "spmv/common/chunks.hpp"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/measured_choice.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/prediction/predicted_time.hpp"
#include "spmv/registry.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tessera/error.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::detail {

namespace {

/// CSR cannot balance a row that alone is more than this part of the work.
constexpr std::int64_t largest_row_part = 64;

/// Products from which tiles pay on a GPU.
constexpr std::int64_t applications_worth_tiles = 50;

/// On a GPU, rows of at least so many nonzeros on average and of similar length are balanced without tiles.
constexpr offset_t mean_worth_warps = 48;
constexpr double most_spread = 1.1;

/// On a GPU, the time of products with at most so many nonzeros is that of dependent loads: least where a few lanes sum
/// a row, without a fix-up (bench/NOTES.md). Measured with values: patterns stay with tiles.
constexpr offset_t most_of_short_chains = 2'000'000;

/// Products from which tiles and slices pay: set-up takes the time of one product, and each saves about a third.
constexpr std::int64_t applications_worth_slices = 5;

/// On a GPU, nonzeros from which the reason has predicted times: they take a sample, of a few tenths of a millisecond.
constexpr offset_t least_predicted = 10'000'000;

struct LongestRow {
  offset_t length = 0;
  LongestRow& operator+=(const LongestRow& other) {
    length = std::max(length, other.length);
    return *this;
  }
};

template <class T>
offset_t longest_row(const CsrView<T>& a, const Device& device) {
  return host::parallel_sum<LongestRow>(device, a.rows,
                                        [&](host::Range rows) {
                                          LongestRow longest;
                                          for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                                            const auto row = static_cast<std::size_t>(i);
                                            longest += {a.row_offsets[row + 1] - a.row_offsets[row]};
                                          }
                                          return longest;
                                        })
      .length;
}

[[nodiscard]] bool keeps_class(SpmvAlgorithm algorithm, const SpmvOptions& options) {
  const SpmvBackend& backend = spmv_kernel_entry(algorithm).cuda;
  return backend.offered() && backend.strongest >= options.determinism;
}

/// Bitmap tiles where a sample promises that a product reads much less.
template <class T>
std::optional<SpmvSelection> select_tiles(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_bitmap_tiles || a.nnz() <= most_of_short_chains ||
      !keeps_class(SpmvAlgorithm::tiles, options)) {
    return std::nullopt;
  }
  const double fill = estimate_tiles(a, options.device).fill;
  const double value_bytes = value_bytes_of(a, options);
  if (!bitmap_tiles_pay(value_bytes, fill)) return std::nullopt;
  return SpmvSelection{SpmvAlgorithm::tiles,
                       fmt::format("tiles of 8 x 8 are filled by {:.2g} in a sample: {:.2g} bytes per nonzero instead "
                                   "of {:.2g}, which {} products repay",
                                   fill, tile_bytes_per_nonzero(value_bytes, fill), csr_bytes_per_nonzero(value_bytes),
                                   options.expected_applications)};
}

/// Row patterns where a sample of rows promises that lists name nearly all of them.
struct PatternsPromise {
  SpmvSelection selection;
  bool without_values = false;  ///< templates, or a pattern matrix: next to nothing is read
  bool before_tiles = false;    ///< also where those pay
};
template <class T>
std::optional<PatternsPromise> promise_of_patterns(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_row_templates || a.nnz() <= most_of_short_chains ||
      !keeps_class(SpmvAlgorithm::patterns, options)) {
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
      own < full || std::is_same_v<T, float>};
}

/// Sliced ELL where a sample promises columns and values in few bytes.
template <class T>
std::optional<SpmvSelection> select_sell(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_sell || a.nnz() <= most_of_short_chains ||
      !keeps_class(SpmvAlgorithm::sell, options)) {
    return std::nullopt;
  }
  const SellSample sample = cuda::sample_for_sell(a, options.device);
  const SellLayout layout = sample.layout(a.is_pattern(), std::is_same_v<T, double>);
  const double value_bytes = value_bytes_of(a, options);
  if (!sample.pays(layout, value_bytes)) return std::nullopt;
  return SpmvSelection{
      SpmvAlgorithm::sell,
      fmt::format("a sample has {}: {:.2g} bytes per nonzero instead of {:.2g}, which {} products repay",
                  describe_layout(layout, sample.values.distinct), sample.bytes_per_nonzero(layout, value_bytes),
                  csr_entry_bytes(value_bytes), options.expected_applications),
      layout};
}

/// The blocked product where reads of x are scattered over more than caches hold.
template <class T>
std::optional<SpmvSelection> select_blocked(const CsrView<T>& a, const SpmvOptions& options) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(a.values.data()) % 16 == 0;
  if (!aligned || a.nnz() <= most_of_short_chains || !keeps_class(SpmvAlgorithm::blocked, options)) return std::nullopt;
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

/// Kernels whose sample promised more than the matrix keeps.
struct Refused {
  bool patterns = false;
  bool sell = false;
  bool blocked = false;

  /// \returns false for a kernel that is not chosen by a sample, or was refused before
  bool add(SpmvAlgorithm algorithm) noexcept {
    if (algorithm == SpmvAlgorithm::patterns) return !std::exchange(patterns, true);
    if (algorithm == SpmvAlgorithm::sell) return !std::exchange(sell, true);
    if (algorithm == SpmvAlgorithm::blocked) return !std::exchange(blocked, true);
    return false;
  }
};

/// One kernel of csr-vector where launches and dependent loads are the time of a product.
template <class T>
std::optional<SpmvSelection> select_short_chains(const CsrView<T>& a, const SpmvOptions& options) {
  using enum SpmvAlgorithm;
  if (a.nnz() > most_of_short_chains || a.is_pattern() || !keeps_class(csr_vector, options)) return std::nullopt;
  const auto [lanes, longest] = cuda::whole_product(options.device, a.row_offsets);
  if (lanes == 0) return std::nullopt;
  const bool wide = value_bytes_of(a, options) > sizeof(float);
  if (wide && options.expected_applications >= applications_worth_tiles && keeps_class(merbit, options) &&
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

/// On a GPU, of the kernels that keep the required class: row patterns where rows repeat, the blocked product where
/// reads of a large x are scattered, bitmap tiles where they are well filled, sliced ELL where that takes half the
/// bytes, rows where they are balanced, tiles of MERBIT where they pay, else the first kernel that balances without
/// them.
template <class T>
SpmvSelection select_for_gpu(const CsrView<T>& a, const SpmvOptions& options, const Refused& refused) {
  using enum SpmvAlgorithm;
  const bool worth_tiles = options.expected_applications >= applications_worth_tiles;
  std::optional<PatternsPromise> row_patterns;
  if (!refused.patterns) row_patterns = promise_of_patterns(a, options);
  if (row_patterns && row_patterns->without_values) return std::move(row_patterns->selection);
  if (!refused.blocked) {
    if (std::optional<SpmvSelection> blocked_lists = select_blocked(a, options)) return *std::move(blocked_lists);
  }
  if (options.rank_products && a.is_pattern() && worth_tiles && keeps_class(merbit, options)) {
    return {merbit, "a whole iteration of PageRank is one product along tiles, for any rows"};
  }
  if (row_patterns && row_patterns->before_tiles) return std::move(row_patterns->selection);
  // Of values in full, multiplied in double, tiles read a little more and are faster (bench/NOTES.md).
  if (std::optional<SpmvSelection> bitmap_tiles = select_tiles(a, options)) return *std::move(bitmap_tiles);
  if (row_patterns) return std::move(row_patterns->selection);
  if (!refused.sell) {
    if (std::optional<SpmvSelection> sliced = select_sell(a, options)) return *std::move(sliced);
  }
  const offset_t mean = a.rows > 0 ? a.nnz() / a.rows : 0;
  if (mean >= mean_worth_warps && keeps_class(csr_vector, options) &&
      cuda::row_length_spread(options.device, a.row_offsets) <= most_spread) {
    return {csr_vector, fmt::format("rows of like length, {} nonzeros on average, balance by themselves", mean)};
  }
  if (std::optional<SpmvSelection> short_chains = select_short_chains(a, options)) return *std::move(short_chains);
  const std::array ranked =
      worth_tiles ? std::array{merbit, merge, csr_vector, csr5} : std::array{merge, csr_vector, merbit, csr5};
  for (const SpmvAlgorithm algorithm : ranked) {
    if (!keeps_class(algorithm, options)) continue;
    return {algorithm, algorithm == merbit
                           ? fmt::format("equal shares of the work for every warp; {} products repay the tiles",
                                         options.expected_applications)
                           : fmt::format("{} products would not repay tiles", options.expected_applications)};
  }
  throw NotSupported(fmt::format("no kernel on {} keeps {}", options.device.name(), to_string(options.determinism)));
}

/// MERBIT where its slices pay: only they make it faster than the others on the host.
template <class T>
std::optional<SpmvSelection> select_slices(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_slices) return std::nullopt;
  const LongRowTotals sliced = rows_worth_slicing(a.row_offsets, a.cols, sizeof(T), options.device);
  if (sliced.rows == 0) return std::nullopt;
  const double passes = static_cast<double>(sliced.nonzeros) / static_cast<double>(a.cols);
  return SpmvSelection{SpmvAlgorithm::merbit,
                       fmt::format("{} long rows hold {} of {} nonzeros, {:.1f} a column: merbit reads x once for all "
                                   "of these rows",
                                   sliced.rows, sliced.nonzeros, a.nnz(), passes)};
}

/// Row patterns where samples promise that lists name nearly all rows, and that values take fewer bytes or none.
template <class T>
std::optional<SpmvSelection> select_host_patterns(const CsrView<T>& a, const SpmvOptions& options) {
  if (options.expected_applications < applications_worth_row_templates || a.nnz() <= least_nonzeros_on_host) {
    return std::nullopt;
  }
  if (!host::neighbours_are_alike(a)) return std::nullopt;
  RowListEstimate estimate;
  if (!a.is_pattern()) estimate = host::estimate_row_lists(a, RowListKind::columns_and_values, options.device);
  double own = 0.0;
  if (!estimate.promises()) {
    if (!a.is_pattern()) {
      if (options.expected_applications < applications_worth_row_patterns_on_host) return std::nullopt;
      // Values first: where nothing compresses them, their sample costs a tenth of that of rows.
      own = host::promised_value_bytes(a);
      if (own >= sizeof(double)) return std::nullopt;
    }
    estimate = host::estimate_row_lists(a, RowListKind::columns, options.device);
  }
  if (!estimate.promises() || estimate.named_nonzero_share < least_named_nonzeros) return std::nullopt;
  const double bytes = pattern_bytes_per_nonzero(own, static_cast<double>(a.nnz()) / static_cast<double>(a.rows));
  return SpmvSelection{
      SpmvAlgorithm::patterns,
      fmt::format("{} {} name {:.3g} % of a sample of rows: {:.2g} bytes per nonzero instead of {:.2g}, which {} "
                  "products repay",
                  estimate.lists, name_of(estimate.kind), 100.0 * estimate.named_share, bytes,
                  csr_bytes_per_nonzero(a.is_pattern() ? 0.0 : sizeof(T)), options.expected_applications)};
}

template <class T>
std::unique_ptr<SpmvKernel<T>> make_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  const SpmvBackend& backend = spmv_kernel_entry(options.algorithm).on(options.device);
  if constexpr (std::is_same_v<T, float>) {
    return backend.make_float(a, options);
  } else {
    return backend.make_double(a, options);
  }
}

std::vector<std::string_view> kernel_names(const Device& device) {
  std::vector<std::string_view> names;
  for (const SpmvAlgorithm algorithm : spmv_algorithms(device)) names.push_back(to_string(algorithm));
  return names;
}

/// The kernel of a choice; of sliced ELL, and of row patterns on the host, only in a layout that the choice was made
/// for.
template <class T>
std::unique_ptr<SpmvKernel<T>> make_chosen_kernel(const CsrView<T>& a, const SpmvOptions& options,
                                                  const SpmvSelection& selection) {
  if (selection.promised) return cuda::make_promised_sell_kernel(a, options, *selection.promised);
  if (selection.algorithm == SpmvAlgorithm::patterns && options.device.is_host()) {
    return host::make_promised_patterns_kernel(a, options);
  }
  return make_kernel(a, options);
}

/// The predicted times of the kernel that `automatic` took and of the fastest other one; empty where the matrix is not
/// worth them, or there is no memory for the sample.
template <class T>
std::string predicted_times(const PlannedKernel<T>& planned, const CsrView<T>& a, const SpmvOptions& options) try {
  if (options.device.is_host() || a.nnz() < least_predicted) return {};
  PlanInfo info;
  planned.kernel->describe(info);
  const ProductTraits traits = with_plan_bytes(sampled_traits(a, options), planned.algorithm, info.bytes);
  std::vector<PredictedProduct> predicted = predict_products(traits, device_figures(options.device));
  std::erase_if(predicted, [&](const PredictedProduct& each) { return !keeps_class(each.algorithm, options); });
  return describe_prediction(predicted, planned.algorithm);
} catch (const OutOfMemory&) {
  return {};
}

template <class T>
PlannedKernel<T> with_prediction(PlannedKernel<T> planned, const CsrView<T>& a, const SpmvOptions& options) {
  const std::string text = predicted_times(planned, a, options);
  if (!text.empty()) planned.reason += "; " + text;
  return planned;
}

void check_named_kernel(const SpmvOptions& options) {
  const SpmvKernelEntry& entry = spmv_kernel_entry(options.algorithm);
  const SpmvBackend& backend = entry.on(options.device);
  if (!backend.offered()) {
    throw NotSupported(fmt::format("kernel {} does not run on {}: known there are {}", entry.name,
                                   options.device.name(), fmt::join(kernel_names(options.device), ", ")));
  }
  if (backend.strongest < options.determinism) {
    throw NotSupported(fmt::format("kernel {} keeps {} at most, asked for {}", entry.name, to_string(backend.strongest),
                                   to_string(options.determinism)));
  }
  if (!entry.has_descriptors && (options.sigma != 0 || options.descriptor_bits != 0)) {
    throw NotSupported(fmt::format("kernel {} has no descriptors: sigma and descriptor_bits do not apply", entry.name));
  }
}

}  // namespace

namespace {

template <class T>
SpmvSelection select_for_host(const CsrView<T>& a, const SpmvOptions& options, const Refused& refused) {
  const offset_t length = path_length(a.rows, a.nnz());
  if (length <= 2 * host::items_per_chunk) {
    return {SpmvAlgorithm::csr,
            fmt::format("{} rows and {} nonzeros: too small for load balancing to pay", a.rows, a.nnz())};
  }
  if (!refused.patterns) {
    if (std::optional<SpmvSelection> row_patterns = select_host_patterns(a, options)) return *std::move(row_patterns);
  }
  const offset_t longest = longest_row(a, options.device);
  if (longest >= shortest_sliced_run) {  // no shorter row is cut
    if (std::optional<SpmvSelection> slices = select_slices(a, options)) return *std::move(slices);
  }
  const double percent = a.nnz() > 0 ? 100.0 * static_cast<double>(longest) / static_cast<double>(a.nnz()) : 0.0;
  if (longest * largest_row_part <= length) {
    return {
        SpmvAlgorithm::csr,
        fmt::format("the longest row holds {} of {} nonzeros ({:.2g} %), so rows are evenly balanced across threads",
                    longest, a.nnz(), percent)};
  }
  return {SpmvAlgorithm::merge,
          fmt::format("one row holds {} of {} nonzeros ({:.2g} %) and must be cut", longest, a.nnz(), percent)};
}

}  // namespace

template <class T>
SpmvSelection select_spmv_kernel(const CsrView<T>& a, const SpmvOptions& options) {
  return options.device.is_host() ? select_for_host(a, options, {}) : select_for_gpu(a, options, {});
}

template SpmvSelection select_spmv_kernel(const CsrView<float>&, const SpmvOptions&);
template SpmvSelection select_spmv_kernel(const CsrView<double>&, const SpmvOptions&);

void check_spmv_options(const SpmvOptions& options) {
  if (spmv_algorithms(options.device).empty()) {
    throw DeviceUnavailable(fmt::format("this build has no SpMV kernels for {}", options.device.name()));
  }
  if (options.sigma < 0) throw InvalidArgument(fmt::format("sigma must not be negative, got {}", options.sigma));
  if (options.descriptor_bits != 0 && options.descriptor_bits != 32 && options.descriptor_bits != 64) {
    throw InvalidArgument(fmt::format("descriptor_bits must be 32, 64 or 0, got {}", options.descriptor_bits));
  }
  if (options.expected_applications < 0) {
    throw InvalidArgument(
        fmt::format("expected_applications must not be negative, got {}", options.expected_applications));
  }
  if (options.algorithm != SpmvAlgorithm::automatic && options.algorithm != SpmvAlgorithm::measured) {
    check_named_kernel(options);
  } else if (options.sigma != 0 || options.descriptor_bits != 0) {
    throw NotSupported(
        fmt::format("sigma and descriptor_bits belong to the kernels merbit and csr5: name one, {} may take another",
                    options.algorithm == SpmvAlgorithm::automatic ? "automatic" : "measured"));
  }
}

template <class T>
PlannedKernel<T> plan_kernel(const CsrView<T>& a, const CsrView<T>& on_host, const SpmvOptions& options) {
  if (options.algorithm == SpmvAlgorithm::measured) return measure_kernels(a, on_host, options);
  if (options.algorithm != SpmvAlgorithm::automatic) {
    return {make_kernel(a, options), options.algorithm, "named by the caller"};
  }
  SpmvOptions chosen = options;
  SpmvSelection selection = select_spmv_kernel(options.device.is_host() ? on_host : a, options);
  chosen.algorithm = selection.algorithm;
  // The strongest class costs nothing on the host: whoever leaves the choice to us gets reproducible results.
  if (options.device.is_host()) chosen.determinism = spmv_kernel_entry(selection.algorithm).host.strongest;
  check_named_kernel(chosen);
  Refused refused;
  while (refused.add(selection.algorithm)) {
    try {
      return with_prediction<T>({make_chosen_kernel(a, chosen, selection), chosen.algorithm, selection.reason}, a,
                                chosen);
    } catch (const NotSupported&) {  // the matrix does not keep what its sample promised
    } catch (const OutOfMemory&) {   // for the matrix once more
    }
    selection =
        options.device.is_host() ? select_for_host(on_host, options, refused) : select_for_gpu(a, options, refused);
    chosen.algorithm = selection.algorithm;
  }
  return with_prediction<T>({make_kernel(a, chosen), chosen.algorithm, std::move(selection.reason)}, a, chosen);
}

template PlannedKernel<float> plan_kernel(const CsrView<float>&, const CsrView<float>&, const SpmvOptions&);
template PlannedKernel<double> plan_kernel(const CsrView<double>&, const CsrView<double>&, const SpmvOptions&);

}  // namespace tessera::detail
