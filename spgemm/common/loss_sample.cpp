#include "spgemm/common/loss_sample.hpp"

#include "core/narrow_floats.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace tessera::detail {

namespace {

template <class T>
SampledEntry sampled_entry(const Factors<T>& factors, const CsrView<T>& c, index_t row, offset_t at) {
  const auto entry = static_cast<std::size_t>(at);
  SampledEntry result{static_cast<double>(c.values[entry]), 0.0, 0.0};
  for (offset_t k = factors.a_offsets[row]; k < factors.a_offsets[row + 1]; ++k) {
    const double term = term_of(factors, k, c.columns[entry]);
    result.expected += term;
    result.magnitude += std::fabs(term);
  }
  return result;
}

}  // namespace

void summarise(std::span<const SampledEntry> entries, SpgemmLoss& loss) {
  // Squares of large numbers overflow in double precision.
  long double errors = 0.0L;
  long double norm = 0.0L;
  std::array<bool, LossSample::most_rows> has_entries{};
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const SampledEntry& entry = entries[e];
    // Sums are in single precision, and may overflow there.
    if (entry.magnitude < 0.0 || !std::isfinite(static_cast<float>(entry.magnitude))) continue;
    ++loss.sampled_entries;
    has_entries[e / LossSample::row_entries] = true;
    const double error = std::fabs(entry.found - entry.expected);
    errors += static_cast<long double>(error) * static_cast<long double>(error);
    norm += static_cast<long double>(entry.expected) * static_cast<long double>(entry.expected);
    if (error > 0.0) loss.largest_error = std::max(loss.largest_error, error / entry.magnitude);
  }
  loss.sampled_rows = static_cast<index_t>(std::count(has_entries.begin(), has_entries.end(), true));
  if (errors > 0.0L) loss.frobenius_error = static_cast<double>(std::sqrt(errors / norm));
}

template <class T>
void measure_loss(const CsrView<T>& a, const CsrView<T>& b, const CsrView<T>& c, SpgemmLoss& loss) {
  const LossSample sample{c.rows};
  const Factors<T> factors = factors_of<T>(a, b);
  std::vector<SampledEntry> entries(static_cast<std::size_t>(sample.rows()) * LossSample::row_entries);
  for (int s = 0; s < sample.rows(); ++s) {
    const index_t row = sample.row(s);
    const offset_t begin = c.row_offsets[static_cast<std::size_t>(row)];
    const offset_t length = c.row_offsets[static_cast<std::size_t>(row) + 1] - begin;
    for (int e = 0; e < LossSample::row_entries; ++e) {
      const offset_t at = LossSample::entry(length, e);
      if (at < 0) break;
      entries[static_cast<std::size_t>(s) * LossSample::row_entries + static_cast<std::size_t>(e)] =
          sampled_entry(factors, c, row, begin + at);
    }
  }
  summarise(entries, loss);
}

template <class T>
void refuse_beyond_half(const CsrView<T>& matrix, const char* name) {
  const auto first = std::find_if(matrix.values.begin(), matrix.values.end(), [](T value) {
    return std::isfinite(value) && !is_finite(half_of(static_cast<double>(value)));
  });
  const offset_t k = first - matrix.values.begin();
  const auto after = std::upper_bound(matrix.row_offsets.begin(), matrix.row_offsets.end(), k);
  throw InvalidMatrix(fmt::format(
      "precision 'fp16-fp32': entry ({}, {}) of {} is {:g}, beyond 65504, the largest number in half precision",
      after - matrix.row_offsets.begin(), std::int64_t{matrix.columns[static_cast<std::size_t>(k)]} + 1, name, *first));
}

void refuse_without_tiles(SpgemmPrecision precision, const std::string& why) {
  throw NotSupported(
      fmt::format("precision '{}' is for products in tiles, but {}: working precision forms this product",
                  to_string(precision), why));
}

template void refuse_beyond_half(const CsrView<float>&, const char*);
template void refuse_beyond_half(const CsrView<double>&, const char*);
template void measure_loss(const CsrView<float>&, const CsrView<float>&, const CsrView<float>&, SpgemmLoss&);
template void measure_loss(const CsrView<double>&, const CsrView<double>&, const CsrView<double>&, SpgemmLoss&);

}  // namespace tessera::detail
