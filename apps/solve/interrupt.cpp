#include "interrupt.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace tessera::cli {

volatile std::sig_atomic_t progress_line_open = 0;

namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t announce = 0;
volatile std::sig_atomic_t has_partial_results = 0;
volatile std::sig_atomic_t ticks_to_wait = 0;  ///< of the watchdog, for the end of an iteration

constexpr suseconds_t tick_us = 100'000;

template <std::size_t size>
void say(const char (&text)[size]) {
  const auto written = ::write(STDERR_FILENO, text, size - 1);
  static_cast<void>(written);
}

/// Asks for SIGALRM soon, and again and again.
void start_watchdog() {
  constexpr suseconds_t first_us = 500'000;
  const itimerval timer{{0, tick_us}, {0, first_us}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// Only async-signal-safe calls are allowed in here.
extern "C" void on_signal(int number) {
  if (received != 0) {
    if (progress_line_open != 0) say("\n");
    _exit(128 + number);
  }
  received = number;
  start_watchdog();
  if (announce != 0) say("\nsolve: stopping after this step; once more to abort\n");
}

// A read from a pipe or a product looks at no flag: unless it writes results
// already, it ends here. Temporaries have no names, so that they end with it (io/atomic_file.hpp).
extern "C" void on_watchdog(int /*number*/) {
  if (has_partial_results != 0) return;
  if (ticks_to_wait > 0) {
    ticks_to_wait = ticks_to_wait - 1;
    return;
  }
  if (progress_line_open != 0) say("\n");
  say("solve: error: interrupted, nothing was written\n");
  _exit(128 + static_cast<int>(received));
}

}  // namespace

void install_interrupt_handlers() {
  // Progress that a program reads must not be broken up by a message for people.
  announce = ::isatty(STDERR_FILENO) != 0 ? 1 : 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  struct sigaction watchdog = action;
  watchdog.sa_handler = on_watchdog;
  sigaction(SIGALRM, &watchdog, nullptr);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old = {};
    // A signal that was ignored from the start (nohup, a job in the background) stays so.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

void keep_partial_results() noexcept { has_partial_results = 1; }

bool ends_with_iteration() noexcept {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point latest = Clock::now();
  static Clock::duration gap{0};
  const Clock::time_point now = Clock::now();
  const Clock::duration gap_before = std::exchange(gap, now - std::exchange(latest, now));
  // The smaller one of two gaps: between two rungs there is a set-up.
  const auto wait = 2 * std::min(gap, gap_before);
  constexpr std::int64_t most_ticks = 1'000'000;
  ticks_to_wait =
      static_cast<std::sig_atomic_t>(std::min<std::int64_t>(wait / std::chrono::microseconds(tick_us), most_ticks));
  if (received != 0) keep_partial_results();
  return received != 0;
}

BlockingOutput::BlockingOutput() noexcept : had_partial_results_(has_partial_results) { has_partial_results = 0; }

BlockingOutput::~BlockingOutput() { has_partial_results = had_partial_results_; }

int interrupt_signal() noexcept { return static_cast<int>(received); }

std::string interruption() {
  if (interrupt_signal() == SIGINT) return "interrupted by Ctrl-C";
  return interrupt_signal() == SIGHUP ? "interrupted by SIGHUP" : "interrupted by SIGTERM";
}

void stop_if_interrupted() {
  if (interrupt_signal() != 0) throw Interrupted(interrupt_signal());
}

}  // namespace tessera::cli
