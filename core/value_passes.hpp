/// \file
/// Passes over the values of a matrix, on the host or on a GPU, whose memory the spans lie in. On a GPU they return
/// before the work is done.
#pragma once

#include "core/host_device.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cmath>
#include <cstdint>
#include <span>

namespace tessera::detail {

/// Whether a finite number rounds to an infinite float.
[[nodiscard]] TESSERA_HOST_DEVICE inline bool is_beyond_float(double value) noexcept {
  return std::isinf(static_cast<float>(value)) && !std::isinf(value);
}

/// to[i] = from[i], rounded to nearest. \param to as long as `from`, not overlapping
template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to);

/// to[i] = from[positions[i]]. \param to as long as `positions`
template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to);

/// to[i] = from[positions[i]] + β to[i].
template <class T>
void gather_and_add(const Device& device, std::span<const index_t> positions, std::span<const T> from, T beta,
                    std::span<T> to);

/// Each value rounded to the nearest float, in place.
void round_to_float(const Device& device, std::span<double> values);

/// Index of the first finite value that rounds to an infinite float; -1: none. Waits for a GPU.
[[nodiscard]] std::int64_t first_beyond_float(const Device& device, std::span<const double> values);

}  // namespace tessera::detail

namespace tessera::cuda {
template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to);
template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to);
template <class T>
void gather_and_add(const Device& device, std::span<const index_t> positions, std::span<const T> from, T beta,
                    std::span<T> to);
void round_to_float(const Device& device, std::span<double> values);
[[nodiscard]] std::int64_t first_beyond_float(const Device& device, std::span<const double> values);
}  // namespace tessera::cuda
