/// \file
/// Numbers of fewer bits, as tensor instructions take them: IEEE half precision (11 bits, exponents -14 ... 15) and
/// TF32 (11 bits, exponents of single precision). By integer operations, so that host and GPU give the same bits.
#pragma once

#include "core/detail_namespace.hpp"
#include "core/host_device.hpp"

#include <bit>
#include <cstdint>

namespace tessera::detail {

[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint64_t bits_of(double value) noexcept {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint64_t>(__double_as_longlong(value));
#else
  return std::bit_cast<std::uint64_t>(value);
#endif
}
[[nodiscard]] TESSERA_HOST_DEVICE inline std::uint32_t bits_of(float value) noexcept {
#ifdef __CUDA_ARCH__
  return __float_as_uint(value);
#else
  return std::bit_cast<std::uint32_t>(value);
#endif
}
[[nodiscard]] TESSERA_HOST_DEVICE inline float float_of(std::uint32_t bits) noexcept {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// A number in half precision.
struct Half {
  std::uint16_t bits = 0;

  static constexpr std::uint16_t infinity = 0x7C00;
  static constexpr double largest = 65504.0;          ///< finite
  static constexpr double first_beyond = 65520.0;     ///< rounds to infinity, as all above it
  static constexpr double smallest_normal = 0x1p-14;  ///< below, numbers are multiples of 2^-24
};

/// The nearest number in half precision, of two the even one: one rounding, from double as from single precision.
[[nodiscard]] TESSERA_HOST_DEVICE inline Half half_of(double value) noexcept {
  const std::uint64_t all = bits_of(value);
  const auto sign = static_cast<std::uint16_t>(all >> 48 & 0x8000U);
  const std::uint64_t magnitude = all & 0x7FFFFFFFFFFFFFFFU;
  if (magnitude > 0x7FF0000000000000U) return {static_cast<std::uint16_t>(sign | 0x7E00U)};
  if (magnitude >= bits_of(Half::first_beyond)) return {static_cast<std::uint16_t>(sign | Half::infinity)};
  if (magnitude < bits_of(Half::smallest_normal)) {
    // Neighbours of 2^28 are 2^-24 apart: the sum is rounded as the number in half precision has to be.
    const double shifted = 0x1p28 + (value < 0.0 ? -value : value);
    return {static_cast<std::uint16_t>(sign | (bits_of(shifted) - bits_of(0x1p28)))};
  }
  constexpr int dropped = 52 - 10;
  constexpr std::uint64_t tie = std::uint64_t{1} << (dropped - 1);
  const std::uint64_t rebiased = magnitude - (std::uint64_t{1023 - 15} << 52);
  const std::uint64_t kept = rebiased >> dropped;
  const std::uint64_t rest = rebiased & (2 * tie - 1);
  const bool up = rest > tie || (rest == tie && (kept & 1U) != 0);
  return {static_cast<std::uint16_t>(sign | (kept + (up ? 1U : 0U)))};
}

/// Exact.
[[nodiscard]] TESSERA_HOST_DEVICE inline float float_of(Half value) noexcept {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16;
  const std::uint32_t magnitude = (value.bits & 0x7FFFU) << 13;
  if (magnitude >= 0x0F800000U) return float_of(sign | 0x7F800000U | magnitude);
  // From the exponents of half precision to those of single; subnormal numbers become normal.
  return float_of(sign | bits_of(float_of(magnitude) * 0x1p112F));
}

[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_finite(Half value) noexcept {
  return (value.bits & Half::infinity) != Half::infinity;
}
/// Other than 0.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_subnormal(Half value) noexcept {
  return (value.bits & Half::infinity) == 0 && (value.bits & 0x7FFFU) != 0;
}
[[nodiscard]] TESSERA_HOST_DEVICE constexpr bool is_zero(Half value) noexcept { return (value.bits & 0x7FFFU) == 0; }

/// The nearest TF32 number, of two the one away from 0, as cvt.rna.tf32.f32 gives it. \param value finite, below 2^127
[[nodiscard]] TESSERA_HOST_DEVICE inline float tf32_of(float value) noexcept {
  return float_of((bits_of(value) + 0x1000U) & 0xFFFFE000U);
}

/// A number in single precision as the sum of two TF32 numbers, off by at most 2^-23 of it (H. Ootomo & R. Yokota, Int.
/// J. High Perform. Comput. Appl. 36(4), 2022). For numbers between smallest and largest, and 0.
struct Tf32Pair {
  float big = 0.0F;
  float small = 0.0F;

  /// Between these no part of a product is subnormal but those below 2^-23 of it, and none overflows.
  static constexpr float smallest = 0x1p-50F;
  static constexpr float largest = 0x1p62F;

  Tf32Pair() = default;
  TESSERA_HOST_DEVICE explicit Tf32Pair(float value) noexcept : big(tf32_of(value)), small(tf32_of(value - big)) {}
};

}  // namespace tessera::detail
