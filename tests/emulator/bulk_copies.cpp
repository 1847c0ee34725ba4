#include "tests/emulator/bulk_copies.hpp"

#include "tests/emulator/grid.hpp"

#include <cstring>
#include <map>
#include <vector>

namespace tessera::emulator {

namespace {

constexpr std::uint32_t granule = 16;
constexpr int patience = 100000;

struct Copy {
  void* target;
  const void* source;
  std::uint32_t bytes;
};

struct Barrier {
  std::uint32_t phases = 0;  ///< that are complete
  bool expecting = false;
  std::uint32_t expected = 0;
  std::vector<Copy> copies;
};

using Barriers = std::map<const std::uint64_t*, Barrier>;

Barriers& barriers() {
  static Barriers& of_block = *new Barriers;
  return of_block;
}

Barrier& find(const std::uint64_t* barrier) {
  const auto found = barriers().find(barrier);
  if (found == barriers().end()) fail("use of a copy barrier that nobody has made");
  return found->second;
}

bool is_aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % granule == 0; }

void complete_phase(Barrier& barrier) {
  std::uint32_t arrived = 0;
  for (const Copy& copy : barrier.copies) {
    std::memcpy(copy.target, copy.source, copy.bytes);
    arrived += copy.bytes;
  }
  if (arrived != barrier.expected) fail("bulk copies of other bytes than were announced");
  barrier.copies.clear();
  barrier.expecting = false;
  ++barrier.phases;
}

}  // namespace

void init_copy_barrier(std::uint64_t* barrier) { barriers()[barrier] = {}; }

void expect_copies(std::uint64_t* barrier, std::uint32_t bytes) {
  Barrier& of_phase = find(barrier);
  if (of_phase.expecting) fail("bytes announced twice in one phase of a copy barrier");
  of_phase.expecting = true;
  of_phase.expected = bytes;
}

void start_copy(void* target, const void* source, std::uint32_t bytes, std::uint64_t* barrier) {
  Barrier& of_phase = find(barrier);
  if (!of_phase.expecting) fail("a bulk copy before its bytes were announced");
  if (bytes == 0 || bytes % granule != 0) fail("a bulk copy of a size that is no positive multiple of 16");
  if (!is_aligned(target) || !is_aligned(source)) fail("a bulk copy between places not aligned to 16 bytes");
  std::memset(target, 0xff, bytes);
  of_phase.copies.push_back({target, source, bytes});
}

void wait_for_copies(std::uint64_t* barrier, std::uint32_t parity) {
  Barrier& of_phase = find(barrier);
  // Copies take at least until the other lanes have arrived here.
  for (int polls = 0; of_phase.phases % 2 == parity; ++polls) {
    if (of_phase.expecting && polls > 0) return complete_phase(of_phase);
    if (polls == patience) fail("waits for bulk copies that nobody announces");
    give_way();
  }
}

bool finish_bulk_copies() {
  bool all = true;
  for (const auto& [address, barrier] : barriers()) all = all && !barrier.expecting;
  barriers().clear();
  return all;
}

void forget_bulk_copies() { barriers().clear(); }

}  // namespace tessera::emulator
