/// \file
/// Sampled loss of a product in less than working precision: entries of C, spread evenly over rows and
/// over each row's entries, against their sums in double precision.
#pragma once

#include "core/host_device.hpp"
#include "core/partition_point.hpp"
#include "spgemm/common/factors.hpp"
#include "tessera/spgemm_precision.hpp"

#include <span>
#include <string>

namespace tessera::detail {

/// An entry of C, and what it should be.
struct SampledEntry {
  double found = 0.0;
  double expected = 0.0;
  double magnitude = -1.0;  ///< sum of the absolute values of its terms; negative: no entry
};

/// Which entries are sampled.
struct LossSample {
  static constexpr int most_rows = 64;
  static constexpr int row_entries = 32;  ///< of a row, at most

  index_t c_rows = 0;

  [[nodiscard]] TESSERA_HOST_DEVICE constexpr int rows() const noexcept {
    return c_rows < most_rows ? static_cast<int>(c_rows) : most_rows;
  }
  /// Sampled row number s.
  [[nodiscard]] TESSERA_HOST_DEVICE constexpr index_t row(int s) const noexcept {
    return static_cast<index_t>((2 * std::int64_t{s} + 1) * c_rows / (2 * std::int64_t{rows()}));
  }
  /// Sampled entry number e of a row with `length` entries, or -1.
  [[nodiscard]] TESSERA_HOST_DEVICE static constexpr offset_t entry(offset_t length, int e) noexcept {
    if (length <= row_entries) return e < length ? e : -1;
    return (2 * offset_t{e} + 1) * length / (2 * offset_t{row_entries});
  }
};

/// The product of entry k of A with the entry of B in column j of its row; 0 where there is none.
template <class V>
[[nodiscard]] TESSERA_HOST_DEVICE double term_of(const Factors<V>& factors, offset_t k, index_t j) noexcept {
  const index_t row = factors.a_columns[k];
  const offset_t end = factors.b_offsets[row + 1];
  const offset_t found =
      partition_point(factors.b_offsets[row], end, [&](offset_t i) { return factors.b_columns[i] < j; });
  if (found == end || factors.b_columns[found] != j) return 0.0;
  const double left = factors.a_values == nullptr ? 1.0 : static_cast<double>(factors.a_values[k]);
  return left * (factors.b_values == nullptr ? 1.0 : static_cast<double>(factors.b_values[found]));
}

/// Puts the errors of a sample into a report. \param entries LossSample::row_entries per sampled row
void summarise(std::span<const SampledEntry> entries, SpgemmLoss& loss);

/// Of a product on the host. O(terms of 2048 entries log row). \param c in CSR, values as they will be
template <class T>
void measure_loss(const CsrView<T>& a, const CsrView<T>& b, const CsrView<T>& c, SpgemmLoss& loss);

/// For a matrix with a finite value that half precision does not hold. O(nnz). \param matrix on the host \param name of
/// the factor \throws InvalidMatrix with the first of them
template <class T>
[[noreturn]] void refuse_beyond_half(const CsrView<T>& matrix, const char* name);

/// \param why a product is not formed in tiles \throws NotSupported
[[noreturn]] void refuse_without_tiles(SpgemmPrecision precision, const std::string& why);

}  // namespace tessera::detail

namespace tessera::cuda {
using detail::LossSample;
using detail::SampledEntry;
}  // namespace tessera::cuda
