/// \file
/// Loops over the rows of a matrix that share out its entries, not its rows.
#pragma once

#include "core/parallel.hpp"
#include "tessera/array.hpp"
#include "tessera/types.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::host {

/// body(Range of rows) in parallel, over ranges with nearly equal numbers of entries.
template <class Body>
void for_row_blocks(const Array<offset_t>& offsets, Body&& body) {
  const Device device;
  const std::int64_t rows = offsets.size() - 1;
  const offset_t nnz = offsets[rows];
  const std::int64_t blocks = nnz + rows < serial_threshold ? 1 : std::int64_t{16} * device.threads();
  const auto boundary = [&](std::int64_t block) {
    if (block == blocks) return rows;
    const offset_t target = part_of(nnz, blocks, block).begin;
    return static_cast<std::int64_t>(std::lower_bound(offsets.begin(), offsets.end() - 1, target) - offsets.begin());
  };
  parallel_tasks(device, blocks, [&](std::int64_t block) {
    body(Range{block == 0 ? 0 : boundary(block), boundary(block + 1)});
  });
}

}  // namespace tessera::host
