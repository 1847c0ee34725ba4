/// \file
/// Statistics of a matrix: its passes, and what they sum. Sums are of integers, maxima, or in the order of a row, so
/// that both backends give the same values.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/host_device.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::detail {

/// Over rows.
struct RowExtremes {
  offset_t longest = 0;
  offset_t bandwidth = 0;

  template <class T>
  TESSERA_HOST_DEVICE void add(const CsrPointers<T>& a, std::int64_t row) noexcept {
    const offset_t begin = a.offsets[row];
    const offset_t end = a.offsets[row + 1];
    if (begin == end) return;
    // Columns ascend: the farthest one from the diagonal is the first or the last.
    const offset_t left = row - a.columns[begin];
    const offset_t right = a.columns[end - 1] - row;
    *this += RowExtremes{end - begin, left > right ? left : right};
  }

  TESSERA_HOST_DEVICE RowExtremes& operator+=(const RowExtremes& other) noexcept {
    if (other.longest > longest) longest = other.longest;
    if (other.bandwidth > bandwidth) bandwidth = other.bandwidth;
    return *this;
  }
};

/// Values that are special.
struct ValueCounts {
  offset_t zeros = 0;
  offset_t not_finite = 0;

  TESSERA_HOST_DEVICE void add(double value) noexcept {
    if (value == 0.0) ++zeros;
    if (!std::isfinite(value)) ++not_finite;
  }

  TESSERA_HOST_DEVICE ValueCounts& operator+=(const ValueCounts& other) noexcept {
    zeros += other.zeros;
    not_finite += other.not_finite;
    return *this;
  }
};

/// Over the diagonal positions.
struct DiagonalSums {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  template <class T>
  static constexpr double rounding = static_cast<double>(std::numeric_limits<T>::epsilon());

  index_t missing = 0;
  index_t zero = 0;
  index_t negative = 0;
  index_t not_finite = 0;
  index_t dominant = 0;  ///< rows
  double min_abs = infinity;
  double max_abs = 0.0;

  /// A row whose entries were rounded, and summed to its diagonal, is dominant as before.
  /// \param others sum of the magnitudes of the other entries, in their order
  template <class T>
  TESSERA_HOST_DEVICE void add(const CsrPointers<T>& a, std::int64_t row, double others) noexcept {
    const offset_t k = diagonal_position(a, row);
    const double value = k < 0 ? 0.0 : static_cast<double>(value_at(a, k));
    const double allowance = rounding<T> * static_cast<double>(a.offsets[row + 1] - a.offsets[row]);
    if (std::abs(value) >= others - allowance * others) ++dominant;
    if (k < 0) {
      ++missing;
    } else if (!std::isfinite(value)) {
      ++not_finite;
    } else {
      if (value == 0.0) ++zero;
      if (value < 0.0) ++negative;
      take_magnitude(std::abs(value), std::abs(value));
    }
  }

  TESSERA_HOST_DEVICE DiagonalSums& operator+=(const DiagonalSums& other) noexcept {
    missing += other.missing;
    zero += other.zero;
    negative += other.negative;
    not_finite += other.not_finite;
    dominant += other.dominant;
    take_magnitude(other.min_abs, other.max_abs);
    return *this;
  }

 private:
  TESSERA_HOST_DEVICE void take_magnitude(double least, double most) noexcept {
    if (least < min_abs) min_abs = least;
    if (most > max_abs) max_abs = most;
  }
};

/// What may hold of every entry (i, j): (j, i) is stored, with an equal value, with the opposite value.
namespace mirror {
inline constexpr unsigned stored = 1;
inline constexpr unsigned equal = 2;
inline constexpr unsigned opposite = 4;
inline constexpr unsigned all = stored | equal | opposite;
}  // namespace mirror

/// Whether entry (row, row) is stored, and positive.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE bool has_positive_diagonal(const CsrPointers<T>& a, std::int64_t row) noexcept {
  const offset_t k = diagonal_position(a, row);
  return k >= 0 && value_at(a, k) > T{0};
}

/// What holds of entry k of a row. A diagonal entry is the opposite of itself where it is zero.
template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE unsigned mirrors_of_entry(const CsrPointers<T>& a, std::int64_t row,
                                                            offset_t k) noexcept {
  const offset_t mirrored = position_of(a, a.columns[k], row);
  if (mirrored < 0) return 0;
  const T here = value_at(a, k);
  const T there = value_at(a, mirrored);
  return mirror::stored | (there == here ? mirror::equal : 0U) | (there == -here ? mirror::opposite : 0U);
}

}  // namespace tessera::detail

/// The passes, on a matrix that lies on `device`. Those of a GPU throw OutOfMemory, CudaError.
namespace tessera::host {
template <class T>
[[nodiscard]] detail::RowExtremes row_extremes(const CsrView<T>& a, const Device& device);
/// Number of rows per length, from 0 to `longest`.
template <class T>
[[nodiscard]] std::vector<index_t> rows_of_length(const CsrView<T>& a, offset_t longest, const Device& device);
template <class T>
[[nodiscard]] index_t empty_columns(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] detail::ValueCounts value_counts(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] detail::DiagonalSums diagonal_sums(const CsrView<T>& a, const Device& device);
/// What holds of all entries. \param a square
template <class T>
[[nodiscard]] unsigned mirrors(const CsrView<T>& a, const Device& device);
/// The first row whose diagonal entry is missing or not positive; -1: none. \param a square
template <class T>
[[nodiscard]] std::int64_t first_row_without_positive_diagonal(const CsrView<T>& a, const Device& device);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
[[nodiscard]] detail::RowExtremes row_extremes(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] std::vector<index_t> rows_of_length(const CsrView<T>& a, offset_t longest, const Device& device);
template <class T>
[[nodiscard]] index_t empty_columns(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] detail::ValueCounts value_counts(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] detail::DiagonalSums diagonal_sums(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] unsigned mirrors(const CsrView<T>& a, const Device& device);
template <class T>
[[nodiscard]] std::int64_t first_row_without_positive_diagonal(const CsrView<T>& a, const Device& device);
}  // namespace tessera::cuda
