/// \file
/// A small end-to-end check of every kernel, for `solve doctor`.
#pragma once

#include "tessera/device.hpp"

#include <string>
#include <vector>

namespace tessera::cli {

struct Check {
  std::string name;
  bool passed = false;   ///< also where it was skipped
  bool skipped = false;  ///< nothing is wrong, but what it tests is not there
  std::string detail;    ///< what was measured, or what went wrong
};

/// Checks the products of every kernel of the device against long double; solves a Poisson problem with a known
/// solution with every kernel and ranks a cycle, whose ranks are all equal; on the host also compares one thread with
/// all and takes a matrix through a binary file. Never throws for a failed check.
[[nodiscard]] std::vector<Check> self_test(const Device& device);

}  // namespace tessera::cli
