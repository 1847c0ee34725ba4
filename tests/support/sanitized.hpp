/// \file
/// Whether the program under test is built with sanitizers, which take memory and time of their own.
#pragma once

namespace tessera::testing {

#ifdef TESSERA_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace tessera::testing
