/// \file
/// Choice of tiles by `automatic` on a GPU: a sample of tile rows of the factors, in one wait.
#pragma once

#include "spgemm/cuda/tiles/tile_row_choice.hpp"
#include "tessera/csr.hpp"
#include "tessera/spgemm.hpp"

#include <string>

namespace tessera::cuda {

/// How much of a product is formed in tiles.
enum class TileShare {
  none,
  some,  ///< tile rows that pay, the others row by row
  all,   ///< that the limits allow; `automatic` leaves out tile rows that do not pay if that saves time
};

struct TileChoice {
  TileShare share = TileShare::none;
  std::string reason;
  double least_gain_ms = least_mixed_gain_ms;  ///< that a mixed product must be foreseen to save; other in tests
};

/// \param a, b on the device of the options \tparam V T, or NoValue for the pattern
template <class V, class T>
[[nodiscard]] TileChoice choose_tiles(const CsrView<T>& a, const CsrView<T>& b, const SpgemmOptions& options);

}  // namespace tessera::cuda
