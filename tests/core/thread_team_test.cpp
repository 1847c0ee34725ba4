#include "core/thread_team.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace tessera::host {
namespace {

using Visits = std::vector<std::atomic<int>>;

void visit(void* context, std::int64_t i) { ++(*static_cast<Visits*>(context))[static_cast<std::size_t>(i)]; }

/// Whether every task of an operation runs exactly once.
bool runs_all(ThreadTeam& team, int threads, std::int64_t count) {
  Visits visits(static_cast<std::size_t>(count));
  team.run(threads, count, visit, &visits);
  for (const std::atomic<int>& times : visits) {
    if (times != 1) return false;
  }
  return true;
}

int no_thread(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) { return EAGAIN; }

std::atomic<int> starts_left{0};
int two_threads(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  return starts_left.fetch_sub(1) > 0 ? pthread_create(thread, attributes, start, argument) : EAGAIN;
}

TEST(ThreadTeam, RunsEveryTaskOnce) {
  ThreadTeam team;
  for (const int threads : {1, 2, 3, 9, 40, 2}) {
    for (const std::int64_t count : {0, 1, 2, 3, 17, 1000}) {
      for (int round = 0; round < 20; ++round) ASSERT_TRUE(runs_all(team, threads, count)) << threads << ' ' << count;
    }
  }
  EXPECT_EQ(team.workers(), 39);
}

TEST(ThreadTeam, IsSmallerWhereThreadsCannotBeStarted) {
  ThreadTeam alone(no_thread);
  EXPECT_TRUE(runs_all(alone, 8, 100));
  EXPECT_EQ(alone.workers(), 0);
  starts_left = 2;
  ThreadTeam small(two_threads);
  EXPECT_TRUE(runs_all(small, 8, 100));
  EXPECT_EQ(small.workers(), 2);
}

TEST(ThreadTeam, OperationsInsideTasksAreSerial) {
  struct Count {
    std::atomic<int> inner{0};
    std::atomic<int> elsewhere{0};
  } count;
  run_tasks(
      4, 8,
      [](void* context, std::int64_t) {
        struct Inner {
          Count* count;
          std::thread::id here;
        } inner{static_cast<Count*>(context), std::this_thread::get_id()};
        run_tasks(
            4, 10,
            [](void* inside, std::int64_t) {
              const auto* const in = static_cast<Inner*>(inside);
              ++in->count->inner;
              if (std::this_thread::get_id() != in->here) ++in->count->elsewhere;
            },
            &inner);
      },
      &count);
  EXPECT_EQ(count.inner, 80);
  EXPECT_EQ(count.elsewhere, 0);
}

TEST(ThreadTeam, EveryThreadHasItsOwn) {
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&bad] {
      for (int round = 0; round < 200; ++round) {
        Visits visits(50);
        run_tasks(3, 50, visit, &visits);
        for (const std::atomic<int>& times : visits) bad += times == 1 ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, 0);
}

TEST(ThreadTeam, StartsAnewAfterFork) {
  ThreadTeam team;
  ASSERT_TRUE(runs_all(team, 3, 100));
  const pid_t child = fork();
  if (child == 0) {
    const bool is_good = runs_all(team, 3, 100) && team.workers() == 2;
    _exit(is_good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(runs_all(team, 3, 100));
}

int tasks_of_process() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

TEST(ThreadTeam, EndsItsWorkers) {
  const int before = tasks_of_process();
  {
    ThreadTeam team;
    ASSERT_TRUE(runs_all(team, 6, 100));
    EXPECT_EQ(tasks_of_process(), before + 5);
  }
  // The kernel may list a thread for a moment after it was joined.
  for (int k = 0; k < 1000 && tasks_of_process() > before; ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(tasks_of_process(), before);
}

/// Threads of this process that sleep (state S).
int sleeping_tasks() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(entry.path() / "stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t name_end = text.rfind(')');
    if (name_end != std::string::npos && text.substr(name_end + 2, 1) == "S") ++count;
  }
  return count;
}

TEST(ThreadTeam, IdleWorkersSleepAndWake) {
  ThreadTeam team;
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(runs_all(team, 5, 100));
    int asleep = 0;
    for (int k = 0; k < 5000 && asleep < 4; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      asleep = sleeping_tasks();
    }
    EXPECT_GE(asleep, 4);
  }
}

}  // namespace
}  // namespace tessera::host
