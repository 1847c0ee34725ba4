/// \file
/// What the host does between kernels that send to other ranks and kernels that wait for what these send. A separate
/// header, because an emulated GPU runs one kernel at a time.
#pragma once

#include "core/group_rank.hpp"

namespace tessera::cuda {

/// Nothing: kernels of all ranks run at the same time.
inline void meet_before_waiting(const detail::GroupRank& /*rank*/) {}

}  // namespace tessera::cuda
