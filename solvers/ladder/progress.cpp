#include "solvers/ladder/progress.hpp"

#include "solvers/stopping.hpp"

#include <algorithm>

namespace tessera::detail {

SolverOptions LadderProgress::options_for_rest() const {
  SolverOptions rest = options_;
  rest.max_iterations = std::max<std::int64_t>(iterations_left(), 0);
  rest.time_limit_seconds = std::max(seconds_left(), 0.0);
  return rest;
}

bool LadderProgress::tell(IterationInfo info) {
  if (!options_.observer || (info.iteration == 0 && has_told_)) return true;
  has_told_ = true;
  info.iteration += iterations_;
  info.max_iterations = options_.max_iterations;
  info.seconds = watch_.seconds();
  stopped_by_user_ = options_.observer(info) == Control::stop || stopped_by_user_;
  return !stopped_by_user_;
}

std::string LadderProgress::stop_words() const {
  return stopped_by_user_ ? detail::stop_words(options_.stop_cause) : std::string();
}

void LadderProgress::take_history(SolveReport& report) {
  const std::int64_t before = iterations_ - report.iterations;
  const double began = watch_.seconds() - report.timings.solve_ms / 1e3;
  for (HistoryEntry entry : report.history) {
    if (entry.iteration == 0 && !history_.empty()) continue;
    entry.iteration += before;
    entry.seconds += began;
    history_.push_back(entry);
  }
  report.history.clear();
}

}  // namespace tessera::detail
