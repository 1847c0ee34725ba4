/// Interruption points of long work.
#include "core/interruption.hpp"

#include "tessera/error.hpp"

#include <fmt/format.h>

#include <utility>

namespace tessera::detail {

constinit thread_local std::int64_t uncounted_steps = 0;

namespace {

using Clock = InterruptionScope::Clock;

constinit thread_local InterruptionScope* innermost = nullptr;
thread_local Clock::time_point asked;

[[nodiscard]] double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

InterruptionScope::InterruptionScope(double seconds, IsWanted is_wanted)
    : seconds_(seconds), is_wanted_(std::move(is_wanted)), outer_(std::exchange(innermost, this)) {
  // Its first point asks at once.
  asked = {};
  uncounted_steps = steps_per_look;
}

InterruptionScope::~InterruptionScope() { innermost = outer_; }

bool InterruptionScope::is_late() const { return seconds_since(began_) >= seconds_; }

bool is_wanted() {
  for (const InterruptionScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->is_late() || scope->is_unwanted()) return false;
  }
  return true;
}

InterruptionPause::InterruptionPause() noexcept : scope_(std::exchange(innermost, nullptr)) {}

InterruptionPause::~InterruptionPause() { innermost = scope_; }

void require_wanted() {
  constexpr double seconds_between = 0.01;
  if (innermost == nullptr || seconds_since(asked) < seconds_between) return;
  asked = Clock::now();
  for (const InterruptionScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    if (scope->is_unwanted()) throw BudgetExceeded("given up: its caller wants it no more");
    if (scope->is_late()) {
      throw BudgetExceeded(
          fmt::format("given up after {:.3g} s: the limit is {:.3g} s", seconds_since(scope->began_), scope->seconds_));
    }
  }
}

}  // namespace tessera::detail
