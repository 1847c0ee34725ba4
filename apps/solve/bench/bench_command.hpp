/// \file
/// `bench`: its options understood.
#pragma once

#include "bench_plan.hpp"

#include "options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// What tables compare.
enum class BenchMeasure { time, cpu, products };

enum class TableFormat { text, markdown, csv, latex };

struct BenchSettings {
  std::vector<std::string> words;  ///< folders, lists, matrices and recipes; with `summary` files of runs
  std::vector<BenchConfiguration> configurations;
  std::string options;  ///< those that all runs share, "rtol=1e-10 seed=7"
  std::int64_t repetitions = 1;
  double seconds = 0.0;                  ///< limit of a run; infinity: none
  std::uint64_t memory_limit_bytes = 0;  ///< of a run; 0: none
  BenchMeasure measure = BenchMeasure::time;
  TableFormat format = TableFormat::text;
  bool summary = false;
  bool quiet = false;
  std::optional<std::string> json;  ///< "-": standard output
  std::size_t width = 0;            ///< of the terminal that shows the tables; 0: none does
};

/// Looks at no device, so that no process inherits one. \throws UsageError naming option and text
[[nodiscard]] BenchSettings bench_settings(const Options& options);

}  // namespace tessera::cli
