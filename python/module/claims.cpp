// Claims on objects by threads: taken all at once, so that none waits while it holds a part; a circle of waits, which
// only nested calls can close, is found by a search along the waits and refused.
#include "claims.hpp"

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
struct Use {
  std::vector<Thread> threads;  ///< once per claim
  bool is_alone = false;
  int changes_waiting = 0;  ///< later readers let them pass

  [[nodiscard]] bool is_of(Thread thread) const {
    return std::find(threads.begin(), threads.end(), thread) != threads.end();
  }
};

struct Table {
  std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<const void*, Use> uses;
  std::map<Thread, std::span<const Claimed>> waits;

  /// Threads that have what `thread` wants.
  [[nodiscard]] std::vector<Thread> in_the_way(std::span<const Claimed> wanted, Thread thread) const {
    std::vector<Thread> result;
    for (const Claimed& each : wanted) {
      const auto found = uses.find(each.object);
      if (found == uses.end() || (each.access == Access::shared && !found->second.is_alone)) continue;
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

  [[nodiscard]] bool has_change_waiting(std::span<const Claimed> wanted) const {
    return std::any_of(wanted.begin(), wanted.end(), [&](const Claimed& each) {
      const auto found = uses.find(each.object);
      return each.access == Access::shared && found != uses.end() && found->second.changes_waiting > 0;
    });
  }

  /// Whether this thread has an object that it wants in a way that does not go with it.
  [[nodiscard]] bool wants_its_own(std::span<const Claimed> wanted, Thread thread) const {
    return std::any_of(wanted.begin(), wanted.end(), [&](const Claimed& each) {
      const auto found = uses.find(each.object);
      if (each.access == Access::turn || found == uses.end() || !found->second.is_of(thread)) return false;
      return each.access == Access::exclusive || found->second.is_alone;
    });
  }

  void count_changes(std::span<const Claimed> wanted, int difference) {
    for (const Claimed& each : wanted) {
      if (each.access == Access::exclusive) uses[each.object].changes_waiting += difference;
      drop_unused(each.object);
    }
  }

  void drop_unused(const void* object) {
    const auto found = uses.find(object);
    if (found != uses.end() && found->second.threads.empty() && found->second.changes_waiting == 0) uses.erase(found);
  }
};

Table& table();

/// In a child of fork() only the thread that forked lives on.
void forget_other_threads() {
  Table& all = table();
  const Thread self = Claimant::of_this_thread().thread;
  for (auto& [object, use] : all.uses) {
    std::erase_if(use.threads, [&](Thread each) { return each != self; });
    use.is_alone = use.is_alone && !use.threads.empty();
    use.changes_waiting = 0;
  }
  all.waits.clear();
  new (&all.changed) std::condition_variable;
  all.mutex.unlock();
}

/// Never destroyed: threads of the interpreter may outlive static objects.
Table& table() {
  static Table& all = *new Table;
  [[maybe_unused]] static const int registered =
      pthread_atfork([] { table().mutex.lock(); }, [] { table().mutex.unlock(); }, forget_other_threads);
  return all;
}

/// In the list of those that wait, until the wait ends, in an exception too.
class Waiting {
 public:
  Waiting(std::unique_lock<std::mutex>& lock, Thread thread, std::span<const Claimed> wanted)
      : lock_(lock), thread_(thread), wanted_(wanted) {
    table().count_changes(wanted, 1);
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
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
  std::span<const Claimed> wanted_;
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

Claimant& Claimant::of_this_thread() {
  thread_local Claimant self;
  return self;
}

Claim::Claim(const char* what, const Device& device, std::initializer_list<Claimed> objects)
    : thread_(Claimant::of_this_thread().thread) {
  objects_.reserve(objects.size() + 1);
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(objects_),
               [](const Claimed& each) { return each.object != nullptr; });
  if (!device.is_host()) {
    const void* const context = device.context_id();
    objects_.push_back({context != nullptr ? context : own_context(device.ordinal()), Access::turn});
  }
  if (!objects_.empty()) wait(what);
  ++Claimant::of_this_thread().claims;
}

void Claim::wait(const char* what) {
  Table& all = table();
  std::unique_lock lock(all.mutex);
  if (all.wants_its_own(objects_, thread_)) throw InvalidArgument(refusal(what));
  const bool is_within_another = Claimant::of_this_thread().claims > 0;
  const auto is_free = [&] {
    return all.in_the_way(objects_, thread_).empty() && (is_within_another || !all.has_change_waiting(objects_));
  };
  if (!is_free()) {
    const Waiting waiting(lock, thread_, objects_);
    do {
      if (all.closes_circle(all.in_the_way(objects_, thread_), thread_)) throw InvalidArgument(refusal(what));
      waiting.wait();
    } while (!is_free());
  }
  for (const Claimed& each : objects_) {
    Use& use = all.uses[each.object];
    use.threads.push_back(thread_);
    use.is_alone = each.access != Access::shared;
  }
}

Claim::~Claim() {
  --Claimant::of_this_thread().claims;
  if (objects_.empty()) return;
  Table& all = table();
  const std::scoped_lock lock(all.mutex);
  for (const Claimed& each : objects_) {
    Use& use = all.uses[each.object];
    use.threads.erase(std::find(use.threads.begin(), use.threads.end(), thread_));
    if (use.threads.empty()) use.is_alone = false;
    all.drop_unused(each.object);
  }
  if (!all.waits.empty()) all.changed.notify_all();
}

}  // namespace tessera::python
