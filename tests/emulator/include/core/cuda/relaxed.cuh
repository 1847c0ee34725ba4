/// \file
/// Stands in for the header of the same name: a thread that loads in vain gives way to all others of its block, and of
/// a cooperative grid. Elsewhere a thread that waits for a block after its own waits for ever.
#pragma once

#include "tests/emulator/kernel_language.hpp"

#include <cstdint>

namespace tessera::cuda {

[[nodiscard]] inline std::uint32_t load_relaxed(const std::uint32_t* address) { return emulator::load(address); }
[[nodiscard]] inline std::uint64_t load_relaxed(const std::uint64_t* address) { return emulator::load(address); }

inline void store_relaxed(std::uint32_t* address, std::uint32_t word) {
  emulator::require_aligned(address);
  *address = word;
}
inline void store_relaxed(std::uint64_t* address, std::uint64_t word) {
  emulator::require_aligned(address);
  *address = word;
}

struct alignas(16) NumberedWord {
  std::uint64_t value = 0;
  std::uint64_t number = 0;
};

[[nodiscard]] inline NumberedWord load_relaxed(const NumberedWord* address) { return emulator::load(address); }
inline void store_relaxed(NumberedWord* address, NumberedWord word) {
  emulator::require_aligned(address);
  *address = word;
}

[[nodiscard]] inline NumberedWord load_relaxed_system(const NumberedWord* address) { return load_relaxed(address); }
inline void store_relaxed_system(NumberedWord* address, NumberedWord word) { store_relaxed(address, word); }
[[nodiscard]] inline std::uint32_t load_relaxed_system(const std::uint32_t* address) { return *address; }
inline void store_relaxed_system(std::uint32_t* address, std::uint32_t word) { *address = word; }

inline void let_others_run() { emulator::give_way(); }

}  // namespace tessera::cuda
