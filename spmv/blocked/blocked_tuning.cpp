/// \file
/// The kernel `blocked`: checks of its shape, shares of the work, and words. Plain host code, which needs no CUDA.
#include "spmv/blocked/blocked_tuning.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::cuda {

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
  if (segments * (blocks + 1) <= nonzeros / 2 + 2 * most_column_blocks) return;
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
    const auto parts = std::clamp(static_cast<std::int64_t>(share * static_cast<double>(wanted) + 0.5), std::int64_t{1},
                                  std::int64_t{quads});
    for (std::int64_t part = 0; part < parts; ++part) {
      items.push_back({begin + quads * part / parts, begin + quads * (part + 1) / parts, static_cast<index_t>(block)});
    }
  }
  return items;
}

}  // namespace tessera::cuda
