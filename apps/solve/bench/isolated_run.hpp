/// \file
/// A command in a process of its own, so that a crash, a hang or a lack of memory ends one run and nothing else.
#pragma once

#include "options.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace tessera::cli {

struct RunLimits {
  double seconds = std::numeric_limits<double>::infinity();  ///< by the clock, from the start of the process
  std::uint64_t resident_bytes = 0;                          ///< 0: none
};

/// How such a process ended.
struct IsolatedRun {
  enum class End {
    exited,
    time_limit,    ///< it was asked to stop, and killed where it did not; `out` may hold what it had
    memory_limit,  ///< killed
    crashed,       ///< by a signal that this program did not send
    interrupted,   ///< this program got a signal, and killed it
  };
  End end = End::exited;
  int exit_code = -1;  ///< -1 where it did not exit
  int signal = 0;      ///< that ended it
  std::string out;     ///< its standard output
  std::string err;     ///< its standard error
  double wall_ms = 0.0;
  double cpu_ms = 0.0;           ///< of all its threads
  std::uint64_t peak_bytes = 0;  ///< largest resident size
};

/// Calls `body` in a copy of this process, which must have no threads and no GPU. The resident size is looked at every
/// 20 ms, so that a process may exceed its limit for that long.
/// \param body returns the exit code, and throws nothing \throws std::system_error where no process can be made
[[nodiscard]] IsolatedRun run_isolated(const std::function<int()>& body, const RunLimits& limits);

/// run, compare or inspect with these options.
[[nodiscard]] IsolatedRun run_isolated(const Options& options, const RunLimits& limits);

/// The message behind "solve: error: "; empty where there is none.
[[nodiscard]] std::string error_of(const IsolatedRun& run);

}  // namespace tessera::cli
