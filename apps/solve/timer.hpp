/// \file
/// Wall-clock time of a phase.
#pragma once

#include <chrono>

namespace tessera::cli {

/// Runs from its construction, on the monotonic clock.
class Timer {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tessera::cli
