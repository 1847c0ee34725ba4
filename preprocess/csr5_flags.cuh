/// \file
/// Counting the row starts of a CSR5 descriptor on a GPU.
#pragma once

#include <cstdint>

namespace tessera::cuda {

__device__ inline int count_flags(std::uint32_t flags) { return __popc(flags); }
__device__ inline int count_flags(std::uint64_t flags) { return __popcll(static_cast<unsigned long long>(flags)); }

}  // namespace tessera::cuda
