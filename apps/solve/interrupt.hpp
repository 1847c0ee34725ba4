/// \file
/// Ctrl-C, SIGTERM and SIGHUP: the first asks the program to stop and write what it has; a watchdog ends it after half
/// a second if it does not; the second ends it at once.
#pragma once

#include <csignal>
#include <exception>
#include <string>

namespace tessera::cli {

/// Takes over SIGINT, SIGTERM, SIGHUP and SIGALRM for the rest of the program.
void install_interrupt_handlers();

/// The first of these signals that arrived, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

/// Whether the cursor stands behind an unfinished line of progress, which a sudden end has to close.
extern volatile std::sig_atomic_t progress_line_open;

/// Once a signal arrived, why a solve ends: "interrupted by Ctrl-C".
[[nodiscard]] std::string interruption();

/// From now on the program writes what it has: the watchdog waits for it to do so and to end by itself.
void keep_partial_results() noexcept;

/// Asked after every iteration: whether a signal ends the solve here, with results to keep. The watchdog waits for the
/// next question twice as long as iterations take.
[[nodiscard]] bool ends_with_iteration() noexcept;

/// While output goes to a pipe or a device, which may never take it: the watchdog does not wait.
class BlockingOutput {
 public:
  BlockingOutput() noexcept;
  BlockingOutput(const BlockingOutput&) = delete;
  BlockingOutput& operator=(const BlockingOutput&) = delete;
  ~BlockingOutput();

 private:
  int had_partial_results_;
};

/// Thrown by a command that has no partial results to show.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  [[nodiscard]] const char* what() const noexcept override { return "interrupted, nothing was written"; }
  [[nodiscard]] int signal() const noexcept { return signal_; }

 private:
  int signal_;
};

/// Between two phases of such a command. \throws Interrupted once a signal arrived
void stop_if_interrupted();

}  // namespace tessera::cli
