/// \file
/// Facts about the machine and this process for reports.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::cli {

[[nodiscard]] std::string host_name();
/// Model of the processor, "unknown" when the system does not tell.
[[nodiscard]] std::string cpu_name();
/// Largest resident size of this process so far.
[[nodiscard]] std::uint64_t peak_resident_bytes();
/// "2026-11-21T05:52:00Z"
[[nodiscard]] std::string utc_now();

}  // namespace tessera::cli
