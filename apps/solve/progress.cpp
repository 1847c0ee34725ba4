#include "progress.hpp"

#include "errors.hpp"
#include "interrupt.hpp"
#include "report_json.hpp"
#include "terminal.hpp"

#include "support/machine.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

namespace tessera::cli {

namespace {

constexpr double quiet_seconds = 0.5;
constexpr double bar_interval = 0.1;
constexpr double plain_interval = 10.0;
/// A fit that explains less than half of the scatter is no trend.
constexpr double least_r_squared = 0.5;

[[nodiscard]] std::string clock_text(double seconds) {
  constexpr double longest = 359999.0;
  const auto total = static_cast<std::int64_t>(std::lround(std::min(seconds, longest)));
  if (total >= 3600) return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

/// Iterations to the target by the trend; nothing without a falling one.
[[nodiscard]] std::optional<double> iterations_left(const IterationInfo& info,
                                                    const std::optional<ResidualTrend::Fit>& fit) {
  if (!fit || fit->r_squared <= least_r_squared || fit->decades_per_iteration >= 0) return std::nullopt;
  if (!(info.residual > 0) || !(info.target > 0)) return std::nullopt;
  const double decades = std::log10(info.residual) - std::log10(info.target);
  const double left = std::max(0.0, decades / -fit->decades_per_iteration);
  return std::min(left, static_cast<double>(info.max_iterations - info.iteration));
}

[[nodiscard]] std::string json_line(const IterationInfo& info, double elapsed_seconds) {
  Json line{{"event", "iteration"}, {"iteration", info.iteration}, {"max_iterations", info.max_iterations}};
  put_number(line, "residual", info.residual);
  put_number(line, "target", info.target);
  put_number(line, "seconds", info.seconds);
  put_number(line, "elapsed", elapsed_seconds);
  return line_text(line);
}

}  // namespace

void ResidualTrend::add(std::int64_t iteration, double residual) {
  if (!(residual > 0) || !std::isfinite(residual)) return;
  points_[count_ % window] = {static_cast<double>(iteration), std::log10(residual)};
  ++count_;
}

std::optional<ResidualTrend::Fit> ResidualTrend::fit() const {
  const std::size_t n = std::min(count_, window);
  if (n < 3) return std::nullopt;
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    mean_x += points_[i].iteration / static_cast<double>(n);
    mean_y += points_[i].log_residual / static_cast<double>(n);
  }
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double dx = points_[i].iteration - mean_x;
    const double dy = points_[i].log_residual - mean_y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (!(xx > 0) || !(yy > 0)) return Fit{};
  return Fit{xy / xx, xy * xy / (xx * yy)};
}

std::string progress_line(const IterationInfo& info, const ResidualTrend& trend, double elapsed_seconds,
                          std::size_t width) {
  // Fields that can be spared: the largest number goes first.
  struct Field {
    std::string text;
    int spare = 0;
  };
  std::vector<Field> fields{{fmt::format("{}/{}", info.iteration, info.max_iterations)}};
  // PageRank has no change to show before its first step.
  if (std::isfinite(info.residual)) {
    fields.push_back({fmt::format("  resid {:.1e}", info.residual)});
    fields.push_back({fmt::format(" (target {:.0e})", info.target), 1});
  }
  const auto fit = trend.fit();
  const double per_iteration = info.iteration > 0 ? info.seconds / static_cast<double>(info.iteration)
                                                  : std::numeric_limits<double>::quiet_NaN();
  const auto left = iterations_left(info, fit);
  const bool falls = fit && fit->r_squared > least_r_squared;
  fields.push_back({falls ? fmt::format("  {:+.3f} dec/it", fit->decades_per_iteration) : "  no trend", 4});
  if (info.iteration > 0) fields.push_back({fmt::format("  {:.3g} ms/it", 1e3 * per_iteration), 3});
  fields.push_back({"  elapsed " + clock_text(elapsed_seconds), 2});
  if (left && info.iteration > 0) fields.push_back({"  ETA ~" + clock_text(*left * per_iteration)});

  const auto joined = [&] {
    std::string line;
    for (const Field& field : fields) line += field.text;
    return line;
  };
  std::string line = joined();
  while (width > 0 && line.size() > width) {
    const auto first = std::max_element(fields.begin(), fields.end(),
                                        [](const Field& a, const Field& b) { return a.spare < b.spare; });
    if (first->spare == 0) break;
    fields.erase(first);
    line = joined();
  }
  return line;
}

Progress::Progress(const Options& options, const OutputSettings& output, const MachineSettings& machine)
    : mode_(output.progress), verbosity_(output.verbosity), quiet_(output.quiet) {
  // The last column stays free: some terminals wrap once it is written.
  if (const std::size_t columns = terminal_width(STDERR_FILENO); columns > 0) width_ = columns - 1;
  if (verbosity_ == 0) return;
  const BuildInfo build = build_info();
  detail(fmt::format("Tessera {} ({}), {}, {}", build.version, build.commit, build.compiler,
                     machine.device_undecided ? "device chosen once the matrix is known"
                                              : support::device_text(machine.device, machine.host)));
  if (verbosity_ == 1) return;
  for (const OptionSpec& spec : option_table()) {
    if (!uses(options.command(), spec) || spec.kind == ValueKind::flag) continue;
    const auto text = options.text(spec.name);
    if (!text) continue;
    const Setting* setting = options.setting(spec.name);
    const bool placed = setting != nullptr && !setting->place.empty();
    detail(fmt::format("  --{} {} ({})", spec.name, *text, placed ? setting->place : options.source(spec.name)));
  }
}

Progress::~Progress() { clear(); }

void Progress::write_line(const std::string& line) {
  if (mode_ == ProgressMode::bar) {
    // Back to the first column, then clear what a longer line left behind.
    line_open_ = true;
    progress_line_open = 1;
    write_stderr(fmt::format("\r{}\033[K", shortened(printable(line), width_)));
  } else {
    write_stderr(printable(line) + "\n");
  }
}

void Progress::phase(const std::string& text) {
  const double now = elapsed();
  if (mode_ == ProgressMode::json) {
    write_line(line_text(Json{{"event", "phase"}, {"phase", text}, {"elapsed", now}}));
  } else if (verbosity_ > 0) {
    detail(text);
  } else if (mode_ != ProgressMode::none && now >= quiet_seconds) {
    write_line(fmt::format("{}  elapsed {}", text, clock_text(now)));
  }
}

void Progress::detail(const std::string& text) {
  if (verbosity_ == 0 || mode_ == ProgressMode::json) return;
  clear();
  write_stderr(fitted(fmt::format("solve: {}\n", text), terminal_width(STDERR_FILENO)));
}

bool Progress::enters_new_decade(double residual) {
  if (!(residual > 0) || !std::isfinite(residual)) return false;
  const int decade = static_cast<int>(std::floor(std::log10(residual)));
  const bool falls = lowest_decade_ && decade < *lowest_decade_;
  if (!lowest_decade_ || falls) lowest_decade_ = decade;
  return falls;
}

void Progress::update(const IterationInfo& info) {
  if (mode_ == ProgressMode::none) return;
  if (!iteration_start_) iteration_start_ = elapsed() - info.seconds;
  trend_.add(info.iteration, info.residual);
  const bool new_decade = enters_new_decade(info.residual);
  const double now = *iteration_start_ + info.seconds;
  // Decades that pass in the first, silent half second are not news later.
  if (now < quiet_seconds) return;
  const double interval = mode_ == ProgressMode::plain ? plain_interval : bar_interval;
  if (now - last_shown_ < interval && !(mode_ == ProgressMode::plain && new_decade)) return;
  last_shown_ = now;
  write_line(mode_ == ProgressMode::json ? json_line(info, now) : progress_line(info, trend_, now, width_));
}

Observer Progress::observer() {
  return [this](const IterationInfo& info) {
    update(info);
    return ends_with_iteration() ? Control::stop : Control::proceed;
  };
}

void Progress::conclude(const Warnings& warnings) {
  clear();
  if (quiet_) return;
  if (mode_ != ProgressMode::json) return print_warnings(warnings);
  for (const Warning& warning : warnings) {
    write_line(line_text(Json{{"event", "warning"}, {"code", warning.code}, {"text", warning.text}}));
  }
}

void Progress::clear() {
  if (!line_open_) return;
  write_stderr("\r\033[K");
  line_open_ = false;
  progress_line_open = 0;
}

}  // namespace tessera::cli
