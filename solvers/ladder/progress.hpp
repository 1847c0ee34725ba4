/// \file
/// The one solve that the caller of the ladder sees: its limits, its observer and its history, over all rungs.
#pragma once

#include "core/stopwatch.hpp"
#include "tessera/report.hpp"
#include "tessera/solvers.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera::detail {

class LadderProgress {
 public:
  /// \param options of the caller, which outlive this
  explicit LadderProgress(const SolverOptions& options) : options_(options) {}

  [[nodiscard]] double seconds_left() const { return options_.time_limit_seconds - watch_.seconds(); }
  [[nodiscard]] std::int64_t iterations_left() const { return options_.max_iterations - iterations_; }
  /// The options of the caller, with what is left of the limits.
  [[nodiscard]] SolverOptions options_for_rest() const;
  /// That ended.
  void add_iterations(std::int64_t count) { iterations_ += count; }

  /// Tells the caller's observer, which hears of iteration 0 once. \returns whether it wants to go on
  [[nodiscard]] bool tell(IterationInfo info);
  /// Outside an iteration, where the observer is not asked.
  void stop_by_user() noexcept { stopped_by_user_ = true; }
  [[nodiscard]] bool stopped_by_user() const noexcept { return stopped_by_user_; }
  /// Why the observer stopped the solve; empty where it did not.
  [[nodiscard]] std::string stop_words() const;

  /// Moves the history of a rung, whose iterations were added, behind those before.
  void take_history(SolveReport& report);
  [[nodiscard]] std::vector<HistoryEntry>& history() noexcept { return history_; }

 private:
  const SolverOptions& options_;
  Stopwatch watch_;
  std::int64_t iterations_ = 0;  ///< of the rungs that ended
  std::vector<HistoryEntry> history_;
  bool has_told_ = false;
  bool stopped_by_user_ = false;
};

}  // namespace tessera::detail
