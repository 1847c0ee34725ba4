#include "tests/emulator/grid.hpp"

#include "tests/emulator/bulk_copies.hpp"
#include "tests/emulator/fiber.hpp"
#include "tests/emulator/kernel_language.hpp"
#include "tests/emulator/random.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

/// Around the __shared__ variables of all kernels, from the linker (shared_variables.ld).
extern "C" std::uint64_t tessera_shared_begin[];
extern "C" std::uint64_t tessera_shared_end[];

namespace tessera::emulator {

namespace {

constexpr int unwritten = 0xff;
/// Neighbouring stacks begin at different lines of the caches.
constexpr std::size_t stack_bytes = std::size_t{96} * 1024 + 320;

struct Thread {
  Fiber fiber;
  unsigned char warp_turn = 0;
  unsigned char block_turn = 0;
};

/// Lanes are the bits of masks.
struct Warp {
  unsigned alive = 0;
  unsigned ready = 0;
  unsigned gave_way = 0;
  unsigned at_warp = 0;
  unsigned at_block = 0;
  Meeting meeting = Meeting::sync;
  unsigned rotation = 0;
  /// Values that lanes exchange, in two buffers in turn: the next meeting must not overwrite values not yet read.
  std::array<std::array<std::uint64_t, warp_lanes>, 2> given{};

  /// After a meeting lanes continue in another order.
  void choose_order() { rotation = static_cast<unsigned>(random_bits() % warp_lanes); }
  /// A lane that is ready and no longer will be. There must be one.
  [[nodiscard]] unsigned take_ready() {
    const unsigned lane =
        (static_cast<unsigned>(std::countr_zero(std::rotr(ready, static_cast<int>(rotation)))) + rotation) % warp_lanes;
    ready &= ~(1U << lane);
    return lane;
  }
  void release() {
    ready |= at_warp;
    at_warp = 0;
    choose_order();
  }
};

class Block {
 public:
  /// \param most threads
  explicit Block(unsigned most);

  void start(unsigned threads, const std::function<void()>& kernel);
  /// Runs every thread to its next barrier. \returns whether the block goes on: not when all threads have ended, or
  /// something failed
  [[nodiscard]] bool step();

  [[nodiscard]] Thread& thread() { return threads_[threadIdx.x]; }
  [[nodiscard]] Warp& warp() { return warps_[threadIdx.x / warp_lanes]; }
  void meet_warp(Meeting kind);
  void meet_block();
  void give_way();
  [[nodiscard]] int count(bool own);

  std::string failure;
  const std::function<void()>* kernel = nullptr;

 private:
  [[nodiscard]] bool advance(unsigned warp);
  [[nodiscard]] bool run_lanes(unsigned warp);
  [[nodiscard]] bool release_warp(Warp& warp);
  void continue_as_ready(Warp& own);
  void pass_on(Warp& own);
  [[nodiscard]] bool release_block();
  [[nodiscard]] unsigned warps() const { return (count_ + warp_lanes - 1) / warp_lanes; }

