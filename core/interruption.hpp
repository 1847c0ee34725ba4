/// \file
/// Interruption points: long work on one thread asks every 10 ms whether it is still wanted, and ends by an exception
/// where it is not. Limits of time and signals reach analyses, orderings and factorizations so, without a parameter.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

namespace tessera::detail {

/// Limits the work that the calling thread does while this lives. Scopes nest, and each of them can end the work.
class InterruptionScope {
 public:
  using Clock = std::chrono::steady_clock;
  using IsWanted = std::function<bool()>;

  /// \param seconds    from now on; infinity: no limit
  /// \param is_wanted  asked between the steps of the work; empty: it is
  explicit InterruptionScope(double seconds, IsWanted is_wanted = {});
  ~InterruptionScope();
  InterruptionScope(const InterruptionScope&) = delete;
  InterruptionScope& operator=(const InterruptionScope&) = delete;

 private:
  Clock::time_point began_ = Clock::now();
  double seconds_;
  IsWanted is_wanted_;
  InterruptionScope* outer_;

  [[nodiscard]] bool is_late() const;
  [[nodiscard]] bool is_unwanted() const { return is_wanted_ && !is_wanted_(); }
  friend bool is_wanted();
  friend void require_wanted();
};

/// Suspends all scopes of the calling thread: in tasks of a team, which must not throw.
class InterruptionPause {
 public:
  InterruptionPause() noexcept;
  ~InterruptionPause();
  InterruptionPause(const InterruptionPause&) = delete;
  InterruptionPause& operator=(const InterruptionPause&) = delete;

 private:
  InterruptionScope* scope_;
};

/// Whether no scope of the calling thread is over.
[[nodiscard]] bool is_wanted();

/// Asks at most every 10 ms. \throws BudgetExceeded where a scope of the calling thread is over
void require_wanted();

/// Steps of some nanoseconds, such as entries that were read, since the clock was looked at.
extern constinit thread_local std::int64_t uncounted_steps;
inline constexpr std::int64_t steps_per_look = 10'000;

/// require_wanted(), asked for once in some 10 000 steps. Cheap enough for every row or pivot. \throws as that
inline void interruption_point(std::int64_t steps = 1) {
  uncounted_steps += steps;
  if (uncounted_steps < steps_per_look) return;
  uncounted_steps = 0;
  require_wanted();
}

}  // namespace tessera::detail
