/// \file
/// Codes of hub columns, and slots: what the search for hubs hands over.
#pragma once

#include "spmv/merbit/hub_columns.hpp"
#include "spmv/merbit/nonzero_strips.cuh"
#include "tessera/array.hpp"

namespace tessera::cuda {

/// Which columns are hubs, which of those are staged, and how many uses of x then miss the cache.
struct HubSelection {
  MostUsed all;
  MostUsed staged;
  double missed = 0.0;
};

/// Numbers the hubs, counts slots, and where these pay gives every far nonzero its own. A pass over the nonzeros; where
/// a sample promises slots a second one. Waits. The device must be current. \param uses per column, on the device
/// \param chosen at least one hub \throws CudaError, OutOfMemory
[[nodiscard]] HubColumns code_hubs(const NonzeroStrips& strips, const HubRules& rules, const Array<unsigned>& uses,
                                   const HubSelection& chosen, const Device& device);

}  // namespace tessera::cuda
