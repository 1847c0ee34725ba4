/// \file
/// Ctrl-C and SIGTERM: the first asks the solve to stop and write what it has, the second ends the program at once.
#pragma once

#include <exception>

namespace tessera::cli {

/// Takes over SIGINT and SIGTERM for the rest of the program.
void install_interrupt_handlers();

/// The first of the two signals that arrived, or 0.
[[nodiscard]] int interrupt_signal() noexcept;

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
