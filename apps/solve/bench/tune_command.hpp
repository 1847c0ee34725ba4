/// \file
/// `tune`: its options understood.
#pragma once

#include "bench_plan.hpp"

#include <string>

namespace tessera::cli {

struct TuneSettings {
  BenchMatrix matrix;
  double budget_seconds = 0.0;
  std::string output;  ///< the file to write
  bool force = false;
  bool quiet = false;
};

/// Looks at no device, so that no process inherits one. \throws UsageError naming option and text
[[nodiscard]] TuneSettings tune_settings(const Options& options);

}  // namespace tessera::cli
