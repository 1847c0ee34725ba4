/// \file
/// Bitmap tiles times a multivector on the host: what the kernel with tiles calls.
#pragma once

#include "tessera/device.hpp"
#include "tessera/multi_vector.hpp"
#include "tessera/tile_matrix.hpp"

namespace tessera::host {

/// Y = α A X + β Y, eight columns at a time; the old Y is not read when β = 0. A row is summed by one thread, from tile
/// to tile: gpu_to_gpu. Allocates nothing. \param tiles with values in their order, or a pattern
template <class T>
void multiply_panels(const Device& device, const TileView<T>& tiles, T alpha, const MultiVectorView<const T>& x, T beta,
                     const MultiVectorView<T>& y);

}  // namespace tessera::host
