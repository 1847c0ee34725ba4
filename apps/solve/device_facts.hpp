/// \file
/// What reports say of the device that was used.
#pragma once

#include "json_text.hpp"

#include "tessera/device.hpp"

#include <optional>
#include <string>

namespace tessera::cli {

/// 12080 is "12.8"; 0 is "none".
[[nodiscard]] std::string cuda_version(int number);

/// Version of the kernel's driver, "580.95.05"; "unknown" where the system does not tell.
[[nodiscard]] std::string gpu_driver();

/// What the runtime says of a GPU; nothing for the host.
[[nodiscard]] std::optional<CudaDeviceInfo> gpu_info(const Device& device);

/// "NVIDIA H200"; empty for the host.
[[nodiscard]] std::string gpu_name(const Device& device);

/// "host with 16 threads on AMD EPYC ...", "cuda:0 (NVIDIA H200)".
[[nodiscard]] std::string device_text(const Device& device, const Device& host);

/// The GPU that was used: device, name, sm, multiprocessors, memory, driver, the CUDA
/// that it supports, runtime. Null for the host.
[[nodiscard]] Json gpu_json(const Device& device);

}  // namespace tessera::cli
