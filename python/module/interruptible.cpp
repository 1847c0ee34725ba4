// One helper thread for long work. After an interruption it is left to itself, and the next work gets another.
#include "interruptible.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera::python {

namespace {

constexpr auto between_looks = std::chrono::milliseconds(10);
/// What looks at a flag, as an iteration does, gets so long to end before it is left to itself.
constexpr auto grace = std::chrono::milliseconds(40);

/// A thread that runs one job after the other.
class Helper {
 public:
  void start(std::shared_ptr<Job> job) {
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    is_done_ = false;
    changed_.notify_all();
  }

  /// \returns whether the job is done
  [[nodiscard]] bool wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return is_done_; });
  }

  /// The thread ends after its job.
  void abandon() {
    const std::lock_guard lock(mutex_);
    is_abandoned_ = true;
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ != nullptr || is_abandoned_; });
      if (is_abandoned_) return;
      Job& job = *job_;
      lock.unlock();
      job.run();
      lock.lock();
      job_.reset();  // not the last reference: whoever asked for the work, or the list of what was left, has one
      is_done_ = true;
      changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Job> job_;
  bool is_done_ = true;
  bool is_abandoned_ = false;
};

struct Abandoned {
  std::shared_ptr<Helper> helper;
  std::shared_ptr<Job> job;
};

/// Of the main thread. Never destroyed: at the end of the process the helpers may still run.
struct Helpers {
  std::shared_ptr<Helper> current;
  pid_t process = getpid();
  std::vector<Abandoned> abandoned;
};

[[nodiscard]] Helpers& helpers() {
  static auto* all = new Helpers;
  if (all->process != getpid()) all = new Helpers;  // a fork takes no threads along: the parent's are not touched
  return *all;
}

/// Blocks all signals for a scope, also for a thread that is started in it.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

[[nodiscard]] std::shared_ptr<Helper> make_helper() {
  auto helper = std::make_shared<Helper>();
  const BlockedSignals blocked;  // the helper never handles a signal
  std::thread([helper] { helper->work(); }).detach();
  return helper;
}

/// Lets go of abandoned work that has ended since, here, with the interpreter's lock.
void sweep(std::vector<Abandoned>& abandoned) {
  const auto is_done = [](const Abandoned& each) { return each.helper->wait(std::chrono::milliseconds(0)); };
  abandoned.erase(std::remove_if(abandoned.begin(), abandoned.end(), is_done), abandoned.end());
}

}  // namespace

std::size_t count_left_behind() {
  sweep(helpers().abandoned);
  return helpers().abandoned.size();
}

bool is_worth_a_thread(std::int64_t entries) noexcept {
  return entries >= entries_worth_a_thread && syscall(SYS_gettid) == getpid();
}

void run_elsewhere(const std::shared_ptr<Job>& job) {
  Helpers& all = helpers();
  sweep(all.abandoned);
  // Taken out while it works: a signal's handler may call for work, too.
  std::shared_ptr<Helper> helper = std::exchange(all.current, nullptr);
  if (helper == nullptr) helper = make_helper();
  helper->start(job);
  bool is_done = false;
  bool is_interrupted = false;
  while (!is_done && !is_interrupted) {
    is_done = unlocked([&] { return helper->wait(between_looks); });
    is_interrupted = PyErr_CheckSignals() != 0;
  }
  if (!is_done && job->cancel()) is_done = unlocked([&] { return helper->wait(grace); });
  if (is_done) {
    all.current = std::move(helper);
  } else {
    all.abandoned.reserve(all.abandoned.size() + 1);
    helper->abandon();
    all.abandoned.push_back({std::move(helper), job});
  }
  if (is_interrupted) nb::raise_python_error();
}

}  // namespace tessera::python
