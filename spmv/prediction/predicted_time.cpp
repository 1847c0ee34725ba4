/// \file
/// Predicted time of one product: constants of the kernels, and how they are combined.
#include "spmv/prediction/predicted_time.hpp"

#include "spmv/common/value_bytes.hpp"
#include "spmv/csr_vector/csr_vector_tuning.hpp"
#include "spmv/csr_vector/row_lengths.hpp"
#include "spmv/merbit/merbit_plan.hpp"
#include "spmv/patterns/patterns.hpp"
#include "spmv/prediction/device_figures.hpp"
#include "spmv/sell/sell.hpp"
#include "spmv/tiles/tiles_tuning.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

namespace tessera::detail {

namespace {

constexpr double ms_per_ps = 1e-9;
constexpr double ms_per_ns = 1e-6;
constexpr double ms_per_us = 1e-3;
constexpr double bytes_per_ms = 1e6;  ///< of 1 GB/s

/// Multiprocessors of the GPU on which work was measured.
constexpr double measured_multiprocessors = 132.0;

/// Dependent loads of a row, its offset, columns, x, and the store, and of a further batch of its nonzeros: each as
/// long as two loads from the second-level cache, since some come from memory.
constexpr double loads_of_product = 2 * 4.0;
constexpr double loads_of_batch = 2 * 2.0;

/// Constants of a kernel in one precision of x.
struct KernelCosts {
  double bytes = 1.0;       ///< time per byte over that of a copy
  double nonzero_ps = 0.0;  ///< work, in ps of the whole GPU
  double row_ps = 0.0;      ///< of `tiles`: per tile
  double reads = 1.0;       ///< time of reads of x over that of plain gathers
};

/// How one layout is multiplied.
enum class ProductLayout {
  merge,
  merbit,
  csr5,
  csr_vector,
  tiles,
  bare_tiles,
  patterns,
  bare_patterns,
  sell,
  sorted_sell,
  blocked,
  vendor_csr,
  vendor_coo
};

struct LayoutCosts {
  ProductLayout layout;
  double launches;
  KernelCosts in_float;
  KernelCosts in_double;
};
constexpr auto layout_costs = std::to_array<LayoutCosts>({
    {ProductLayout::merge, 2.5, {0.91, 1.61, 2.8, 0.95}, {0.9, 2.17, 4.5, 0.97}},
    {ProductLayout::merbit, 1.4, {0.9, 1.04, 0.0, 0.92}, {0.98, 1.3, 0.0, 0.92}},
    {ProductLayout::csr5, 2.5, {0.95, 1.19, 9.0, 0.99}, {0.9, 1.53, 11.7, 1.02}},
    {ProductLayout::csr_vector, 0.8, {0.95, 1.1, 2.1, 1.0}, {1.12, 1.06, 1.2, 1.04}},
    {ProductLayout::tiles, 1.0, {0.9, 0.0, 37.8, 0.95}, {0.9, 0.0, 42.1, 0.79}},
    {ProductLayout::bare_tiles, 1.0, {1.0, 0.0, 21.5, 1.07}, {1.0, 0.0, 28.2, 1.1}},
    {ProductLayout::patterns, 1.0, {0.9, 0.65, 2.2, 1.5}, {0.9, 1.14, 2.3, 1.17}},
    {ProductLayout::bare_patterns, 1.0, {1.05, 0.21, 2.6, 1.0}, {1.21, 0.36, 0.0, 1.2}},
    {ProductLayout::sell, 1.0, {0.9, 0.62, 3.0, 0.93}, {0.93, 0.9, 0.8, 0.99}},
    {ProductLayout::sorted_sell, 1.0, {1.0, 1.0, 2.8, 1.0}, {1.0, 1.2, 3.0, 1.0}},
    {ProductLayout::blocked, 3.0, {1.6, 3.2, 1.7, 0.52}, {1.6, 4.74, 4.1, 1.0}},
    {ProductLayout::vendor_csr, 2.5, {1.19, 0.18, 6.8, 0.87}, {1.13, 1.72, 9.6, 0.86}},
    {ProductLayout::vendor_coo, 2.5, {0.98, 1.05, 3.6, 0.97}, {1.0, 0.0, 8.1, 1.04}},
});

/// Row patterns without values of their own, as templates and patterns, read next to nothing.
constexpr double bytes_of_bare_patterns = 0.7;

/// ProductLayout and bytes of the matrix per nonzero.
struct Shape {
  ProductLayout layout;
  double bytes;
};

[[nodiscard]] std::optional<Shape> shape_of(SpmvAlgorithm algorithm, const ProductTraits& m) {
  const double csr_bytes = 4.0 + m.value_bytes;
  // The vendor's kernels know neither patterns nor values narrower than x.
  const double full_csr_bytes = 4.0 + m.element_bytes;
  constexpr double merbit_descriptors = 0.35;
  constexpr double csr5_descriptors = 0.3;
  switch (algorithm) {
    case SpmvAlgorithm::merge:
      return Shape{ProductLayout::merge, csr_bytes};
    case SpmvAlgorithm::merbit:
      return Shape{ProductLayout::merbit, csr_bytes + merbit_descriptors};
    case SpmvAlgorithm::csr5:
      return Shape{ProductLayout::csr5, csr_bytes + csr5_descriptors};
    case SpmvAlgorithm::csr_vector:
      return Shape{ProductLayout::csr_vector, csr_bytes};
    case SpmvAlgorithm::blocked:
      return Shape{ProductLayout::blocked, 2.0 + m.value_bytes};
    case SpmvAlgorithm::vendor_csr:
      return Shape{ProductLayout::vendor_csr, full_csr_bytes};
    case SpmvAlgorithm::vendor_coo:
      return Shape{ProductLayout::vendor_coo, 4.0 + full_csr_bytes};
    case SpmvAlgorithm::tiles:
      if (!m.tile_bytes) return std::nullopt;
      return Shape{m.value_bytes > 0.0 ? ProductLayout::tiles : ProductLayout::bare_tiles, *m.tile_bytes};
    case SpmvAlgorithm::patterns:
      if (!m.pattern_bytes) return std::nullopt;
      return Shape{*m.pattern_bytes < bytes_of_bare_patterns ? ProductLayout::bare_patterns : ProductLayout::patterns,
                   *m.pattern_bytes};
    case SpmvAlgorithm::sell:
      if (!m.sell_bytes) return std::nullopt;
      return Shape{m.sell_is_sorted ? ProductLayout::sorted_sell : ProductLayout::sell, *m.sell_bytes};
    default:
      return std::nullopt;
  }
}

[[nodiscard]] const LayoutCosts& costs_of(ProductLayout layout) {
  return *std::find_if(layout_costs.begin(), layout_costs.end(),
                       [layout](const LayoutCosts& each) { return each.layout == layout; });
}

/// Bytes of A, x and y.
[[nodiscard]] double bytes_of_product(const Shape& shape, const ProductTraits& m) {
  const bool has_offsets = shape.layout != ProductLayout::patterns && shape.layout != ProductLayout::bare_patterns &&
                           shape.layout != ProductLayout::sell && shape.layout != ProductLayout::sorted_sell;
  const auto rows = static_cast<double>(m.rows);
  return shape.bytes * static_cast<double>(m.nnz) + (has_offsets ? 8.0 : 1.0) * rows +
         m.element_bytes * (rows + static_cast<double>(m.cols));
}

[[nodiscard]] double ms_of_bytes(double bytes, const DeviceFigures& gpu) {
  const bool in_cache = bytes <= useful_part_of_cache * gpu.l2_bytes;
  return bytes / (bytes_per_ms * (in_cache ? gpu.l2_gbytes_per_s : gpu.copy_gbytes_per_s));
}

/// Lines of x from the second-level cache; those far from all others miss it where x is larger. Hub columns spare some.
[[nodiscard]] double ms_of_reads(const Shape& shape, const ProductTraits& m, const DeviceFigures& gpu) {
  const auto nnz = static_cast<double>(m.nnz);
  const cuda::HubForecast hubs = shape.layout == ProductLayout::merbit ? m.hubs : cuda::HubForecast{};
  const double hit_ms = ms_per_ns * nnz * m.reads.lines * (1.0 - hubs.staged) / gpu.l2_gathers_per_ns;
  if (shape.layout == ProductLayout::blocked) return hit_ms;  // x goes through shared memory
  const double x_bytes = m.element_bytes * static_cast<double>(m.cols);
  const double missing = std::max(0.0, 1.0 - useful_part_of_cache * gpu.l2_bytes / std::max(x_bytes, 1.0));
  const double more_ns = std::max(0.0, 1.0 / gpu.memory_gathers_per_ns - 1.0 / gpu.l2_gathers_per_ns);
  return hit_ms + ms_per_ns * nnz * std::max(0.0, m.reads.far_lines * missing - hubs.spared) * more_ns;
}

/// Nonzeros that were worked on, or could have been by lanes that idle.
[[nodiscard]] double worked_nonzeros(const Shape& shape, const ProductTraits& m) {
  const auto nnz = static_cast<double>(m.nnz);
  if (shape.layout != ProductLayout::csr_vector) return nnz;
  const auto rows = static_cast<double>(m.rows);
  const double in_short_rows = std::min(nnz, m.row_lengths.short_nonzeros * rows);
  return std::max(nnz, m.row_lengths.lane_slots * rows + nnz - in_short_rows);
}

/// Rows, or tiles.
[[nodiscard]] double worked_rows(const Shape& shape, const ProductTraits& m) {
  if (shape.layout != ProductLayout::tiles && shape.layout != ProductLayout::bare_tiles) {
    return static_cast<double>(m.rows);
  }
  return static_cast<double>(m.nnz) * std::max(0.0, shape.bytes - m.value_bytes) / tile_record_bytes;
}

/// Batches of dependent loads of the longest row.
[[nodiscard]] double batches_in_chain(const Shape& shape, const ProductTraits& m) {
  if (shape.layout != ProductLayout::csr_vector || m.longest_row == 0 || m.rows == 0) return 1.0;
  const auto typical = static_cast<offset_t>(m.row_lengths.typical_mean * static_cast<double>(m.rows));
  const int whole = cuda::csr_vector_whole_lanes(m.rows, typical, m.longest_row);
  const int lanes = std::max(1, whole > 0 ? whole : m.row_lengths.lanes);
  const offset_t longest = whole > 0 ? m.longest_row : std::min(m.longest_row, cuda::csr_vector_long_row(lanes));
  return std::ceil(static_cast<double>(longest) / (lanes * cuda::csr_vector_batch));
}

[[nodiscard]] double ms_of_launches(const Shape& shape, const ProductTraits& m, const DeviceFigures& gpu) {
  const double loads = loads_of_product + loads_of_batch * (batches_in_chain(shape, m) - 1.0);
  return ms_per_us * costs_of(shape.layout).launches * gpu.launch_us + ms_per_ns * loads * gpu.latency_ns;
}

}  // namespace

std::optional<PredictedProduct> predict_product(SpmvAlgorithm algorithm, const ProductTraits& traits,
                                                const DeviceFigures& figures) {
  const std::optional<Shape> shape = shape_of(algorithm, traits);
  if (!shape) return std::nullopt;
  const LayoutCosts& layout = costs_of(shape->layout);
  const KernelCosts& costs = traits.element_bytes > sizeof(float) ? layout.in_double : layout.in_float;
  const double bytes = costs.bytes * ms_of_bytes(bytes_of_product(*shape, traits), figures);
  const double work = ms_per_ps * measured_multiprocessors / figures.multiprocessors *
                      (costs.nonzero_ps * worked_nonzeros(*shape, traits) + costs.row_ps * worked_rows(*shape, traits));
  const double reads = costs.reads * ms_of_reads(*shape, traits, figures);
  return PredictedProduct{algorithm, ms_of_launches(*shape, traits, figures) + std::hypot(bytes, work, reads),
                          traits.nnz > 0 ? shape->bytes : 0.0};
}

std::vector<PredictedProduct> predict_products(const ProductTraits& traits, const DeviceFigures& figures) {
  std::vector<PredictedProduct> result;
  for (const SpmvAlgorithm algorithm : known_spmv_algorithms()) {
    if (const auto predicted = predict_product(algorithm, traits, figures)) result.push_back(*predicted);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const PredictedProduct& a, const PredictedProduct& b) { return a.ms < b.ms; });
  return result;
}