  std::vector<unsigned char> stacks_;
  std::vector<Thread> threads_;
  std::array<Warp, max_threads / warp_lanes> warps_;
  std::array<std::array<bool, max_threads>, 2> votes_{};
  unsigned count_ = 0;
  /// Warps run one at a time as far as possible, or in turns.
  bool far_ = false;
};

/// The block that runs.
Block* running = nullptr;
Block& block() { return *running; }

void run_thread() { (*block().kernel)(); }

Block::Block(unsigned most) : stacks_(stack_bytes * most), threads_(most) {
  for (std::size_t t = 0; t < most; ++t) {
    threads_[t].fiber.use_stack(stacks_.data() + t * stack_bytes, stack_bytes);
  }
}

void Block::start(unsigned threads, const std::function<void()>& body) {
  kernel = &body;
  failure.clear();
  count_ = threads;
  far_ = random_bits() % 8 != 0;
  for (unsigned t = 0; t < threads; ++t) {
    threads_[t].warp_turn = 0;
    threads_[t].block_turn = 0;
    threads_[t].fiber.begin(run_thread);
  }
  for (unsigned w = 0; w < warps(); ++w) {
    const unsigned lanes = std::min(threads - w * warp_lanes, warp_lanes);
    warps_[w].alive = ~0U >> (warp_lanes - lanes);
    warps_[w].ready = warps_[w].alive;
    warps_[w].gave_way = 0;
    warps_[w].at_warp = 0;
    warps_[w].at_block = 0;
    warps_[w].choose_order();
  }
}

bool Block::step() {
  std::array<unsigned, max_threads / warp_lanes> order{};
  std::iota(order.begin(), order.end(), 0U);
  shuffle(order.data(), warps());
  bool moved = false;
  for (unsigned i = 0; i < warps() && failure.empty(); ++i) moved = advance(order[i]) || moved;
  if (failure.empty() && !release_block() && !moved) failure = "threads wait for others that never come";
  const auto is_alive = [](const Warp& warp) { return warp.alive != 0; };
  return failure.empty() && std::any_of(warps_.begin(), warps_.begin() + warps(), is_alive);
}

/// \returns whether any lane ran
bool Block::advance(unsigned warp) {
  bool moved = false;
  do {
    moved = run_lanes(warp) || moved;
  } while (failure.empty() && release_warp(warps_[warp]) && far_);
  return moved;
}

bool Block::run_lanes(unsigned number) {
  Warp& warp = warps_[number];
  warp.ready |= std::exchange(warp.gave_way, 0U);
  bool moved = false;
  while (warp.ready != 0 && failure.empty()) {
    moved = true;
    threadIdx.x = number * warp_lanes + warp.take_ready();
    thread().fiber.resume();
    // Another lane may have taken over.
    if (thread().fiber.finished()) warp.alive &= ~(1U << lane_of_thread());
  }
  return moved;
}

bool Block::release_warp(Warp& warp) {
  if (warp.at_warp == 0 || (warp.at_warp | warp.at_block) != warp.alive) return false;
  if (warp.at_block != 0) {
    failure = "lanes of one warp wait, some for the warp and some for the block";
  } else if (warp.alive != ~0U) {
    failure = "lanes of a warp meet when others of it have returned";
  }
  warp.release();
  return failure.empty();
}

bool Block::release_block() {
  bool anyone = false;
  for (unsigned w = 0; w < warps(); ++w) {
    if (warps_[w].at_block != warps_[w].alive) return false;
    anyone = anyone || warps_[w].alive != 0;
  }
  for (unsigned w = 0; w < warps(); ++w) warps_[w].ready |= std::exchange(warps_[w].at_block, 0U);
  return anyone;
}

void Block::meet_warp(Meeting kind) {
  Warp& own = warp();
  if (own.at_warp != 0 && own.meeting != kind) fail("lanes of one warp wait in different intrinsics");
  own.meeting = kind;
  own.at_warp |= 1U << lane_of_thread();
  if (!far_) return Fiber::suspend();
  if (own.at_warp == ~0U) return continue_as_ready(own);
  if (own.ready == 0) return Fiber::suspend();
  pass_on(own);
}

/// The last lane of a warp to arrive releases all, and continues first.
void Block::continue_as_ready(Warp& own) {
  own.release();
  own.ready &= ~(1U << lane_of_thread());
}

/// Without a detour over run_lanes().
void Block::pass_on(Warp& own) {
  threadIdx.x = threadIdx.x / warp_lanes * warp_lanes + own.take_ready();
  thread().fiber.take_over();
}

void Block::meet_block() {
  warp().at_block |= 1U << lane_of_thread();
  Fiber::suspend();
}

void Block::give_way() {
  warp().gave_way |= 1U << lane_of_thread();
  Fiber::suspend();
}

int Block::count(bool own) {
  std::array<bool, max_threads>& votes = votes_[thread().block_turn ^= 1];
  votes[threadIdx.x] = own;
  meet_block();
  return static_cast<int>(std::count(votes.begin(), votes.begin() + count_, true));
}

unsigned char* dynamic_memory = nullptr;

/// Poisons __shared__ variables, so that a block cannot use values of another. All kernels together have some 300 kB of
/// them: too much to do before every block of a large grid.
[[gnu::no_sanitize("address")]] void forget_shared_variables(unsigned blocks_before) {
  if (blocks_before >= 2 && blocks_before % 64 != 0) return;
  // Not by memset(), which the address sanitizer checks: it guards the gaps between variables.
  volatile std::uint64_t* const end = tessera_shared_end;
  for (volatile std::uint64_t* word = tessera_shared_begin; word != end; ++word) *word = ~std::uint64_t{0};
}

struct FreeMemory {
  void operator()(unsigned char* memory) const { std::free(memory); }
};
using SharedMemory = std::unique_ptr<unsigned char, FreeMemory>;

SharedMemory allocate_shared(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0 && posix_memalign(&memory, 128, bytes) != 0) std::abort();
  return SharedMemory(static_cast<unsigned char*>(memory));
}

std::vector<unsigned> random_order(unsigned count) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0U);
  shuffle(order.data(), count);
  return order;
}

