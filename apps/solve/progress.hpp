/// \file
/// Progress of a long run on standard error.
#pragma once

#include "options.hpp"
#include "outcome.hpp"
#include "settings.hpp"

#include "support/warning.hpp"
#include "tessera/report.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace tessera::cli {

/// Least-squares fit of log10(residual) over the last 50 iterations, from which the time to go follows.
class ResidualTrend {
 public:
  void add(std::int64_t iteration, double residual);

  struct Fit {
    double decades_per_iteration = 0.0;
    double r_squared = 0.0;
  };
  /// Nothing before three finite positive residuals are known.
  [[nodiscard]] std::optional<Fit> fit() const;

 private:
  static constexpr std::size_t window = 50;
  struct Point {
    double iteration = 0.0;
    double log_residual = 0.0;
  };
  std::array<Point, window> points_{};
  std::size_t count_ = 0;
};

/// Silent for the first half second. Then: on a terminal one redrawn line, at most 10 times a second; elsewhere one
/// line every 10 seconds and at each new decade of the residual; or JSON lines.
class Progress {
 public:
  /// With --verbose says version and machine at once, with -vv every setting as well.
  Progress(const Options& options, const OutputSettings& output, const MachineSettings& machine);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A phase begins: "reading A.mtx". Shown with --verbose, and whenever the run is already a long one.
  void phase(const std::string& text);
  /// Shown with --verbose only.
  void detail(const std::string& text);
  /// Once an iteration; costs a comparison and a logarithm unless something is shown.
  void update(const IterationInfo& info);
  /// For a solve, which this outlives: updates, and stops after the iteration in which a signal arrived.
  [[nodiscard]] Observer observer();
  /// The run is over: other text may follow. Its warnings, for people or as JSON lines; none with --quiet.
  void conclude(const Warnings& warnings);

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  [[nodiscard]] bool enters_new_decade(double residual);
  void write_line(const std::string& line);
  /// Clears the redrawn line.
  void clear();

  ProgressMode mode_;
  int verbosity_;
  bool quiet_;
  Clock::time_point start_ = Clock::now();
  std::optional<double> iteration_start_;  ///< elapsed() when the iteration began
  double last_shown_ = -std::numeric_limits<double>::infinity();
  std::optional<int> lowest_decade_;
  std::size_t width_ = 0;  ///< of a line; 0: no limit
  bool line_open_ = false;
  ResidualTrend trend_;
};

/// The line that is shown: iteration, residual and target, trend, time per iteration, elapsed, time to go.
/// \param elapsed_seconds since the program began
/// \param width of the line; the trend, then times, then the target give way to it. 0: no limit
[[nodiscard]] std::string progress_line(const IterationInfo& info, const ResidualTrend& trend, double elapsed_seconds,
                                        std::size_t width = 0);

}  // namespace tessera::cli
