#include "tests/emulator/bulk_copies.hpp"

#include "tests/emulator/grid.hpp"
#include "tests/emulator/kernel_language.hpp"

#include <cstring>
#include <map>
#include <utility>
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

/// Of each thread that has begun some, by block and thread.
std::map<std::pair<unsigned, unsigned>, std::vector<Copy>>& copies_of_threads() {
  static auto& of_grid = *new std::map<std::pair<unsigned, unsigned>, std::vector<Copy>>;
  return of_grid;
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

void start_copy_of_thread(void* target, const void* source) {
  if (!is_aligned(target) || !is_aligned(source)) fail("an asynchronous copy between places not aligned to 16 bytes");
  std::memset(target, 0xff, copied_by_thread);
  copies_of_threads()[{blockIdx.x, threadIdx.x}].push_back({target, source, copied_by_thread});
}

void wait_for_copies_of_thread() {
  const auto own = copies_of_threads().find({blockIdx.x, threadIdx.x});
  if (own == copies_of_threads().end()) return;
  for (const Copy& copy : own->second) std::memcpy(copy.target, copy.source, copy.bytes);
  copies_of_threads().erase(own);
}

bool finish_bulk_copies() {
  bool all = copies_of_threads().empty();
  copies_of_threads().clear();
  for (const auto& [address, barrier] : barriers()) all = all && !barrier.expecting;
  barriers().clear();
  return all;
}

void forget_bulk_copies() {
  barriers().clear();
  copies_of_threads().clear();
}

}  // namespace tessera::emulator
