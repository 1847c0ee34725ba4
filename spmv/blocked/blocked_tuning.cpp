/// \file
/// The kernel `blocked`: checks of its shape, shares of the work, and words. Plain host code, which needs no CUDA.
#include "spmv/blocked/blocked_tuning.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::cuda {

namespace {

constexpr double ms_per_ps = 1e-9;
/// Set-up, per nonzero: mostly a radix sort.
constexpr double setup_ps = 125.0;
/// An x of this part of the second-level cache, or less, is gathered quickly.
constexpr double small_part_of_cache = 0.25;
/// What of the cache serves reads of x beside the stream of the matrix.
constexpr double useful_part_of_cache = 0.6;

/// Times per nonzero and per row of a kind of matrix, in ps.
struct BlockedRates {
  double hit = 0.0;   ///< gathered from the second-level cache
  double miss = 0.0;  ///< more, from memory
  double blocked = 0.0;
  double blocked_row = 0.0;
};

[[nodiscard]] constexpr BlockedRates rates_of(bool doubles, bool pattern) noexcept {
  if (doubles) return pattern ? BlockedRates{7.4, 20.0, 7.8, 9.5} : BlockedRates{8.4, 20.0, 9.2, 9.4};
  return pattern ? BlockedRates{6.6, 20.0, 4.6, 5.6} : BlockedRates{7.4, 20.0, 5.4, 5.5};
}

}  // namespace

BlockedForecast forecast_blocked(const BlockedTraits& matrix) noexcept {
  const double x_bytes = (matrix.doubles ? 8.0 : 4.0) * static_cast<double>(matrix.cols);
  const auto cache = static_cast<double>(matrix.l2_bytes);
  BlockedForecast result;
  result.x_bytes = x_bytes;
  result.line_share = matrix.line_share;
  if (matrix.line_share < scattered_line_share || x_bytes <= small_part_of_cache * cache) return result;
  const BlockedRates rates = rates_of(matrix.doubles, matrix.pattern);
  // Lines that even a sample meets again are popular, and stay in the cache.
  const double missing = std::max(0.0, 1.0 - useful_part_of_cache * cache / x_bytes) / matrix.line_uses;
  const auto nnz = static_cast<double>(matrix.nnz);
  result.gather_ms = ms_per_ps * nnz * (rates.hit + missing * rates.miss);
  result.blocked_ms = ms_per_ps * (nnz * rates.blocked + static_cast<double>(matrix.rows) * rates.blocked_row);
  result.setup_ms = ms_per_ps * nnz * setup_ps;
  return result;
}

void check_blocked_shape(const BlockedShape& shape, const BlockedShape& most, int group, int most_slots,
                         std::string_view device_name) {
  const bool fits = shape.column_block > 0 && shape.column_block <= most.column_block &&
                    shape.capacity <= most.capacity && shape.capacity % group == 0 && shape.tiles_per_cut > 0 &&
                    most_slots <= shape.capacity;
  if (fits) return;
  throw InvalidArgument(
      fmt::format("kernel blocked: blocks of {} columns and lists of {} slots, {} tiles at a time, do not "
                  "fit {}",
                  shape.column_block, shape.capacity, shape.tiles_per_cut, device_name));
}

void check_column_blocks(std::int64_t blocks, index_t cols, const BlockedShape& shape) {
  if (blocks <= most_column_blocks) return;
  throw NotSupported(fmt::format("kernel blocked takes at most {} blocks of {} columns, and the matrix has {} columns",
                                 most_column_blocks, shape.column_block, cols));
}

void check_cells(std::int64_t segments, std::int64_t blocks, std::int64_t nonzeros) {
  if (segments * (blocks + 1) <= nonzeros / 2 + std::int64_t{2} * most_column_blocks) return;
  throw NotSupported(
      fmt::format("kernel blocked needs several nonzeros per cell: {} segments and {} blocks of columns for "
                  "{} nonzeros",
                  segments, blocks, nonzeros));
}

std::string describe_blocks(std::int64_t segments, std::int64_t blocks, std::int64_t column_block, std::int64_t slots,
                            std::int64_t nonzeros) {
  const double share = nonzeros > 0 ? static_cast<double>(slots) / static_cast<double>(nonzeros) : 0.0;
  return fmt::format("{} segments by {} blocks of {} columns, {:.2g} halo entries per nonzero", segments, blocks,
                     column_block, share);
}

std::vector<HaloItem> make_halo_items(std::span<const offset_t> begins, std::int64_t wanted) {
  const offset_t total = begins.back();
  std::vector<HaloItem> items;
  for (std::size_t block = 0; block + 1 < begins.size(); ++block) {
    const offset_t begin = begins[block];
    const offset_t quads = begins[block + 1] - begin;
    if (quads == 0) continue;
    const double share = static_cast<double>(quads) / static_cast<double>(total);
    const auto parts =
        std::clamp<std::int64_t>(std::lround(share * static_cast<double>(wanted)), 1, std::int64_t{quads});
    for (std::int64_t part = 0; part < parts; ++part) {
      items.push_back({begin + quads * part / parts, begin + quads * (part + 1) / parts, static_cast<index_t>(block)});
    }
  }
  return items;
}

}  // namespace tessera::cuda
