/// \file
/// Selection, radix sort with values and run lengths by CUB, for the task list.
#pragma once

#include "tessera/array.hpp"
#include "tessera/device.hpp"
#include "tessera/types.hpp"

#include <cstdint>

namespace tessera::bench {

/// Pairs of tiles before they are sorted, on a device.
struct TaskList {
  Array<std::uint64_t> keys;   ///< of the tile of C
  Array<std::uint64_t> pairs;  ///< of tiles
  Array<std::uint8_t> meets;   ///< whether the pair stays; none where all do
  std::int64_t count = 0;

  TaskList(std::int64_t tasks, bool culls, const Device& device)
      : keys(tasks, Init::none, device),
        pairs(tasks, Init::none, device),
        meets(culls ? tasks : 0, Init::none, device),
        count(tasks) {}
};

/// Leaves out what does not meet; waits for the number of those that do.
void cull(const Device& device, TaskList& list);

/// Stable. \param bits of a key, from the lowest on
void sort_by_key(const Device& device, TaskList& list, int bits);

/// \param keys set to the distinct ones \param counts set to their numbers, and one 0 after the last; waits
void reduce_by_key(const Device& device, const TaskList& list, Array<std::uint64_t>& keys, Array<offset_t>& counts);

}  // namespace tessera::bench
