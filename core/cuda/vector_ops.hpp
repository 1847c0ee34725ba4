/// \file
/// Vector operations of linear operators on a GPU, for float and double. Spans lie on the device. In a build without
/// CUDA every function throws DeviceUnavailable.
#pragma once

#include "tessera/device.hpp"
#include "tessera/fused_operator.hpp"

#include <span>

namespace tessera::cuda {

/// y = β y; β = 0 overwrites NaN and infinity too.
template <class T>
void scale(const Device& device, T beta, std::span<T> y);

/// y = α x + β y; the old y is not read when β = 0.
template <class T>
void combine(const Device& device, T alpha, std::span<const T> x, T beta, std::span<T> y);

/// <w, y> and <y, y>, summed in double in an order that depends only on the length.
template <class T>
[[nodiscard]] ProductDots dots(const Device& device, std::span<const T> y, std::span<const T> w);

/// The same, written to *sums on the device, without waiting.
template <class T>
void enqueue_dots(const Device& device, std::span<const T> y, std::span<const T> w, ProductDots* sums);

/// r = 2^exponent b - r. \returns ‖r‖₂²
template <class T>
[[nodiscard]] double subtract_from(const Device& device, int exponent, std::span<const T> b, std::span<T> r);

}  // namespace tessera::cuda
