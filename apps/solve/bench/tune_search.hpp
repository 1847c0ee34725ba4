/// \file
/// The search of `tune`: each run is stopped once it is slower than the best one (adaptive capping: Hutter et al., §4).
#pragma once

#include "bench_results.hpp"
#include "isolated_run.hpp"
#include "tune_candidates.hpp"

#include "errors.hpp"

#include "core/stopwatch.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

/// A candidate and what is known of it.
struct TuneTrial {
  TuneCandidate candidate;
  BenchRecord record = {};         ///< of its fastest run that solved the system, else of its last run
  std::vector<double> times = {};  ///< set-up and solve of each run that solved the system, in ms
  double cap_ms = 0.0;             ///< of its last run; 0: none was made, or one that says little
  int runs = 0;
  double predicted_ms = std::numeric_limits<double>::infinity();  ///< by the rate of a run that was stopped
  bool is_open = true;                                            ///< not run yet, or stopped by a cap
  std::string outcome = "not tried: no time was left";

  /// Set-up and solve; infinity where no run solved the system. The least of all runs: disturbances only add.
  [[nodiscard]] double ms() const;
};

/// Time to the target at the rate of the later half of a history, whose iterations began after `setup_ms`; infinity
/// where the residual does not fall. CG may stay on a plateau and then fall, so a prediction orders candidates and
/// rules none out. \param document of run
[[nodiscard]] double predicted_ms(const Json& document, double setup_ms);

class TuneSearch {
 public:
  /// \param scratch a directory for a binary copy of the matrix
  TuneSearch(const Options& options, const BenchMatrix& matrix, double budget_seconds, const std::string& scratch)
      : options_(options), matrix_(matrix), budget_seconds_(budget_seconds), scratch_(scratch) {}

  /// Reads the matrix. \returns why that failed, told on standard error; nothing where it did not
  /// \throws Interrupted
  [[nodiscard]] std::optional<ExitCode> inspect();
  /// Candidates first, then neighbours of the best, then kernels by measured products, then the best few in turn.
  /// \throws Interrupted
  void search();

  [[nodiscard]] const TuneFacts& facts() const noexcept { return facts_; }
  /// In the order of trying; the first is auto.
  [[nodiscard]] const std::vector<TuneTrial>& trials() const noexcept { return trials_; }
  /// nullptr where nothing solved the system.
  [[nodiscard]] const TuneTrial* best() const;
  /// What was not tried, and why; then what products take with each kernel.
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  [[nodiscard]] double seconds() const { return watch_.seconds(); }

 private:
  /// What is left of this share of the budget.
  [[nodiscard]] double seconds_left(double share) const { return share * budget_seconds_ - seconds(); }
  [[nodiscard]] std::vector<std::size_t> open_trials() const;
  void add(std::vector<TuneCandidate> candidates);
  void eliminate(double share);
  void run(TuneTrial& trial, double cap_ms);
  void judge(TuneTrial& trial, const IsolatedRun& run);
  void try_kernels(double share);
  void repeat_best();

  const Options& options_;
  const BenchMatrix& matrix_;
  double budget_seconds_;
  std::string scratch_;
  Stopwatch watch_;
  TuneFacts facts_;
  std::vector<TuneTrial> trials_;
  std::vector<std::string> notes_;
  double overhead_ms_ = 0.0;  ///< of a process besides set-up and solve, at most so far
};

}  // namespace tessera::cli
