/// \file
/// What every benchmark says besides its times: the machine, the build, and how a summary looks in JSON.
#pragma once

#include "compare/timing.hpp"
#include "support/machine.hpp"
#include "tessera/device.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>

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

}  // namespace tessera::bench