ProductTraits with_plan_bytes(ProductTraits traits, SpmvAlgorithm algorithm, std::uint64_t plan_bytes) {
  if (traits.nnz == 0) return traits;
  const double bytes = static_cast<double>(plan_bytes) / static_cast<double>(traits.nnz);
  if (algorithm == SpmvAlgorithm::tiles) traits.tile_bytes = bytes;
  if (algorithm == SpmvAlgorithm::patterns) traits.pattern_bytes = bytes;
  if (algorithm == SpmvAlgorithm::sell) traits.sell_bytes = bytes;
  return traits;
}

template <class T>
ProductTraits sampled_traits(const CsrView<T>& a, const SpmvOptions& options) {
  ProductTraits traits;
  traits.rows = a.rows;
  traits.cols = a.cols;
  traits.nnz = a.nnz();
  traits.value_bytes = value_bytes_of(a, options);
  traits.element_bytes = sizeof(T);
  const MatrixSample sample = sample_matrix(a.row_offsets, a.columns, options.device);
  traits.reads = count_vector_reads(sample, static_cast<int>(sizeof(T)));
  traits.row_lengths = measure_row_lengths(sample);
  return traits;
}

namespace {

/// As `automatic` is promised them.
template <class T>
std::optional<double> promised_pattern_bytes(const CsrView<T>& a, const SpmvOptions& options) {
  const RowListEstimate estimate = cuda::estimate_row_lists(a, options.device);
  if (!estimate.promises() || estimate.named_nonzero_share < least_named_nonzeros) return std::nullopt;
  const bool without_values = a.is_pattern() || estimate.kind == RowListKind::columns_and_values;
  const double own =
      without_values ? 0.0 : std::min(value_bytes_of(a, options), cuda::promised_value_bytes(a, options.device));
  return pattern_bytes_per_nonzero(own, static_cast<double>(a.nnz()) / static_cast<double>(a.rows));
}

}  // namespace

