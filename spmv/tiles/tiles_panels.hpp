/// \file
/// Bitmap tiles times a multivector on a GPU: what a kernel with tiles calls.
#pragma once

#include "core/cuda/context.hpp"
#include "spmv/tiles/tile_values.hpp"
#include "tessera/multi_vector.hpp"

#include <cstdint>
#include <span>

namespace tessera::cuda {

/// Sums of a part of a long tile row: eight rows times eight columns.
inline constexpr int sums_per_part = tile_size * tile_size;

/// Y = α A X + β Y, eight columns at a time; the old Y is not read when β = 0. Neither waits nor allocates.
/// \param values in the order of the tiles, and one more; none for a pattern \param sums sums_per_part for each part
/// \tparam V of the values: T, or float where T is double
template <class T, class V>
void enqueue_panels(const Context& context, const GpuTiles& tiles, std::span<const V> values, T alpha,
                    const MultiVectorView<const T>& x, T beta, const MultiVectorView<T>& y, std::span<T> sums);

}  // namespace tessera::cuda
