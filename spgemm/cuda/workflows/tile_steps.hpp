/// \file
/// Steps of products in tiles, shared whether their factors and C are in CSR or in tiles: limits, the choice of
/// arithmetic, totals brought to the host.
#pragma once

#include "core/cuda/context.hpp"
#include "spgemm/common/factors.hpp"
#include "spgemm/cuda/tiles/tile_product.hpp"
#include "spgemm/cuda/tiles/tile_row_choice.hpp"
#include "tessera/spgemm.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace tessera::cuda {

/// Why a product is not formed in tiles.
class TilesGivenUp : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Totals, and a number on the device, brought to the host. Waits. \param number null: 0 instead \throws CudaError
[[nodiscard]] std::pair<TileTotals, offset_t> fetch_totals(const Context& context, const TileTotals* totals,
                                                           const offset_t* number);

/// The limits of the GPU; tiles wherever they allow.
[[nodiscard]] TileRowRule tile_row_rule(const Context& context) noexcept;

/// The limit that some tile row exceeds; empty if none does. \param exceeded set of BeyondTiles
[[nodiscard]] std::string tile_limits_text(unsigned exceeded, const TileRowRule& rule);

/// \throws TilesGivenUp for more pairs of tiles than can be numbered
void require_tile_number(const TileTotals& found);
/// \throws TilesGivenUp naming the limit that a product is beyond
void require_tile_limits(const TileTotals& found, const TileRowRule& rule);

/// From which on GPUs have the tensor instruction in double precision.
inline constexpr int tensor_capability = 80;

/// Whether pairs are multiplied by tensor instructions if all values are finite. \tparam V type of values, or NoValue
template <class V>
[[nodiscard]] bool may_use_tensor(const Context& context, Determinism determinism) noexcept {
  return std::is_same_v<V, double> && determinism != Determinism::gpu_to_gpu &&
         context.limits().compute_capability >= tensor_capability;
}

/// How pairs are multiplied. \tparam V type of values, or NoValue
template <class V>
[[nodiscard]] TileArithmetic tile_arithmetic(const Context& context, Determinism determinism,
                                             const TileTotals& found) noexcept {
  const bool tensor = found.not_finite == 0 && may_use_tensor<V>(context, determinism);
  return tensor ? TileArithmetic::tensor : TileArithmetic::scalar;
}

/// The same in words, with the reason.
template <class V>
[[nodiscard]] std::string tile_arithmetic_text(const Context& context, Determinism determinism,
                                               const TileTotals& found) {
  if (!has_values<V>) return "positions alone";
  if (tile_arithmetic<V>(context, determinism, found) == TileArithmetic::tensor) return "tensor instructions";
  if (found.not_finite != 0) return "entry by entry, since a value is not finite";
  if (!std::is_same_v<V, double>) return "entry by entry in fp32";
  if (determinism == Determinism::gpu_to_gpu) return "entry by entry for the bits of the host";
  return "entry by entry, for want of tensor instructions";
}

}  // namespace tessera::cuda
