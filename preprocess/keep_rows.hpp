/// \file
/// Sparsification by rows (the dual rule of Saad, ILUT): which entries stay, decisions that host and GPU share, so that
/// both keep the same entries.
///
/// Magnitudes are compared by their bits: as unsigned integers, the bits of |x| ascend with |x|, and lie at those of
/// infinity or above for what is not finite.
#pragma once

#include "core/csr_pointers.hpp"
#include "core/host_device.hpp"
#include "tessera/device.hpp"
#include "tessera/keep.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tessera::detail {

/// Bits of the magnitude of a T.
template <class T>
using MagnitudeBits = std::conditional_t<sizeof(T) == sizeof(double), std::uint64_t, std::uint32_t>;

template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline MagnitudeBits<T> magnitude_bits(T value) noexcept {
  MagnitudeBits<T> bits{};
  memcpy(&bits, &value, sizeof(T));
  return bits & (~MagnitudeBits<T>{0} >> 1);
}

template <class T>
[[nodiscard]] TESSERA_HOST_DEVICE inline T magnitude_of(MagnitudeBits<T> bits) noexcept {
  T value{};
  memcpy(&value, &bits, sizeof(T));
  return value;
}

/// Which entries of a row stay, beside those that always do: magnitudes above `least`, and of those equal to it the
/// first `ties`.
template <class T>
struct RowCut {
  MagnitudeBits<T> least = 0;
  offset_t ties = 0;
};

/// The rule for the entries of a matrix. A *candidate* is an entry that stays only by its magnitude.
template <class T>
struct KeepRule {
  using Bits = MagnitudeBits<T>;
  /// Of infinity.
  static constexpr Bits not_finite =
      sizeof(T) == sizeof(double) ? static_cast<Bits>(0x7ff0000000000000ULL) : static_cast<Bits>(0x7f800000U);

  CsrPointers<T> a;
  double tolerance;
  index_t most;
  bool diagonal;
  index_t first_row;  ///< of a slice

  [[nodiscard]] TESSERA_HOST_DEVICE Bits bits(offset_t k) const noexcept { return magnitude_bits(value_at(a, k)); }
  [[nodiscard]] TESSERA_HOST_DEVICE bool always_stays(std::int64_t row, offset_t k, Bits magnitude) const noexcept {
    return magnitude >= not_finite || (diagonal && a.columns[k] == row + first_row);
  }
  /// \param largest of the finite entries of the row. Both factors are exact, so the product is rounded once.
  [[nodiscard]] TESSERA_HOST_DEVICE bool is_large(Bits magnitude, Bits largest) const noexcept {
    return static_cast<double>(magnitude_of<T>(magnitude)) >= tolerance * static_cast<double>(magnitude_of<T>(largest));
  }
  /// Of entry k that is finite. \param ties_before candidates of equal magnitude before it in the row
  [[nodiscard]] TESSERA_HOST_DEVICE static bool stays(Bits magnitude, const RowCut<T>& cut,
                                                      offset_t ties_before) noexcept {
    return magnitude > cut.least || (magnitude == cut.least && ties_before < cut.ties);
  }
};

/// What a pass over a row finds.
template <class T>
struct KeepCounts {
  offset_t always = 0;                               ///< entries that always stay
  offset_t candidates = 0;                           ///< that are large enough
  MagnitudeBits<T> smallest = ~MagnitudeBits<T>{0};  ///< of the candidates that are large enough
  MagnitudeBits<T> largest = 0;                      ///< of these

  TESSERA_HOST_DEVICE void add_candidate(MagnitudeBits<T> magnitude) noexcept {
    ++candidates;
    if (magnitude < smallest) smallest = magnitude;
    if (magnitude > largest) largest = magnitude;
  }
  /// Candidates that may stay.
  [[nodiscard]] TESSERA_HOST_DEVICE offset_t room(index_t most) const noexcept {
    if (most == 0) return candidates;
    const offset_t left = most - always;
    return left < 0 ? 0 : left < candidates ? left : candidates;
  }
};

}  // namespace tessera::detail

namespace tessera::host {
template <class T>
[[nodiscard]] Csr<T> keep_entries(const CsrView<T>& a, const Keep& keep, index_t first_row, const Device& device);
}  // namespace tessera::host

namespace tessera::cuda {
template <class T>
[[nodiscard]] Csr<T> keep_entries(const CsrView<T>& a, const Keep& keep, index_t first_row, const Device& device);
}  // namespace tessera::cuda
