/// \file
/// Model of the processor.
#pragma once

#include <string>

namespace tessera::detail {

/// "unknown" when the system does not tell.
[[nodiscard]] std::string cpu_name();

}  // namespace tessera::detail
