/// \file
/// Ratios of a row of a report against its baselines.
#pragma once

#include "bench/report.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace tessera::bench {

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

}  // namespace tessera::bench
