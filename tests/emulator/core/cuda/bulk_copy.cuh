#pragma once
#include "emulator.hpp"
#include <vector>
#include <map>
namespace tessera::cuda {
inline constexpr int bulk_copy_granule = 16;
using CopyBarrier = std::uint64_t;
namespace emu_bulk {
struct Copy { void* to; const void* from; std::uint32_t bytes; };
struct Barrier { std::uint32_t completed = 0; bool armed = false; std::uint32_t expected = 0; std::vector<Copy> copies; };
inline std::map<CopyBarrier*, Barrier>& all() { static std::map<CopyBarrier*, Barrier> m; return m; }
[[noreturn]] inline void die(const char* what) { std::printf("EMU: %s\n", what); std::abort(); }
}
inline void init_barrier(CopyBarrier* b) { emu_bulk::all()[b] = {}; }
inline void make_barriers_visible() {}
inline void release_to_bulk_copies() {}
inline void expect_bytes(CopyBarrier* b, std::uint32_t n) { auto& s = emu_bulk::all().at(b); if (s.armed) emu_bulk::die("expect twice"); s.armed = true; s.expected = n; }
inline void bulk_copy(void* to, const void* from, std::uint32_t n, CopyBarrier* b) {
  auto& s = emu_bulk::all().at(b);
  if (!s.armed || n == 0 || n % 16 || reinterpret_cast<std::uintptr_t>(to) % 16 || reinterpret_cast<std::uintptr_t>(from) % 16) emu_bulk::die("bad bulk copy");
  std::memset(to, 0xff, n); s.copies.push_back({to, from, n});
}
inline void wait_for_copies(CopyBarrier* b, std::uint32_t parity) {
  auto& s = emu_bulk::all().at(b);
  // the phase of parity p is complete when completed phases > that phase; phases run 0,1,2..
  if ((s.completed & 1) != parity) return;  // this phase was completed by another lane
  for (int spins = 0; !s.armed; ++spins) { if (spins > 1000) emu_bulk::die("waits for a phase that nobody began"); emu::pause(); if ((s.completed & 1) != parity) return; }
  std::uint32_t sum = 0;
  for (auto& c : s.copies) { std::memcpy(c.to, c.from, c.bytes); sum += c.bytes; }
  if (sum != s.expected) emu_bulk::die("bytes");
  s.copies.clear(); s.armed = false; ++s.completed;
}
}
