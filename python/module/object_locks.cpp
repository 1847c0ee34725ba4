// Locks of objects by threads: taken all at once, so that none waits while it holds a part. A cycle of the wait-for
// graph, which only nested calls can close, is found by a search and refused.
#include "object_locks.hpp"

#include "watch.hpp"

#include "tessera/error.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

namespace tessera::python {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(20);

using Thread = std::thread::id;

/// An object in use, or wanted.
struct LockState {
  std::vector<Thread> threads;  ///< once per lock
  bool is_alone = false;
  int changes_waiting = 0;  ///< later readers let them pass

  [[nodiscard]] bool is_of(Thread thread) const {
    return std::find(threads.begin(), threads.end(), thread) != threads.end();
  }
};

struct LockTable {
  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<const void*, LockState> states;
  std::map<Thread, std::span<const LockRequest>> waits;

  /// Threads that have what `thread` wants.
  [[nodiscard]] std::vector<Thread> in_the_way(std::span<const LockRequest> wanted, Thread thread) const {
    std::vector<Thread> result;
    for (const LockRequest& each : wanted) {
      const auto found = states.find(each.object);
      if (found == states.end() || (each.mode == LockMode::shared && !found->second.is_alone)) continue;
      std::copy_if(found->second.threads.begin(), found->second.threads.end(), std::back_inserter(result),
                   [&](Thread other) { return other != thread; });
    }
    return result;
  }

  /// Whether one of `others` waits, by way of any number of threads, for what `thread` has.
  [[nodiscard]] bool closes_circle(std::vector<Thread> others, Thread thread) const {
    for (std::size_t k = 0; k < others.size(); ++k) {
      const auto found = waits.find(others[k]);
      if (found == waits.end()) continue;
      for (const Thread next : in_the_way(found->second, others[k])) {
        if (next == thread) return true;
        if (std::find(others.begin(), others.end(), next) == others.end()) others.push_back(next);
      }
    }
    return false;
  }

  [[nodiscard]] bool has_change_waiting(std::span<const LockRequest> wanted) const {
    return std::any_of(wanted.begin(), wanted.end(), [&](const LockRequest& each) {
      const auto found = states.find(each.object);
      return each.mode == LockMode::shared && found != states.end() && found->second.changes_waiting > 0;
    });
  }

  /// Whether this thread has an object that it wants in a way that does not go with it.
  [[nodiscard]] bool wants_its_own(std::span<const LockRequest> wanted, Thread thread) const {
    return std::any_of(wanted.begin(), wanted.end(), [&](const LockRequest& each) {
      const auto found = states.find(each.object);
      if (each.mode == LockMode::reentrant || found == states.end() || !found->second.is_of(thread)) return false;
      return each.mode == LockMode::exclusive || found->second.is_alone;
    });
  }

  void count_changes(std::span<const LockRequest> wanted, int difference) {
    for (const LockRequest& each : wanted) {
      if (each.mode == LockMode::exclusive) states[each.object].changes_waiting += difference;
      drop_unused(each.object);
    }
  }

  void drop_unused(const void* object) {
    const auto found = states.find(object);
    if (found != states.end() && found->second.threads.empty() && found->second.changes_waiting == 0)
      states.erase(found);
  }
};

LockTable& table();

/// In a child of fork() only the thread that forked lives on.
void forget_other_threads() {
  LockTable& all = table();
  const Thread self = LockOwner::of_this_thread().thread;
  for (auto& [object, state] : all.states) {
    std::erase_if(state.threads, [&](Thread each) { return each != self; });
    state.is_alone = state.is_alone && !state.threads.empty();
    state.changes_waiting = 0;
  }
  all.waits.clear();
  new (&all.changed) std::condition_variable;
  all.mutex.unlock();
}

/// Never destroyed: threads of the interpreter may outlive static objects.
LockTable& table() {
  static LockTable& all = *new LockTable;
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); }, forget_other_threads);
  return all;
}

/// In the list of those that wait, until the wait ends, in an exception too.
class LockWait {
 public:
  LockWait(std::unique_lock<std::mutex>& lock, Thread thread, std::span<const LockRequest> wanted)
      : lock_(lock), thread_(thread), wanted_(wanted) {
    table().count_changes(wanted, 1);
  }
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;
  ~LockWait() {
    if (!lock_.owns_lock()) lock_.lock();
    table().waits.erase(thread_);
    table().count_changes(wanted_, -1);
    table().changed.notify_all();
  }

  /// For a change, or until it is time to look for signals.
  void wait() const {
    table().waits[thread_] = wanted_;
    if (table().changed.wait_for(lock_, between_looks) == std::cv_status::no_timeout) return;
    lock_.unlock();
    {
      const nanobind::gil_scoped_acquire interpreter;
      raise_signals();
    }
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex>& lock_;
  Thread thread_;
  std::span<const LockRequest> wanted_;
};

/// Stands for the library's own context of a GPU.
const void* own_context(int ordinal) {
  static const std::array<char, 64> contexts{};
  return &contexts[static_cast<std::size_t>(ordinal) % contexts.size()];
}

[[nodiscard]] std::string refusal(const char* what) {
  return std::string(what) + " by a callback of a call that uses the same object: it would wait for itself";
}

}  // namespace

LockOwner& LockOwner::of_this_thread() {
  thread_local LockOwner self;
  return self;
}

ObjectLock::ObjectLock(const char* what, const Device& device, std::initializer_list<LockRequest> objects)
    : thread_(LockOwner::of_this_thread().thread) {
  objects_.reserve(objects.size() + 1);
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(objects_),
               [](const LockRequest& each) { return each.object != nullptr; });
  if (!device.is_host()) {
    const void* const context = device.context_id();
    objects_.push_back({context != nullptr ? context : own_context(device.ordinal()), LockMode::reentrant});
  }
  if (!objects_.empty()) wait(what);
  ++LockOwner::of_this_thread().locks;
}

void ObjectLock::wait(const char* what) {
  LockTable& all = table();
  std::unique_lock lock(all.mutex);
  if (all.wants_its_own(objects_, thread_)) throw InvalidArgument(refusal(what));
  const bool is_within_another = LockOwner::of_this_thread().locks > 0;
  const auto is_free = [&] {
    return all.in_the_way(objects_, thread_).empty() && (is_within_another || !all.has_change_waiting(objects_));
  };
  if (!is_free()) {
    const LockWait waiting(lock, thread_, objects_);
    do {
      if (all.closes_circle(all.in_the_way(objects_, thread_), thread_)) throw InvalidArgument(refusal(what));
      waiting.wait();
    } while (!is_free());
  }
  for (const LockRequest& each : objects_) {
    LockState& state = all.states[each.object];
    state.threads.push_back(thread_);
    state.is_alone = each.mode != LockMode::shared;
  }
}

ObjectLock::~ObjectLock() {
  --LockOwner::of_this_thread().locks;
  if (objects_.empty()) return;
  LockTable& all = table();
  const std::scoped_lock lock(all.mutex);
  for (const LockRequest& each : objects_) {
    LockState& state = all.states[each.object];
    state.threads.erase(std::find(state.threads.begin(), state.threads.end(), thread_));
    if (state.threads.empty()) state.is_alone = false;
    all.drop_unused(each.object);
  }
  if (!all.waits.empty()) all.changed.notify_all();
}

}  // namespace tessera::python
