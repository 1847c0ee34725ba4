#include "interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <initializer_list>

namespace tessera::cli {

namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t announce = 0;

// Only async-signal-safe calls are allowed in here.
extern "C" void on_signal(int number) {
  if (received != 0) _exit(128 + number);
  received = number;
  if (announce == 0) return;
  constexpr char text[] = "\nsolve: stopping after this step; once more to abort\n";
  const auto written = ::write(STDERR_FILENO, text, sizeof text - 1);
  static_cast<void>(written);
}

}  // namespace

void install_interrupt_handlers() {
  // Progress that a program reads must not be broken up by a message for people.
  announce = ::isatty(STDERR_FILENO) != 0 ? 1 : 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction old = {};
    // A signal that was ignored from the start (nohup, a job in the background) stays so.
    if (sigaction(number, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

int interrupt_signal() noexcept { return static_cast<int>(received); }

void stop_if_interrupted() {
  if (interrupt_signal() != 0) throw Interrupted(interrupt_signal());
}

}  // namespace tessera::cli
