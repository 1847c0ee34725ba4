/// \file
/// Passes over the values of a matrix, on the host or on a GPU, whose memory the spans lie in. On a GPU they return
/// before the work is done.
#pragma once

#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <span>

namespace tessera::detail {

/// to[i] = from[i], rounded to nearest. \param to as long as `from`, not overlapping
template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to);

/// to[i] = from[positions[i]]. \param to as long as `positions`
template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to);

}  // namespace tessera::detail

namespace tessera::cuda {
template <class From, class To>
void convert_values(const Device& device, std::span<const From> from, std::span<To> to);
template <class T>
void gather_values(const Device& device, std::span<const index_t> positions, std::span<const T> from, std::span<T> to);
}  // namespace tessera::cuda
