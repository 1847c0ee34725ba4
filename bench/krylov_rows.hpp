/// \file
/// What is known of the contenders of one task, and how it is written.
#pragma once

#include "bench/krylov_contenders.hpp"
#include "bench/report.hpp"

#include <string>
#include <vector>

namespace tessera::bench {

/// A contender with what became of it.
struct KrylovRow {
  KrylovContender contender;
  KrylovOutcome outcome{};
  double true_residual = 0.0;
  std::string failure{};  ///< empty: its times count
  bool wrong = false;     ///< it said of itself what is not so
  std::vector<double> samples{};
  TimingSummary time{};
};

/// A row for each contender; those refused have failed.
[[nodiscard]] std::vector<KrylovRow> rows_of(KrylovContenders& contenders, const KrylovTask& task);

/// Problem and task.
[[nodiscard]] Json header(KrylovSystem& system, const KrylovTask& task);

/// Everything but times.
[[nodiscard]] Json facts_of(const KrylovRow& row);

/// Adds the ratios against the loops written by hand, where they and this have times.
void add_speedups(const std::vector<KrylovRow>& rows, const KrylovRow& row, Json& json);

}  // namespace tessera::bench
