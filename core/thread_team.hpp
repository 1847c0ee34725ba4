/// \file
/// A team of threads that share numbered tasks by claims: a thread that the system does not schedule has claimed
/// nothing, so nobody waits for it (work stealing from equal parts; R. Blumofe and C. Leiserson, J. ACM 46, 1999).
///
/// Every calling thread has a team of its own, started when first needed and ended with the thread. Workers wait for
/// the next operation with bounded spinning, then asleep.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>

namespace tessera::host {

/// One task of an operation; must not throw.
using Task = void (*)(void* context, std::int64_t index);

class ThreadTeam {
 public:
  /// As pthread_create; tests put in one that fails.
  using Starter = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

  explicit ThreadTeam(Starter starter = pthread_create) noexcept;
  /// Ends the workers, except in a child of fork(), which has none.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// task(context, i) once for every i in [0, count), by at most `threads` threads, the caller among them. Returns when
  /// all are done. Serial inside a task, and as far as threads cannot be started. Only the owner calls it.
  void run(int threads, std::int64_t count, Task task, void* context) noexcept;

  /// Workers that were started; the caller is not counted.
  [[nodiscard]] int workers() const noexcept;

 private:
  struct State;
  /// Teams of `threads` threads, or as many as can be had. \returns their number with the caller
  [[nodiscard]] int grow(int threads) noexcept;

  Starter starter_;
  std::unique_ptr<State> state_;
};

/// ThreadTeam::run() by the team of the calling thread.
void run_tasks(int threads, std::int64_t count, Task task, void* context) noexcept;

}  // namespace tessera::host
