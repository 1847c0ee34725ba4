// Interruption points, their scopes and their pauses.
#include "core/interruption.hpp"

#include "core/parallel.hpp"
#include "tessera/error.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>

namespace tessera::testing {
namespace {

using detail::interruption_point;
using detail::InterruptionScope;
using detail::is_wanted;
using detail::require_wanted;

constexpr double forever = std::numeric_limits<double>::infinity();

/// Long enough that the next point looks at the clock.
void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(12)); }

TEST(Interruption, NothingEndsWithoutAScope) {
  wait();
  EXPECT_NO_THROW(require_wanted());
}

TEST(Interruption, ALimitOfTimeEndsTheWorkAndSaysSo) {
  const InterruptionScope scope(0.005);
  EXPECT_TRUE(is_wanted());
  wait();
  EXPECT_FALSE(is_wanted());
  try {
    require_wanted();
    FAIL() << "did not throw";
  } catch (const BudgetExceeded& error) {
    EXPECT_NE(std::string(error.what()).find("the limit is 0.005 s"), std::string::npos) << error.what();
  }
}

TEST(Interruption, ACallerEndsTheWork) {
  bool goes_on = true;
  const InterruptionScope scope(forever, [&] { return goes_on; });
  wait();
  EXPECT_NO_THROW(require_wanted());
  goes_on = false;
  wait();
  EXPECT_THROW(require_wanted(), BudgetExceeded);
}

TEST(Interruption, OuterScopesEndInnerWorkAndOutliveIt) {
  const InterruptionScope outer(0.005);
  {
    const InterruptionScope inner(forever);
    wait();
    EXPECT_FALSE(is_wanted());
    EXPECT_THROW(require_wanted(), BudgetExceeded);
  }
  wait();
  EXPECT_THROW(require_wanted(), BudgetExceeded);
}

TEST(Interruption, AnInnerScopeThatIsOverLeavesTheOuterOne) {
  const InterruptionScope outer(forever);
  {
    const InterruptionScope inner(0.0);
    wait();
    EXPECT_THROW(require_wanted(), BudgetExceeded);
  }
  wait();
  EXPECT_NO_THROW(require_wanted());
  EXPECT_TRUE(is_wanted());
}

TEST(Interruption, PointsLookAtTheClockAfterManySteps) {
  const InterruptionScope scope(0.0);
  wait();
  const auto run = [] {
    for (int i = 0; i < 100; ++i) interruption_point(1000);
  };
  EXPECT_THROW(run(), BudgetExceeded);
}

TEST(Interruption, TheFirstPointOfAScopeAsksAtOnce) {
  int asks = 0;
  const auto count = [&] {
    ++asks;
    return true;
  };
  {
    const InterruptionScope scope(forever, count);
    interruption_point();
    interruption_point();
  }
  EXPECT_EQ(asks, 1);
  const InterruptionScope scope(forever, count);
  interruption_point();
  EXPECT_EQ(asks, 2);
}

TEST(Interruption, AnotherThreadIsNotConcerned) {
  const InterruptionScope scope(0.0);
  wait();
  bool has_thrown = true;
  std::thread([&] {
    try {
      require_wanted();
      has_thrown = false;
    } catch (const BudgetExceeded&) {
      has_thrown = true;
    }
  }).join();
  EXPECT_FALSE(has_thrown);
}

TEST(Interruption, TasksOfATeamAreNotInterrupted) {
  const InterruptionScope scope(0.0);
  wait();
  int ended = 0;
  // One thread: the caller runs every task.
  host::run_tasks(
      1, 3,
      [](void* count, std::int64_t) {
        require_wanted();
        ++*static_cast<int*>(count);
      },
      &ended);
  EXPECT_EQ(ended, 3);
  EXPECT_THROW(require_wanted(), BudgetExceeded);
}

}  // namespace
}  // namespace tessera::testing
