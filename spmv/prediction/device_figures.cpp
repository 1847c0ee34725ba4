/// \file
/// Figures of a GPU: built in, derived, and the calibrations of this process.
#include "spmv/prediction/device_figures.hpp"

#include "core/random.hpp"
#include "tessera/error.hpp"
#include "tessera/version.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace tessera {

namespace detail {

namespace {

constexpr std::string_view format_line = "tessera device figures 1";

/// Fitted to the products recorded in bench/results (bench/NOTES.md, "predicted times"), the copies measured there.
constexpr int h200_multiprocessors = 132;
const DeviceFigures h200{h200_multiprocessors, 60e6, 4240.0, 5500.0, 36.5, 126.6, 2.3, 150.0, FigureSource::built_in};

constexpr double copy_share_of_peak = 0.88;

struct NamedFigure {
  std::string_view name;
  double DeviceFigures::*value;
};
constexpr auto measured_figures = std::to_array<NamedFigure>({
    {"l2_bytes", &DeviceFigures::l2_bytes},
    {"copy_gbytes_per_s", &DeviceFigures::copy_gbytes_per_s},
    {"l2_gbytes_per_s", &DeviceFigures::l2_gbytes_per_s},
    {"memory_gathers_per_ns", &DeviceFigures::memory_gathers_per_ns},
    {"l2_gathers_per_ns", &DeviceFigures::l2_gathers_per_ns},
    {"launch_us", &DeviceFigures::launch_us},
    {"latency_ns", &DeviceFigures::latency_ns},
});

class FigureMemory {
 public:
  [[nodiscard]] std::optional<DeviceFigures> find(const std::string& key) const {
    const std::scoped_lock lock(mutex_);
    const auto found = figures_.find(key);
    return found == figures_.end() ? std::nullopt : std::optional(found->second);
  }

  /// \returns whether the key was new
  bool add(std::string key, DeviceFigures fresh, bool replace) {
    const std::scoped_lock lock(mutex_);
    const auto [place, is_new] = figures_.try_emplace(std::move(key));
    if (is_new || replace) place->second = std::move(fresh);
    return is_new;
  }

  void clear() noexcept {
    const std::scoped_lock lock(mutex_);
    figures_.clear();
  }

