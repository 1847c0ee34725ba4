// Steps of products in tiles that the host takes: totals, limits.
#include "spgemm/cuda/workflows/tile_steps.hpp"

#include "core/cuda/check.hpp"
#include "preprocess/tile_slices.hpp"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <mutex>

namespace tessera::cuda {

std::pair<TileTotals, offset_t> fetch_totals(const Context& context, const TileTotals* totals, const offset_t* number) {
  static_assert(sizeof(TileTotals) + sizeof(offset_t) <= SumSpace::host_bytes);
  SumSpace& space = context.sum_space();
  const std::scoped_lock alone(space.mutex);
  auto* const target = static_cast<unsigned char*>(space.on_host);
  check(cudaMemcpyAsync(target, totals, sizeof(TileTotals), cudaMemcpyDeviceToHost, context.stream()),
        "bringing totals of tiles to the host");
  if (number != nullptr) {
    check(cudaMemcpyAsync(target + sizeof(TileTotals), number, sizeof(offset_t), cudaMemcpyDeviceToHost,
                          context.stream()),
          "bringing a total to the host");
  }
  context.synchronize();
  std::pair<TileTotals, offset_t> result{};
  std::memcpy(&result.first, target, sizeof(TileTotals));
  if (number != nullptr) std::memcpy(&result.second, target + sizeof(TileTotals), sizeof(offset_t));
  return result;
}

TileRowRule tile_row_rule(const Context& context) noexcept {
  return {context.limits().largest_shared_per_block - symbolic_static_bytes, 0.0};
}

std::string tile_limits_text(unsigned exceeded, const TileRowRule& rule) {
  constexpr auto of_tile_rows = static_cast<unsigned>(BeyondTiles::not_found) |
                                static_cast<unsigned>(BeyondTiles::c_row) | static_cast<unsigned>(BeyondTiles::shared);
  if ((exceeded & of_tile_rows) == 0) return {};
  const auto beyond = [&](BeyondTiles limit) { return (exceeded & static_cast<unsigned>(limit)) != 0; };
  if (beyond(BeyondTiles::span)) {
    return fmt::format("eight rows span more than {} columns, the most that tiles take",
                       detail::most_window_words * 32 * tile_size);
  }
  if (beyond(BeyondTiles::tiles)) {
    return fmt::format("eight rows have more than {} tiles, the most that tiles take", detail::most_found_tiles);
  }
  if (beyond(BeyondTiles::shared)) {
    return fmt::format("eight rows need more than the {} bytes of shared memory that the GPU has", rule.shared_bytes);
  }
  if (beyond(BeyondTiles::c_row)) {
    return fmt::format("eight rows of C may have more than {} tiles, the most that tiles take", most_c_row_tiles);
  }
  return {};
}

void require_tile_number(const TileTotals& found) {
  constexpr unsigned long long most_pairs = std::numeric_limits<std::int32_t>::max();
  if (found.pairs >= most_pairs) throw TilesGivenUp(fmt::format("{} pairs of tiles are too many", found.pairs));
}

void require_tile_limits(const TileTotals& found, const TileRowRule& rule) {
  const std::string limits = tile_limits_text(found.beyond, rule);
  if (!limits.empty()) throw TilesGivenUp(limits);
  require_tile_number(found);
}

}  // namespace tessera::cuda