std::string place(const std::string& what) {
  return what + " (block " + std::to_string(blockIdx.x) + " of " + std::to_string(gridDim.x) + ", at thread " +
         std::to_string(threadIdx.x) + " of " + std::to_string(blockDim.x) +
         "; TESSERA_EMULATOR_SEED=" + std::to_string(seed()) + ")";
}

}  // namespace

namespace {

/// Never destroyed: kernels may run while static objects are.
Block& only_block() {
  static Block& the_one = *new Block(max_threads);
  return the_one;
}

std::string run_in_sequence(const GridShape& shape, const std::function<void()>& kernel) {
  const SharedMemory shared = allocate_shared(shape.shared_bytes);
  dynamic_memory = shared.get();
  running = &only_block();
  unsigned blocks_before = 0;
  for (const unsigned number : random_order(shape.blocks)) {
    blockIdx.x = number;
    if (shape.shared_bytes > 0) std::memset(shared.get(), unwritten, shape.shared_bytes);
    forget_shared_variables(blocks_before++);
    block().start(shape.threads, kernel);
    while (block().step()) continue;
    if (block().failure.empty() && !finish_bulk_copies()) block().failure = "a block ends before its bulk copies";
    if (!block().failure.empty()) return place(block().failure);
  }
  return {};
}

/// One step of every block after the other.
std::string run_in_turns(const GridShape& shape, const std::function<void()>& kernel) {
  std::vector<SharedMemory> shared;
  std::vector<std::unique_ptr<Block>> blocks;
  for (unsigned number = 0; number < shape.blocks; ++number) {
    shared.push_back(allocate_shared(shape.shared_bytes));
    if (shape.shared_bytes > 0) std::memset(shared.back().get(), unwritten, shape.shared_bytes);
    blocks.push_back(std::make_unique<Block>(shape.threads));
    blocks.back()->start(shape.threads, kernel);
  }
  std::vector<bool> goes_on(shape.blocks, true);
  while (std::find(goes_on.begin(), goes_on.end(), true) != goes_on.end()) {
    for (const unsigned number : random_order(shape.blocks)) {
      if (!goes_on[number]) continue;
      blockIdx.x = number;
      dynamic_memory = shared[number].get();
      running = blocks[number].get();
      goes_on[number] = block().step();
      if (!block().failure.empty()) return place(block().failure);
    }
  }
  return {};
}

}  // namespace

std::string run_grid(const GridShape& shape, const std::function<void()>& kernel) {
  gridDim.x = shape.blocks;
  blockDim.x = shape.threads;
  const std::string failure = shape.is_cooperative ? run_in_turns(shape, kernel) : run_in_sequence(shape, kernel);
  forget_bulk_copies();
  return failure;
}

void fail(std::string_view what) {
  block().failure = what;
  Fiber::suspend();
  std::abort();  // the grid has ended
}

void meet_warp(unsigned mask, Meeting kind) {
  if (mask != ~0U) fail("an intrinsic of a warp for some of its lanes");
  block().meet_warp(kind);
}

const std::uint64_t* gather_warp(unsigned mask, Meeting kind, std::uint64_t own) {
  auto& given = block().warp().given[block().thread().warp_turn ^= 1];
  given[lane_of_thread()] = own;
  meet_warp(mask, kind);
  return given.data();
}

void meet_block() { block().meet_block(); }
int count_block(bool own) { return block().count(own); }
void give_way() { block().give_way(); }
unsigned lane_of_thread() { return threadIdx.x % warp_lanes; }
unsigned char* dynamic_shared() { return dynamic_memory; }

}  // namespace tessera::emulator
