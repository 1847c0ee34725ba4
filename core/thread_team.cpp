/// \file
/// ThreadTeam: claims by compare-and-swap on words that hold the number of the operation and the next task, waits by
/// bounded spinning and futexes.
#include "core/thread_team.hpp"

#include "core/interruption.hpp"
#include "core/no_signals.hpp"
#include "core/relax.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <new>

namespace tessera::host {

namespace {

/// A wait spins so long before it sleeps: about what going to sleep and waking costs here (bench/NOTES.md).
constexpr std::chrono::microseconds spin_time{30};
constexpr int most_threads = 4096;
/// Tasks are counted in 31 bits; longer operations run in several rounds.
constexpr std::int64_t most_tasks = std::numeric_limits<std::int32_t>::max();
/// Beyond the end of every part: nothing to claim.
constexpr std::int64_t no_task = std::numeric_limits<std::uint32_t>::max();
/// Every thread wakes so many others, so that a large team is awake after a few steps.
constexpr int fan_out = 4;

/// Whether this thread runs a task or has no team any more: operations are serial then.
thread_local bool is_serial = false;

/// Counts the fork()s on the way to this process: workers of another count are not there.
std::atomic<std::uint32_t> forks{0};

void count_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }); });
}

/// A word that one thread waits for and others change. Sequentially consistent: the changer sees the sleeper, or the
/// sleeper sees the change.
class WakeWord {
 public:
  [[nodiscard]] std::uint32_t read() const noexcept { return word_.load(); }

  void notify() noexcept {
    word_.fetch_add(1);
    if (is_asleep_.load()) futex(FUTEX_WAKE_PRIVATE, 1);
  }

  /// Returns when is_done() or the word is not `seen` any more.
  template <class IsDone>
  void wait(std::uint32_t seen, const IsDone& is_done) noexcept {
    const auto end = std::chrono::steady_clock::now() + spin_time;
    do {
      for (int i = 0; i < 32; ++i) {
        if (is_done() || read() != seen) return;
        relax();
      }
    } while (std::chrono::steady_clock::now() < end);
    is_asleep_.store(true);
    while (!is_done() && read() == seen) futex(FUTEX_WAIT_PRIVATE, seen);
    is_asleep_.store(false);
  }

 private:
  void futex(int operation, std::uint32_t value) noexcept {
    static_assert(sizeof word_ == sizeof(std::uint32_t));
    syscall(SYS_futex, &word_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> word_{0};
  std::atomic<bool> is_asleep_{false};
};

constexpr std::uint64_t claim_word(std::uint32_t operation, std::int64_t next) noexcept {
  return std::uint64_t{operation} << 32 | static_cast<std::uint64_t>(next);
}

/// What belongs to one thread of the team; number 0 is the caller.
struct alignas(128) Seat {
  /// Number of the operation and the next task of this seat's part. A claim that is late fails, since the number of
  /// the operation or the task has changed.
  std::atomic<std::uint64_t> claims{claim_word(0, no_task)};
  WakeWord wake;
  pthread_t thread{};
  void* state = nullptr;
  int number = 0;
};

}  // namespace

/// The operation in progress. Its fields change only when every task of the one before is claimed and done: a claim
/// that succeeds has read the fields of its own operation.
struct ThreadTeam::State {
  State() : seats(std::make_unique<std::unique_ptr<Seat>[]>(most_threads)), forks_then(forks.load()) {}

  [[nodiscard]] bool add_seat() {
    seats[static_cast<std::size_t>(size)].reset(new (std::nothrow) Seat);
    Seat* seat = seats[static_cast<std::size_t>(size)].get();
    if (seat == nullptr) return false;
    seat->number = size;
    seat->state = this;
    return true;
  }
  [[nodiscard]] Seat& seat(int number) noexcept { return *seats[static_cast<std::size_t>(number)]; }

  [[nodiscard]] static std::int64_t part_begin(std::int64_t tasks, int parts, int part) noexcept {
    return tasks * part / parts;
  }

