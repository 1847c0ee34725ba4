/// \file
/// Reports of the benchmarks: machine and build, times and ratios in JSON and in words, tables.
#pragma once

#include "compare/measure.hpp"
#include "compare/rows.hpp"
#include "compare/timing.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/device.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::bench {

using compare::median_ratio;
using compare::summarise;
using compare::time_interleaved;
using compare::timing_clock;
using compare::TimingCandidate;
using compare::TimingClock;
using compare::TimingOptions;
using compare::TimingRatio;
using compare::TimingSamples;
using compare::TimingSummary;
using support::Json;

/// What a yardstick on a GPU reads and writes: two arrays of 2^27 doubles.
inline constexpr std::uint64_t copied_bytes = std::uint64_t{1} << 31;

/// "benchmark", "date", build and machine.
inline Json document(const std::string& name) {
  const BuildInfo build = build_info();
  return {{"benchmark", name},
          {"date", support::utc_now()},
          {"tessera",
           {{"version", build.version},
            {"commit", build.commit},
            {"compiler", build.compiler},
            {"build_type", build.build_type}}},
          {"machine",
           {{"cpu", support::cpu_name()},
            {"hardware_threads", std::thread::hardware_concurrency()},
            {"threads_used", Device{}.threads()}}}};
}

inline Json json_of(const TimingSummary& summary) {
  return {{"median_ms", summary.median},
          {"lower_quartile_ms", summary.lower_quartile},
          {"upper_quartile_ms", summary.upper_quartile},
          {"rounds", summary.count}};
}

inline Json json_of(const TimingRatio& ratio) {
  return {{"ratio", ratio.ratio}, {"low", ratio.low}, {"high", ratio.high}};
}

inline void write(const Json& document, const std::string& path) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << document.dump(2) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

/// What main() returns: 0 where `run` returns true, or nothing; 1 where it returns false or throws, with the error on
/// standard error. \param name of the program
template <class Run>
int exit_code_of(const char* name, Run&& run) {
  try {
    if constexpr (std::is_void_v<decltype(run())>) {
      run();
      return 0;
    } else {
      return run() ? 0 : 1;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return 1;
  }
}

/// Wall-clock time of work that leaves nothing running on the device.
template <class Work>
double timed(const Device& device, Work&& work) {
  synchronize(device);
  const Stopwatch watch;
  work();
  synchronize(device);
  return watch.milliseconds();
}

/// Adds the ratio where both have times.
inline void add_speedup(Json& row, const std::string& baseline, const std::vector<double>& baseline_ms,
                        const std::vector<double>& ms) {
  if (baseline_ms.empty() || ms.empty() || !(summarise(ms).median > 0.0)) return;
  row["speedup_over"][baseline] = json_of(median_ratio(baseline_ms, ms));
}

/// All ratios of a row in words.
inline std::string speedup_text(const Json& row) {
  std::string text;
  if (!row.contains("speedup_over")) return text;
  for (const auto& [name, ratio] : row["speedup_over"].items()) {
    text += fmt::format("  {:5.2f}x [{:.2f}, {:.2f}] of {}", ratio["ratio"].get<double>(), ratio["low"].get<double>(),
                        ratio["high"].get<double>(), name);
  }
  return text;
}

class SetupTable {
 public:
  /// \param total_ms set-up and all the rest
  void add(const std::string& row, const std::string& column, double total_ms, double setup_ms);
  /// For what has no time: why.
  void add(const std::string& row, const std::string& column, const std::string& text);
  /// Nothing when nothing was added. \param title printed above
  void print(const std::string& title) const;

 private:
  struct Row {
    std::string name;
    std::vector<std::pair<std::string, std::string>> cells;  ///< column, text
  };
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

}  // namespace tessera::bench
