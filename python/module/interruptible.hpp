/// \file
/// Long work that Ctrl-C ends at once: set-up of preconditioners and plans, sparse products, reading.
///
/// None of it looks at a flag. So it runs on a thread of its own, while the thread that called asks for signals; after
/// one, the call raises what the signal asks for, and the work goes on to its end in the background, unseen.
#pragma once

#include "matrix.hpp"
#include "object_locks.hpp"
#include "watch.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace tessera::python {

/// Work with fewer entries than this is done within 100 ms, and cheaper where it is called.
inline constexpr std::int64_t entries_worth_a_thread = 20'000;

/// Work, with what it gives and all that it refers to. Let go of only with the interpreter's lock.
class Job {
 public:
  Job() = default;
  virtual ~Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void run() noexcept {
    try {
      do_run();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void rethrow_failure() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  /// Asks the work to end early. \returns whether there is anything in it that looks
  [[nodiscard]] virtual bool cancel() noexcept = 0;

 protected:
  virtual void do_run() = 0;

 private:
  std::exception_ptr failure_;
};

/// Whether work of this size, called from this thread, runs on a thread of its own: signals reach the main thread
/// alone.
[[nodiscard]] bool is_worth_a_thread(std::int64_t entries) noexcept;

/// How much work that was interrupted still runs. With the interpreter's lock.
[[nodiscard]] std::size_t count_left_behind();

/// Runs the job on that thread, without the interpreter's lock. \throws nb::python_error what a signal asked for; the
/// job is kept until it is done
void run_elsewhere(const std::shared_ptr<Job>& job);

/// Runs `work` without the interpreter's lock, and returns what it returns.
/// \param entries how much there is to do
/// \param work owns, or keeps alive, all that it refers to: it may outlive the call
/// \param watch the observer of a solve within, which ends it
template <class Work>
[[nodiscard]] auto interruptible(std::int64_t entries, Work work, const std::shared_ptr<Watch>& watch = nullptr) {
  using Result = std::invoke_result_t<Work&>;
  struct Own final : Job {
    explicit Own(Work&& given, std::shared_ptr<Watch> given_watch)
        : work(std::move(given)), watch(std::move(given_watch)) {}
    void do_run() override {
      const LockOwnerScope owner(caller);
      result.emplace(work());
    }
    bool cancel() noexcept override {
      if (watch) watch->cancel();
      return watch != nullptr;
    }
    Work work;
    std::shared_ptr<Watch> watch;
    LockOwner caller = LockOwner::of_this_thread();
    std::optional<Result> result;
  };
  if (!is_worth_a_thread(entries)) return unlocked(work);
  const auto job = std::make_shared<Own>(std::move(work), watch);
  run_elsewhere(job);
  job->rethrow_failure();
  return std::move(*job->result);
}

/// Keeps the Python object of a bound C++ object alive.
template <class Bound>
[[nodiscard]] nb::object kept(const Bound& bound) {
  return nb::find(bound);
}

}  // namespace tessera::python
