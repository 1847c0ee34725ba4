/// \file
/// Version of the library.
#pragma once

#include <string_view>

namespace tessera {

/// Facts about the build, fixed at compile time.
struct BuildInfo {
  std::string_view version;     ///< "0.1.0"
  std::string_view commit;      ///< abbreviated git commit, "unknown" outside a checkout
  std::string_view compiler;    ///< e.g. "GNU 12.2.0"
  std::string_view build_type;  ///< "Release", ...
  std::string_view cuda;        ///< toolkit version, or "none"
  std::string_view flags;       ///< compiler options of the build type, e.g. "-O3 -DNDEBUG"
};

[[nodiscard]] BuildInfo build_info();

}  // namespace tessera
