/// \file
/// Sanitizers: whether the program under test is built with them; they take memory and time of their own.
#pragma once

namespace tessera::testing {

#ifdef TESSERA_SANITIZED
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace tessera::testing
