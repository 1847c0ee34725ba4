/// \file
/// Stands in for core/cuda/meet_before_waiting.hpp: kernels of the emulated GPU run one at a time, so all ranks send
/// before any waits.
#pragma once

#include "core/communicator.hpp"
#include "core/group_rank.hpp"

namespace tessera::cuda {

inline void meet_before_waiting(const detail::GroupRank& rank) { rank.communicator->wait(rank.number); }

}  // namespace tessera::cuda