template <class T>
ProductTraits product_traits(const CsrView<T>& a, const SpmvOptions& options) {
  ProductTraits traits = sampled_traits(a, options);
  if (a.nnz() == 0) return traits;
  traits.longest_row = cuda::row_lengths(options.device, a.row_offsets).longest;
  traits.hubs = cuda::forecast_hubs(a, options);
  traits.pattern_bytes = promised_pattern_bytes(a, options);
  const double fill = estimate_tiles(a, options.device).fill;
  if (fill > 0.0) traits.tile_bytes = tile_bytes_per_nonzero(traits.value_bytes, fill);
  const SellSample sell = cuda::sample_for_sell(a, options.device);
  if (sell.long_rows == 0 && sell.nonzeros > 0) {
    const SellLayout layout = sell.layout(a.is_pattern(), std::is_same_v<T, double>);
    traits.sell_bytes = sell.bytes_per_nonzero(layout, traits.value_bytes);
    traits.sell_is_sorted = sell.sorts();
  }
  return traits;
}

template ProductTraits sampled_traits(const CsrView<float>&, const SpmvOptions&);
template ProductTraits sampled_traits(const CsrView<double>&, const SpmvOptions&);
template ProductTraits product_traits(const CsrView<float>&, const SpmvOptions&);
template ProductTraits product_traits(const CsrView<double>&, const SpmvOptions&);

std::string describe_prediction(const std::vector<PredictedProduct>& predicted, SpmvAlgorithm chosen) {
  const auto own = std::find_if(predicted.begin(), predicted.end(),
                                [chosen](const PredictedProduct& each) { return each.algorithm == chosen; });
  if (own == predicted.end()) return {};
  const auto other = std::find_if(predicted.begin(), predicted.end(),
                                  [chosen](const PredictedProduct& each) { return each.algorithm != chosen; });
  std::string text = fmt::format("predicted {:.3g} ms", own->ms);
  if (other == predicted.end()) return text;
  return text + fmt::format(", {} {:.3g} ms", to_string(other->algorithm), other->ms);
}

}  // namespace tessera::detail
