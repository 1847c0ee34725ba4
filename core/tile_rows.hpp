/// \file
/// Loops over the tile rows of a matrix in tiles, on the threads of the host.
#pragma once

#include "core/parallel.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::host {

inline constexpr std::int64_t tile_rows_per_task = 32;

/// body(tile row) for all of them.
template <class Body>
void for_tile_rows(const Device& device, index_t tile_rows, const Body& body) {
  const std::int64_t tasks = (std::int64_t{tile_rows} + tile_rows_per_task - 1) / tile_rows_per_task;
  parallel_tasks(
      device, tasks,
      [&](std::int64_t task) {
        const std::int64_t end = std::min<std::int64_t>((task + 1) * tile_rows_per_task, tile_rows);
        for (std::int64_t i = task * tile_rows_per_task; i < end; ++i) body(static_cast<index_t>(i));
      },
      4);
}

}  // namespace tessera::host
