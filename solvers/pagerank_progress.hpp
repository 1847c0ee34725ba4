/// \file
/// PageRank: the report of one vector of a loop, its history and its observer.
#pragma once

#include "core/history.hpp"
#include "core/stopwatch.hpp"
#include "solvers/pagerank.hpp"

#include <string>

namespace tessera::detail {

/// Grows with the iterations.
template <class T>
class RankProgress {
 public:
  /// \param vector of the loop. All outlive the solve.
  RankProgress(const PageRankOptions& options, const PlanInfo& info, const RankLoop<T>& loop, int vector);

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Shows iteration 0 to the observer.
  void begin();
  /// Takes the iterations that the loop has made since; ends after the last one.
  void follow();
  /// Once, at the end.
  [[nodiscard]] PageRankReport take_report();

 private:
  void end(Status status);
  [[nodiscard]] Control show();
  [[nodiscard]] std::string reason() const;

  const PageRankOptions* options_;
  const RankLoop<T>* loop_;
  int vector_;
  bool has_ended_ = false;
  bool has_stopped_ = false;  ///< the observer asked to stop
  HistoryStep history_step_;
  PageRankReport report_;
  Stopwatch watch_;
};

extern template class RankProgress<float>;
extern template class RankProgress<double>;

}  // namespace tessera::detail
