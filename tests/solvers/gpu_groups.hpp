/// \file
/// Groups of GPUs for tests. An emulated GPU serves as several ranks, since all send before any waits, as long as no
/// loop sums over them by kernels.
#pragma once

#include "tessera/several_devices.hpp"
#include "tests/support/cuda_test.hpp"

#include <vector>

namespace tessera::testing {

class GpuGroups : public CudaTest {
 protected:
  /// Ranks that share a GPU exchange by copies there: of two kernels that wait for each other, one may never start.
  [[nodiscard]] static DeviceGroup group(bool peer_access, int ranks = 2) {
    const int gpus = gpu_is_emulated ? 1 : static_cast<int>(survey_cuda().devices.size());
    std::vector<Device> devices;
    for (int rank = 0; rank < ranks; ++rank) devices.push_back(Device::cuda(rank % gpus));
    const bool waits_by_kernels = peer_access && (gpu_is_emulated || ranks <= gpus);
    return DeviceGroup(devices, {.patience_seconds = 10.0, .peer_access = waits_by_kernels});
  }
};

}  // namespace tessera::testing
