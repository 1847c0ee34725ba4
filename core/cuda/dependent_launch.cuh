/// \file
/// Chains of short kernels whose beginnings and ends overlap.
#pragma once

#include "core/cuda/launch.cuh"
#include "core/cuda/start_dependent_kernel.cuh"

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace tessera::cuda {

/// Compute capability of programmatic dependent launch.
inline constexpr int capability_with_overlap = 90;

/// Whether a kernel may be launched by launch_dependent(): the GPU can do it, the kernel was compiled for it, so that
/// it really waits, and TESSERA_PDL=0 in the environment does not forbid it. The device must be current. \throws
/// CudaError
template <class... Parameters>
[[nodiscard]] bool can_overlap(const Context& context, void (*kernel)(Parameters...)) {
  const char* const wish = std::getenv("TESSERA_PDL");
  if (wish != nullptr && std::string_view(wish) == "0") return false;
  if (context.limits().compute_capability < capability_with_overlap) return false;
  cudaFuncAttributes code{};
  check(cudaFuncGetAttributes(&code, kernel), "asking for the attributes of a kernel");
  return code.ptxVersion >= capability_with_overlap;
}

/// launch() of a kernel that may overlap with the kernel before it. The first kernel of a chain is launched by
/// launch(): so nothing of the chain overlaps with work that knows nothing of it.
template <class... Parameters, class... Arguments>
void launch_dependent(std::string_view name, const Context& context, const Grid& grid, void (*kernel)(Parameters...),
                      Arguments&&... arguments) {
  check(start_dependent_kernel(kernel, grid.blocks, static_cast<unsigned>(grid.threads), context.stream(),
                               std::forward<Arguments>(arguments)...),
        name);
}

/// Whether the loop around a chain has halted. The flag does not change while a chain runs.
__device__ inline bool is_halted(const std::int32_t* halted) {
  if (halted == nullptr || *halted == 0) return false;
  wait_for_previous_kernel();
  return true;
}

}  // namespace tessera::cuda
