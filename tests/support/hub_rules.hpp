/// \file
/// Hub columns of MERBIT in matrices that are too small for them.
#pragma once

#include "spmv/merbit/hub_columns.hpp"

namespace tessera::testing {

/// Every column with two uses or more, near or far, whatever packing saves.
[[nodiscard]] inline cuda::HubRules hubs_of_any_gain() {
  cuda::HubRules rules;
  rules.most = 1 << 20;
  rules.line_entries = 8;
  rules.least_uses = 2;
  rules.near = -1;
  rules.least_saved = -1e300;
  return rules;
}

/// The same; the most used hubs are staged. \param most of them
[[nodiscard]] inline cuda::HubRules staged_hubs(std::int64_t most) {
  cuda::HubRules rules = hubs_of_any_gain();
  rules.most_staged = most;
  return rules;
}

/// Columns with eight uses or more are hubs, of all others every nonzero has a slot. \param column_block columns whose
/// slots lie together
[[nodiscard]] inline cuda::HubRules hubs_and_slots(index_t column_block) {
  cuda::HubRules rules = hubs_of_any_gain();
  rules.least_uses = 8;
  rules.slots = {1 << 20, -1, column_block, -1e300};
  return rules;
}

}  // namespace tessera::testing
