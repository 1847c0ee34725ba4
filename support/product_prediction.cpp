#include "support/product_prediction.hpp"

#include "core/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::support {

namespace {

constexpr std::int64_t most_counted = std::int64_t{1} << 22;

template <class T>
[[nodiscard]] std::int64_t products_of_row(const CsrView<T>& a, const CsrView<T>& b, index_t i) {
  std::int64_t products = 0;
  const auto row = static_cast<std::size_t>(i);
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    products += b.row_offsets[j + 1] - b.row_offsets[j];
  }
  return products;
}

/// Entries of row i of A B. \param seen per column the last row that had it, -1 at first
template <class T>
[[nodiscard]] offset_t entries_of_row(const CsrView<T>& a, const CsrView<T>& b, index_t i, std::vector<index_t>& seen) {
  offset_t entries = 0;
  const auto row = static_cast<std::size_t>(i);
  for (offset_t k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns[static_cast<std::size_t>(k)]);
    for (offset_t l = b.row_offsets[j]; l < b.row_offsets[j + 1]; ++l) {
      index_t& last = seen[static_cast<std::size_t>(b.columns[static_cast<std::size_t>(l)])];
      entries += last == i ? 0 : 1;
      last = i;
    }
  }
  return entries;
}

/// Sums over the counted rows, of which ratio and its error follow.
struct RatioSums {
  double entries = 0.0;
  double products = 0.0;
  double entries_squared = 0.0;
  double products_squared = 0.0;
  double both = 0.0;
  double rows = 0.0;

  void add(double e, double p) {
    entries += e;
    products += p;
    entries_squared += e * e;
    products_squared += p * p;
    both += e * p;
    rows += 1.0;
  }
  [[nodiscard]] double ratio() const { return products > 0.0 ? entries / products : 0.0; }
  /// Of ratio() (W. G. Cochran, Sampling Techniques, 1977, section 6.3).
  [[nodiscard]] double standard_error() const {
    if (rows < 2.0 || products == 0.0) return ratio();
    const double r = ratio();
    const double residuals = entries_squared - 2.0 * r * both + r * r * products_squared;
    return std::sqrt(std::max(residuals, 0.0) * rows / (rows - 1.0)) / products;
  }
};

}  // namespace

template <class T>
ProductPrediction predict_product(const CsrView<T>& a, const CsrView<T>& b) {
  ProductPrediction result;
  for (index_t i = 0; i < a.rows; ++i) {
    const std::int64_t products = products_of_row(a, b, i);
    result.products += products;
    result.most_nnz += std::min<std::int64_t>(products, b.cols);
  }
  result.is_exact = result.products <= most_counted;
  const Stopwatch watch;
  std::vector<index_t> seen(static_cast<std::size_t>(b.cols), index_t{-1});
  RatioSums sums;
  const auto stride = static_cast<std::int64_t>(result.products / most_counted) + 1;
  for (std::int64_t i = stride / 2; i < a.rows && result.counted_products <= 2 * most_counted; i += stride) {
    const auto row = static_cast<index_t>(i);
    const std::int64_t products = products_of_row(a, b, row);
    const offset_t entries = entries_of_row(a, b, row, seen);
    sums.add(static_cast<double>(entries), static_cast<double>(products));
    result.counted_products += products;
    ++result.counted_rows;
  }
  result.count_ms = watch.milliseconds();
  if (result.is_exact) {
    result.most_nnz = result.least_nnz = static_cast<offset_t>(sums.entries);
    return result;
  }
  constexpr double errors = 3.0;
  const double least = std::max(sums.ratio() - errors * sums.standard_error(), 0.0);
  result.least_nnz = static_cast<offset_t>(least * static_cast<double>(result.products));
  return result;
}

template ProductPrediction predict_product(const CsrView<float>&, const CsrView<float>&);
template ProductPrediction predict_product(const CsrView<double>&, const CsrView<double>&);

}  // namespace tessera::support
