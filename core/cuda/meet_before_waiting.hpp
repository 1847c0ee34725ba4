/// \file
/// Barrier of the host between kernels that send to other ranks and kernels that wait for them: none on a GPU. A
/// separate header, because an emulated GPU runs one kernel at a time.
#pragma once

#include "core/group_rank.hpp"

namespace tessera::cuda {

/// Nothing: kernels of all ranks run at the same time.
inline void meet_before_waiting(const detail::GroupRank& /*rank*/) {}

}  // namespace tessera::cuda
