/// \file
/// A pause of the processor inside a loop that spins.
#pragma once

namespace tessera::host {

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace tessera::host
