/// \file
/// Facts about the machine, its devices and this process, for reports; and the limit on memory that follows from them.
#pragma once

#include "support/json_text.hpp"

#include "tessera/device.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::support {

[[nodiscard]] std::string host_name();
/// Model of the processor, "unknown" when the system does not tell.
[[nodiscard]] std::string cpu_name();
/// Largest resident size of this process so far.
[[nodiscard]] std::uint64_t peak_resident_bytes();
/// "2026-11-21T05:52:00Z"
[[nodiscard]] std::string utc_now();

/// Bytes that a run may use: the user's limit, else what the machine has; 0 when unknown.
[[nodiscard]] std::uint64_t memory_budget(std::uint64_t limit_bytes);

/// \param limit_bytes    the user's limit; 0: none
/// \param resident_bytes already held; counts against the user's limit only, since what the machine has available no
///                       longer includes it
/// \throws OutOfMemory when `needed_bytes` more exceed the budget
void require_memory(std::uint64_t limit_bytes, std::uint64_t resident_bytes, std::uint64_t needed_bytes,
                    const std::string& purpose);

/// 12080 is "12.8"; 0 is "none".
[[nodiscard]] std::string cuda_version(int number);

/// What the runtime says of a GPU; nothing for the host.
[[nodiscard]] std::optional<CudaDeviceInfo> gpu_info(const Device& device);

/// "NVIDIA H200"; empty for the host.
[[nodiscard]] std::string gpu_name(const Device& device);

/// "1 thread", "16 threads".
[[nodiscard]] std::string threads_text(int count);

/// "host with 16 threads on AMD EPYC ...", "cuda:0 (NVIDIA H200)".
[[nodiscard]] std::string device_text(const Device& device, const Device& host);

/// The GPU in use: device, name, sm, multiprocessors, memory, version of the kernel's driver, the CUDA that the driver
/// supports, runtime. Null for the host.
[[nodiscard]] Json gpu_json(const Device& device);

}  // namespace tessera::support
