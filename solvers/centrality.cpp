/// What HITS and Katz centrality have in common around their loops.
#include "solvers/centrality.hpp"

#include "core/cuda/memory.hpp"
#include "solvers/stopping.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace tessera::detail {

namespace {

/// Longer histories grow instead of being reserved.
constexpr std::int64_t reserved_history = 65536;

}  // namespace

void check_centrality_options(const CentralityOptions& options) {
  if (!(options.tolerance >= 0.0 && options.tolerance < 1.0)) {
    throw InvalidArgument(fmt::format("tolerance must be in [0, 1), got {}", options.tolerance));
  }
  if (options.max_iterations < 0) {
    throw InvalidArgument(fmt::format("max_iterations must be >= 0, got {}", options.max_iterations));
  }
  if (!(options.time_limit_seconds >= 0.0)) {
    throw InvalidArgument(fmt::format("time_limit_seconds must be >= 0, got {}", options.time_limit_seconds));
  }
}

template <class T>
void check_scores(const Device& device, const char* name, std::span<const T> scores, std::int64_t elements) {
  if (static_cast<std::int64_t>(scores.size()) != elements) {
    throw DimensionError(fmt::format("{} must have one element per vertex: {}, got {}", name, elements, scores.size()));
  }
  if (device.is_host() || scores.empty() || cuda::is_reachable(device, scores.data())) return;
  throw InvalidArgument(fmt::format("the plan is on {}: {} must lie there as well", device.name(), name));
}

template void check_scores(const Device&, const char*, std::span<const float>, std::int64_t);
template void check_scores(const Device&, const char*, std::span<const double>, std::int64_t);

CentralityProgress::CentralityProgress(const CentralityOptions& options, CentralityReport& report)
    : options_(options), report_(report), history_step_(options.history_rows) {
  if (!options.keep_history) return;
  report.history.reserve(static_cast<std::size_t>(std::min(options.max_iterations, reserved_history)));
}

bool CentralityProgress::note(const fused::LoopEntry& entry) {
  // The loop and the solve have clocks of their own.
  seconds_ = std::max(seconds_, entry.seconds);
  report_.iterations = entry.iteration;
  if (options_.keep_history && entry.iteration > 0) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    history_step_.append(report_.history, {entry.iteration, seconds_, entry.norm, none});
  }
  if (options_.observer && !interrupted_) {
    const IterationInfo info{entry.iteration, options_.max_iterations, entry.norm, options_.tolerance, seconds_};
    interrupted_ = options_.observer(info) == Control::stop;
  }
  return !interrupted_ && !time_is_up();
}

std::string CentralityProgress::cause(Status status) const {
  switch (status) {
    case Status::max_iterations:
      return fmt::format("iteration limit {} reached; ", options_.max_iterations);
    case Status::time_limit:
      return fmt::format("time limit {} s passed; ", options_.time_limit_seconds);
    case Status::interrupted:
      return fmt::format("{} after iteration {}; ", stop_words(options_.stop_cause), report_.iterations);
    case Status::not_finite:
      return "a score is beyond the range of the type; ";
    default:
      return {};
  }
}

void CentralityProgress::finish() { report_.timings.solve_ms = watch_.milliseconds(); }

}  // namespace tessera::detail