  /// Runs what it can claim of the part of one seat. \returns the number of tasks
  std::int64_t run_part(int part) noexcept {
    std::atomic<std::uint64_t>& claims = seat(part).claims;
    std::int64_t ran = 0;
    std::uint64_t word = claims.load(std::memory_order_acquire);
    for (;;) {
      const std::int64_t tasks = count.load(std::memory_order_acquire);
      const int parts = threads.load(std::memory_order_acquire);
      const Task function = task.load(std::memory_order_acquire);
      void* const argument = context.load(std::memory_order_acquire);
      const std::int64_t begin = first.load(std::memory_order_acquire);
      const auto next = static_cast<std::int64_t>(word & 0xffffffffU);
      if (part >= parts || next >= part_begin(tasks, parts, part + 1)) return ran;
      if (!claims.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      function(argument, begin + next);
      ++ran;
      word = claims.load(std::memory_order_acquire);
    }
  }

  /// The own part first, then those of others. \returns the number of tasks
  std::int64_t run_parts(int number) noexcept {
    const int parts = threads.load(std::memory_order_acquire);
    std::int64_t ran = 0;
    for (int k = 0; k < parts; ++k) ran += run_part((number + k) % parts);
    return ran;
  }

  void wake_children(int number) noexcept {
    const int parts = threads.load(std::memory_order_acquire);
    for (int k = 1; k <= fan_out; ++k) {
      const int child = fan_out * number + k;
      if (child < parts) seat(child).wake.notify();
    }
  }

  void work(Seat& own) noexcept {
    std::uint32_t seen = 0;
    while (!is_ending.load()) {
      own.wake.wait(seen, [this] { return is_ending.load(); });
      seen = own.wake.read();
      if (own.number >= threads.load(std::memory_order_acquire)) continue;
      wake_children(own.number);
      const std::int64_t ran = run_parts(own.number);
      if (ran > 0 && remaining.fetch_sub(ran) == ran) seat(0).wake.notify();
    }
  }

  /// `tasks` <= most_tasks
  void run(int parts, std::int64_t begin, std::int64_t tasks, Task function, void* argument) noexcept {
    // Closed first: a late thread must not claim what the last operation had, by the fields of this one.
    for (int part = 0; part < threads.load(std::memory_order_relaxed); ++part) {
      seat(part).claims.store(claim_word(operation, no_task), std::memory_order_release);
    }
    threads.store(parts, std::memory_order_release);
    count.store(tasks, std::memory_order_release);
    first.store(begin, std::memory_order_release);
    task.store(function, std::memory_order_release);
    context.store(argument, std::memory_order_release);
    remaining.store(tasks);
    ++operation;
    const std::uint32_t seen = seat(0).wake.read();
    for (int part = 0; part < parts; ++part) {
      seat(part).claims.store(claim_word(operation, part_begin(tasks, parts, part)), std::memory_order_release);
    }
    wake_children(0);
    const std::int64_t ran = run_parts(0);
    if (remaining.fetch_sub(ran) == ran) return;
    const auto is_done = [this] { return remaining.load() == 0; };
    // A late notification, for the operation before, ends a wait too early.
    for (std::uint32_t word = seen; !is_done(); word = seat(0).wake.read()) seat(0).wake.wait(word, is_done);
  }

  alignas(128) std::atomic<std::int64_t> remaining{0};  ///< tasks that are not done
  std::unique_ptr<std::unique_ptr<Seat>[]> seats;
  int size = 0;  ///< seats in use, the caller's among them
  std::uint32_t operation = 0;
  std::uint32_t forks_then;  ///< forks when the workers were started
  std::atomic<int> threads{0};
  std::atomic<std::int64_t> count{0};
  std::atomic<std::int64_t> first{0};
  std::atomic<Task> task{nullptr};
  std::atomic<void*> context{nullptr};
  std::atomic<bool> is_ending{false};
};

ThreadTeam::ThreadTeam(Starter starter) noexcept : starter_(starter) {}

ThreadTeam::~ThreadTeam() {
  if (!state_) return;
  if (state_->forks_then != forks.load()) {
    static_cast<void>(state_.release());  // threads of the parent may stand in its copy
    return;
  }
  state_->is_ending.store(true);
  for (int k = 1; k < state_->size; ++k) state_->seat(k).wake.notify();
  for (int k = 1; k < state_->size; ++k) pthread_join(state_->seat(k).thread, nullptr);
}

int ThreadTeam::workers() const noexcept { return state_ ? std::max(0, state_->size - 1) : 0; }

int ThreadTeam::grow(int threads) noexcept {
  if (state_ && state_->forks_then != forks.load()) static_cast<void>(state_.release());
  if (state_ && state_->size >= threads) return threads;
  try {
    count_forks();
    if (!state_) state_ = std::make_unique<State>();
  } catch (...) {
    return 1;  // no memory for a team
  }
  const NoSignals no_signals;
  const auto start = [](void* argument) -> void* {
    Seat& own = *static_cast<Seat*>(argument);
    is_serial = true;
    static_cast<State*>(own.state)->work(own);
    return nullptr;
  };
  while (state_->size < std::min(threads, most_threads)) {
    if (!state_->add_seat()) break;
    Seat& next = state_->seat(state_->size);
    if (state_->size > 0 && starter_(&next.thread, nullptr, start, &next) != 0) break;
    ++state_->size;
  }
  return std::clamp(state_->size, 1, threads);
}

void ThreadTeam::run(int threads, std::int64_t count, Task task, void* context) noexcept {
  const int wanted = static_cast<int>(std::min<std::int64_t>(threads, count));
  const int parts = wanted <= 1 || is_serial ? 1 : grow(wanted);
  if (parts == 1) {
    for (std::int64_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  is_serial = true;
  for (std::int64_t begin = 0; begin < count; begin += most_tasks) {
    state_->run(parts, begin, std::min(most_tasks, count - begin), task, context);
  }
  is_serial = false;
}

void run_tasks(int threads, std::int64_t count, Task task, void* context) noexcept {
  struct TeamOfThread {
    ThreadTeam team;
    ~TeamOfThread() { is_serial = true; }
  };
  const detail::InterruptionPause pause;
  if (threads <= 1 || count <= 1 || is_serial) {
    for (std::int64_t i = 0; i < count; ++i) task(context, i);
    return;
  }
  static thread_local TeamOfThread this_thread;
  this_thread.team.run(threads, count, task, context);
}

}  // namespace tessera::host