  [[nodiscard]] std::map<std::string, DeviceFigures> all() const {
    const std::scoped_lock lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, DeviceFigures> figures_;
};

FigureMemory& memory() {
  static FigureMemory of_process;
  return of_process;
}

std::string utc_date() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

/// Without what would end a field or a line.
std::string one_field(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

/// 64 bits against accidents.
std::uint64_t line_checksum(std::string_view text) {
  std::uint64_t sum = SplitMix64(text.size()).next();
  for (const char c : text) sum = SplitMix64(sum ^ static_cast<unsigned char>(c)).next();
  return sum;
}

/// Cuts off what stands before the next `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t place = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, place);
  text.remove_prefix(std::min(place + 1, text.size()));
  return part;
}

/// checksum, version, GPU, date, multiprocessors, NAME=VALUE for each figure; between tabs
std::string line_of(const std::string& key, const DeviceFigures& figures) {
  std::string rest = fmt::format("{}\t{}\t{}\t{}", build_info().version, key, figures.date, figures.multiprocessors);
  for (const auto& [name, value] : measured_figures) rest += fmt::format("\t{}={}", name, figures.*value);
  return checked_figure_line(rest);
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// A line without its checksum.
struct FigureLine {
  std::string_view version;
  std::string key;
  DeviceFigures figures;
};

std::optional<FigureLine> parse_line(std::string_view line) {
  const std::string_view checksum = take_until(line, '\t');
  if (checksum != fmt::format("{:016x}", line_checksum(line))) return std::nullopt;
  FigureLine result;
  result.version = take_until(line, '\t');
  result.key = take_until(line, '\t');
  result.figures.source = FigureSource::calibrated;
  result.figures.date = take_until(line, '\t');
  if (!parse_number(take_until(line, '\t'), result.figures.multiprocessors)) return std::nullopt;
  for (const auto& [name, value] : measured_figures) {
    std::string_view figure = take_until(line, '\t');
    if (take_until(figure, '=') != name || !parse_number(figure, result.figures.*value)) return std::nullopt;
  }
  return are_plausible(result.figures) ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace

DeviceFigures figures_of(const GpuAttributes& gpu) {
  DeviceFigures result = h200;
  if (gpu.multiprocessors > 0) result.multiprocessors = gpu.multiprocessors;
  if (gpu.l2_bytes > 0) result.l2_bytes = static_cast<double>(gpu.l2_bytes);
  if (gpu.name == "NVIDIA H200") return result;
  result.source = FigureSource::derived;
  const double peak = 2e-6 * static_cast<double>(gpu.memory_clock_khz) * static_cast<double>(gpu.bus_bits) / 8.0;
  if (peak > 0.0) result.copy_gbytes_per_s = copy_share_of_peak * peak;
  const double size = static_cast<double>(result.multiprocessors) / h200_multiprocessors;
  result.l2_gbytes_per_s *= size;
  result.l2_gathers_per_ns *= size;
  result.memory_gathers_per_ns *= result.copy_gbytes_per_s / h200.copy_gbytes_per_s;
  return are_plausible(result) ? result : h200;
}

GpuAttributes attributes_of(const Device& gpu) {
  static std::mutex mutex;
  static std::map<int, GpuAttributes> known;
  const std::scoped_lock lock(mutex);
  const auto found = known.find(gpu.ordinal());
  if (found != known.end()) return found->second;
  return known.emplace(gpu.ordinal(), cuda::gpu_attributes(gpu.ordinal())).first->second;
}

std::string gpu_key(const GpuAttributes& gpu) {
  return one_field(fmt::format("{}, CUDA {} on {}", gpu.name, gpu.runtime_version, gpu.driver_version));
}

bool are_plausible(const DeviceFigures& figures) noexcept {
  constexpr double most = 1e4;
  return figures.multiprocessors > 0 &&
         std::all_of(measured_figures.begin(), measured_figures.end(), [&](const NamedFigure& each) {
           const double ratio = figures.*each.value / (h200.*each.value);
           return ratio >= 1.0 / most && ratio <= most;  // false for NaN
         });
}

CalibrationSizes calibration_sizes(std::int64_t l2_bytes) noexcept {
  constexpr std::int64_t least_cache = std::int64_t{4} << 20;
  const std::int64_t cache = std::max(l2_bytes, least_cache);
  return {6 * cache, cache / 4, std::int64_t{1} << 26, 64, 200, 4096, 5};
}

std::optional<DeviceFigures> recall_figures(const std::string& key) { return memory().find(key); }

std::string checked_figure_line(std::string_view rest) {
  return fmt::format("{:016x}\t{}\n", line_checksum(rest), rest);
}

void remember_figures(std::string key, DeviceFigures figures) {
  memory().add(std::move(key), std::move(figures), true);
}

}  // namespace detail

using namespace detail;

std::string_view to_string(FigureSource source) {
  switch (source) {
    case FigureSource::built_in:
      return "built in";
    case FigureSource::derived:
      return "derived";
    case FigureSource::calibrated:
      return "calibrated";
  }
  throw InvalidArgument(fmt::format("no source of figures has the number {}", static_cast<int>(source)));
}

DeviceFigures device_figures(const Device& device) {
  if (device.is_host()) throw InvalidArgument("figures are those of a GPU: the host has none");
  const GpuAttributes gpu = attributes_of(device);
  if (std::optional<DeviceFigures> calibrated = recall_figures(gpu_key(gpu))) return *std::move(calibrated);
  return figures_of(gpu);
}

DeviceFigures calibrate(const Device& device) {
  if (device.is_host()) {
    throw NotSupported("calibration of host: products of the host are not predicted; name a GPU");
  }
  const GpuAttributes gpu = attributes_of(device);
  DeviceFigures figures = cuda::measure_figures(device, calibration_sizes(gpu.l2_bytes));
  figures.source = FigureSource::calibrated;
  figures.date = utc_date();
  remember_figures(gpu_key(gpu), figures);
  return figures;
}

std::string export_device_figures() {
  std::string text(format_line);
  text += '\n';
  for (const auto& [key, figures] : memory().all()) text += line_of(key, figures);
  return text;
}

ImportedFigures import_device_figures(std::string_view text, std::string_view name) {
  const std::string_view first = take_until(text, '\n');
  if (first != format_line) {
    throw ParseError(std::string(name), 1, 1, fmt::format(R"(a file of device figures begins with "{}")", format_line));
  }
  ImportedFigures result;
  while (!text.empty()) {
    std::optional<FigureLine> line = parse_line(take_until(text, '\n'));
    if (!line) {
      ++result.damaged;
    } else if (line->version != build_info().version) {
      ++result.outdated;
    } else if (memory().add(std::move(line->key), std::move(line->figures), false)) {
      ++result.read;
    }
  }
  return result;
}

void forget_device_figures() noexcept { memory().clear(); }

}  // namespace tessera
