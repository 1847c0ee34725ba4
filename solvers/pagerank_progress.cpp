/// Reports of PageRank's loops.
#include "solvers/pagerank_progress.hpp"

#include "solvers/stopping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace tessera::detail {

namespace {

constexpr std::int64_t reserved_history = 65536;

}  // namespace

template <class T>
RankProgress<T>::RankProgress(const PageRankOptions& options, const PlanInfo& info, const RankLoop<T>& loop, int vector)
    : options_(&options), loop_(&loop), vector_(vector), history_step_(options.history_rows) {
  report_.plan = info;
  report_.timings.plan_ms = report_.plan.build_ms;
  report_.change = std::numeric_limits<double>::infinity();
  if (options.keep_history) {
    report_.history.reserve(static_cast<std::size_t>(std::min(options.max_iterations, reserved_history)));
  }
}

template <class T>
void RankProgress<T>::end(Status status) {
  has_ended_ = true;
  report_.status = status;
}

template <class T>
void RankProgress<T>::begin() {
  watch_ = Stopwatch{};
  if (show() == Control::stop) return end(Status::interrupted);
  if (loop_->state(vector_).halt != 0) end(loop_->state(vector_).status);
}

template <class T>
void RankProgress<T>::follow() {
  if (has_ended_) return;
  const RankState& state = loop_->state(vector_);
  Control control = Control::proceed;
  while (report_.iterations < state.iteration) {
    ++report_.iterations;
    ++report_.spmv_count;
    report_.change = state.changes[report_.iterations % remembered_changes];
    if (show() == Control::stop) control = Control::stop;
  }
  if (state.halt != 0 && state.status != Status::max_iterations) return end(state.status);
  if (watch_.seconds() > options_->time_limit_seconds) return end(Status::time_limit);
  if (control == Control::stop) return end(Status::interrupted);
  if (state.halt != 0) end(state.status);
}

template <class T>
PageRankReport RankProgress<T>::take_report() {
  report_.reason = reason();
  report_.timings.solve_ms = watch_.milliseconds();
  return std::move(report_);
}

/// History and observer.
template <class T>
Control RankProgress<T>::show() {
  const double seconds = watch_.seconds();
  if (options_->keep_history && report_.iterations > 0) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    history_step_.append(report_.history, {report_.iterations, seconds, report_.change, none});
  }
  if (!options_->observer || has_stopped_) return Control::proceed;
  const Control control =
      options_->observer({report_.iterations, options_->max_iterations, report_.change, options_->tolerance, seconds});
  has_stopped_ = control == Control::stop;
  return control;
}

template <class T>
std::string RankProgress<T>::reason() const {
  std::string cause;
  switch (report_.status) {
    case Status::max_iterations:
      cause = fmt::format("iteration limit {} reached; ", options_->max_iterations);
      break;
    case Status::time_limit:
      cause = fmt::format("time limit {} s passed; ", options_->time_limit_seconds);
      break;
    case Status::interrupted:
      cause = fmt::format("{} after iteration {}; ", stop_words(options_->stop_cause), report_.iterations);
      break;
    case Status::not_finite:
      cause = "a rank is not finite; ";
      break;
    case Status::stagnated:
      cause = fmt::format("attainable accuracy of the type reached: no lower change within {} iterations; ",
                          stagnation_window);
      break;
    default:
      break;
  }
  if (report_.iterations == 0) return cause + "no iteration was made";
  return fmt::format("{}||x' - x||_{} = {:.6g} {} tolerance = {:.6g}", cause, to_string(options_->norm), report_.change,
                     report_.change <= options_->tolerance ? "<=" : ">", options_->tolerance);
}

template class RankProgress<float>;
template class RankProgress<double>;

}  // namespace tessera::detail
