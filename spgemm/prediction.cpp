// Prediction of one product: entries from sketches of sampled rows, times from a model.
#include "tessera/spgemm_prediction.hpp"

#include "core/memory_budget.hpp"
#include "spgemm/common/backends.hpp"
#include "spgemm/common/phase_times.hpp"
#include "spgemm/common/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace tessera {

namespace {

using detail::ProductSample;
using detail::StratumSums;

template <class T>
ProductSample sample(const CsrView<T>& a, const CsrView<T>& b, const Device& device) {
  return device.is_host() ? host::sample_product(a, b, device) : cuda::sample_product(a, b, device);
}

/// The entries of C that a stratum has, by the ratio of entries to products in its sample, and their variance.
struct StratumEstimate {
  double entries = 0.0;
  double variance = 0.0;
};

StratumEstimate estimate_stratum(const detail::StratumTotals& total, const StratumSums& sums, int s) {
  const double unit = std::ldexp(1.0, s - 20);
  const auto n = static_cast<double>(sums.rows);
  const auto rows = static_cast<double>(total.rows);
  const double ratio = static_cast<double>(sums.entries) / static_cast<double>(sums.products);
  const double squares = static_cast<double>(sums.entries_squared) -
                         2.0 * ratio * static_cast<double>(sums.products_entries) +
                         ratio * ratio * static_cast<double>(sums.products_squared);
  const double spread = std::max(squares, 0.0) / std::max(n - 1.0, 1.0) * unit * unit;
  return {ratio * static_cast<double>(total.products), rows * rows * (1.0 - n / rows) * spread / n};
}

/// Entries of C and their error. Strata of which the sample has no row are taken to be as the others together.
Predicted entries_of(const ProductSample& sample) {
  double entries = 0.0;
  double variance = 0.0;
  double sampled_products = 0.0;
  double missed_products = 0.0;
  std::array<double, detail::sample_groups> groups{};
  for (int s = 0; s < detail::product_strata; ++s) {
    const auto at = static_cast<std::size_t>(s);
    const StratumSums& sums = sample.sums[at];
    const auto products = static_cast<double>(sample.totals[at].products);
    if (sums.rows == 0) {
      missed_products += products;
      continue;
    }
    const StratumEstimate of = estimate_stratum(sample.totals[at], sums, s);
    entries += of.entries;
    variance += of.variance;
    sampled_products += products;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g] += products * static_cast<double>(sums.groups[g]) / static_cast<double>(sums.products);
    }
  }
  const double of_sketches = entries * detail::error_of_groups(groups);
  variance += of_sketches * of_sketches;
  if (missed_products > 0.0) {
    const double missed = missed_products * (sampled_products > 0.0 ? entries / sampled_products : 0.5);
    entries += missed;
    variance += missed * missed / 4.0;
  }
  entries += static_cast<double>(sample.exact_entries);
  return {entries, entries > 0.0 ? std::sqrt(variance) / entries : 0.0};
}

double products_of(const ProductSample& sample) {
  auto products = static_cast<double>(sample.exact_entries);
  for (const detail::StratumTotals& total : sample.totals) products += static_cast<double>(total.products);
  return products;
}

/// Factors of times are averaged by their logarithms, weighted by the times.
PredictedTime sum_of(std::initializer_list<PredictedTime> times) {
  PredictedTime sum{0.0, 1.0};
  double weighted = 0.0;
  for (const PredictedTime& time : times) {
    sum.ms += time.ms;
    weighted += time.ms * std::log(time.factor);
  }
  if (sum.ms > 0.0) sum.factor = std::exp(weighted / sum.ms);
  return sum;
}

}  // namespace

namespace detail {

DeviceModel model_of(const Device& device) {
  constexpr std::uint64_t host_row_bytes = 16;
  constexpr std::uint64_t gpu_row_bytes = 13;
  if (device.is_host()) return {host_model, static_cast<double>(std::max(1, device.threads())), host_row_bytes};
  return {gpu_model, static_cast<double>(tessera::cuda::multiprocessors_of(device)) / gpu_model_multiprocessors,
          gpu_row_bytes};
}

void add_costs(ProductPrediction& of, double a_nnz, std::size_t value_bytes, const DeviceModel& model) {
  const ProductSizes sizes{static_cast<double>(of.rows), a_nnz, of.products.value, of.nnz.value};
  of.bytes = csr_bytes(of.rows, static_cast<std::int64_t>(std::llround(of.nnz.value)), value_bytes);
  of.peak_bytes = of.bytes + static_cast<std::uint64_t>(of.rows) * model.row_bytes;
  of.analysis = phase_time(model.times.analysis, sizes, model.speed);
  of.symbolic = phase_time(model.times.symbolic, sizes, model.speed);
  of.numeric = phase_time(model.times.numeric, sizes, model.speed);
}

}  // namespace detail

PredictedTime ProductPrediction::total() const noexcept { return sum_of({analysis, symbolic, numeric}); }

PredictedTime ChainPrediction::total() const noexcept {
  PredictedTime sum{0.0, 1.0};
  for (const ProductPrediction& product : products) sum = sum_of({sum, product.total()});
  return sum;
}

std::uint64_t ChainPrediction::peak_bytes() const noexcept {
  std::uint64_t held = 0;
  std::uint64_t peak = 0;
  for (const ProductPrediction& product : products) {
    peak = std::max(peak, held + product.peak_bytes);
    held += product.bytes;
  }
  return peak;
}

template <class T>
ProductPrediction predict(const Csr<T>& a, const Csr<T>& b, const Device& device) {
  SpgemmOptions options;
  options.device = device;
  detail::check_product(a, b, options);
  const detail::LocalFactor<T> left(a, device);
  const detail::LocalFactor<T> right(b, device);
  const ProductSample rows = sample(left.view(), right.view(), device);
  ProductPrediction result;
  result.name = "A B";
  result.rows = a.rows();
  result.cols = b.cols();
  result.products = {products_of(rows), 0.0};
  result.nnz = entries_of(rows);
  // Patterns count: their product has values.
  detail::add_costs(result, static_cast<double>(a.nnz()), sizeof(T), detail::model_of(device));
  return result;
}

template ProductPrediction predict(const Csr<float>&, const Csr<float>&, const Device&);
template ProductPrediction predict(const Csr<double>&, const Csr<double>&, const Device&);

}  // namespace tessera
