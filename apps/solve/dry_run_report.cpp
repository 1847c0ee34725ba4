// A forecast as text and JSON.
#include "dry_run.hpp"
#include "outputs.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"
#include "system_ordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace tessera::cli {

namespace {

[[nodiscard]] std::string_view name_of(Fit fit) {
  switch (fit) {
    case Fit::fits:
      return "fits";
    case Fit::too_large:
      return "too_large";
    case Fit::unknown:
      break;
  }
  return "unknown";
}

[[nodiscard]] std::string matrix_text(const MatrixForecast& matrix) {
  return fmt::format("{}{}: {} x {}, {}{} nonzeros{} ({})", matrix.name == "-" ? "standard input" : matrix.name,
                     matrix.transposed ? ", transposed" : "", matrix.rows, matrix.cols, matrix.exact ? "" : "at most ",
                     matrix.nnz, matrix.pattern ? ", pattern" : "",
                     matrix.whole ? "read whole" : "by its header alone");
}

[[nodiscard]] std::string phase_text(const ForecastPhase& phase) {
  std::string text = size_text(phase.held_bytes);
  if (phase.passing_bytes > 0) text += fmt::format(", and {} meanwhile", size_text(phase.passing_bytes));
  if (phase.ms) text += "; " + time_text(*phase.ms);
  return line(phase.name, phase.rests_on.empty() ? text : fmt::format("{}: {}", text, phase.rests_on));
}

[[nodiscard]] std::string iteration_text(const IterationForecast& iteration) {
  std::string text = iteration.ms ? fmt::format("about {} each", time_text(*iteration.ms)) : std::string("no time");
  text += ": " + iteration.rests_on;
  return line("iteration", iteration.most ? fmt::format("{}; at most {} of them", text, *iteration.most)
                                          : text + "; how many it takes is not known before");
}

/// With the later rung that takes the most, where there is no limit that it has to keep.
[[nodiscard]] std::uint64_t climbing_peak(const Forecast& forecast) {
  std::uint64_t held = 0;
  for (const ForecastPhase& phase : forecast.phases) held += phase.held_bytes;
  return std::max(held + forecast.climbing_bytes, peak_of(forecast).bytes);
}

[[nodiscard]] std::string memory_text(const Forecast& forecast) {
  const ForecastPeak peak = peak_of(forecast);
  std::string text = fmt::format("at most {} at once, in {}", size_text(peak.bytes), peak.phase);
  if (forecast.least_peak_bytes) text += fmt::format(", and at least {}", size_text(*forecast.least_peak_bytes));
  if (forecast.climbing_bytes > 0) {
    text += fmt::format(" with the first rung, {} if later ones are climbed", size_text(climbing_peak(forecast)));
  }
  // Several devices have lines of their own.
  const std::string_view key = forecast.devices.empty() ? "memory" : "host";
  if (forecast.budget_bytes == 0) return line(key, text);
  const std::string_view of = forecast.limit_bytes > 0 ? "allowed by --mem-limit" : "free on this machine";
  const Fit fit = host_fit_of(forecast);
  const std::string_view verdict = fit == Fit::fits        ? "it fits"
                                   : fit == Fit::too_large ? "it does not fit"
                                                           : "whether it fits is not known before";
  return line(key, fmt::format("{}; {} {}: {}", text, size_text(forecast.budget_bytes), of, verdict));
}

/// The devices that share a system or a graph out.
[[nodiscard]] std::string group_text(const Forecast& forecast) {
  CommonOutcome numbered;
  numbered.ordering = forecast.ordering;
  return ordering_line(numbered) + device_forecast_lines(forecast.devices, forecast.device_limit_bytes > 0);
}

[[nodiscard]] std::string forecast_text(const Forecast& forecast) {
  std::string text;
  for (const MatrixForecast& matrix : forecast.matrices)
    text += line(text.empty() ? "matrix" : "", matrix_text(matrix));
  text += forecast.devices.empty() ? line("device", forecast.device) : group_text(forecast);
  for (const ForecastPhase& phase : forecast.phases) text += phase_text(phase);
  if (forecast.iteration) text += iteration_text(*forecast.iteration);
  for (const LaterForecast& later : forecast.later) {
    text += line("or later",
                 fmt::format("{}{}: {}", later.name,
                             later.bytes ? fmt::format(", at most {}", size_text(*later.bytes)) : "", later.reason));
  }
  return text + memory_text(forecast);
}

[[nodiscard]] Json matrix_json(const MatrixForecast& matrix, Precision precision) {
  Json json;
  json[matrix.from_file ? "path" : "generator"] = matrix.name;
  json["transposed"] = matrix.transposed;
  json["read"] = matrix.whole ? "whole" : "header";
  json["rows"] = matrix.rows;
  json["cols"] = matrix.cols;
  json["nnz"] = matrix.nnz;
  json["nnz_is_exact"] = matrix.exact;
  json["value"] = matrix.pattern ? "pattern" : (precision == Precision::fp64 ? "fp64" : "fp32");
  json["bytes"] = matrix.bytes;
  return json;
}

[[nodiscard]] Json ms_json(const std::optional<double>& ms) { return ms ? number_or_null(*ms) : Json(nullptr); }

[[nodiscard]] Json phases_json(const Forecast& forecast) {
  Json phases = Json::array();
  for (const ForecastPhase& phase : forecast.phases) {
    phases.push_back({{"phase", phase.name},
                      {"held_bytes", phase.held_bytes},
                      {"passing_bytes", phase.passing_bytes},
                      {"ms", ms_json(phase.ms)},
                      {"rests_on", phase.rests_on}});
  }
  return phases;
}

[[nodiscard]] Json iteration_json(const std::optional<IterationForecast>& iteration) {
  if (!iteration) return nullptr;
  return {{"bytes", iteration->bytes},
          {"ms", ms_json(iteration->ms)},
          {"most", iteration->most ? Json(*iteration->most) : Json(nullptr)},
          {"rests_on", iteration->rests_on}};
}

[[nodiscard]] Json later_json(const std::vector<LaterForecast>& all) {
  Json json = Json::array();
  for (const LaterForecast& later : all) {
    json.push_back(
        {{"name", later.name}, {"bytes", later.bytes ? Json(*later.bytes) : Json(nullptr)}, {"reason", later.reason}});
  }
  return json;
}

[[nodiscard]] Json memory_json(const Forecast& forecast) {
  const ForecastPeak peak = peak_of(forecast);
  const auto or_null = [](std::uint64_t bytes) { return bytes > 0 ? Json(bytes) : Json(nullptr); };
  return {{"peak", peak.bytes},
          {"peak_phase", peak.phase},
          {"climbing_peak", forecast.climbing_bytes > 0 ? Json(climbing_peak(forecast)) : Json(nullptr)},
          {"least_peak", forecast.least_peak_bytes ? Json(*forecast.least_peak_bytes) : Json(nullptr)},
          {"limit", or_null(std::max(forecast.limit_bytes, forecast.device_limit_bytes))},
          {"available", or_null(forecast.budget_bytes)}};
}

[[nodiscard]] Json forecast_json(const Forecast& forecast, const Options& options, const Invocation& invocation,
                                 ExitCode code) {
  Json json = document_head("solve.dry-run/1", invocation);
  json["config"] = config_json(options);
  json["matrices"] = Json::array();
  for (const MatrixForecast& matrix : forecast.matrices) {
    json["matrices"].push_back(matrix_json(matrix, forecast.precision));
  }
  json["device"] = forecast.device;
  if (!forecast.devices.empty()) json["devices"] = device_forecast_json(forecast.devices);
  if (forecast.ordering) json["ordering"] = ordering_json(*forecast.ordering);
  if (forecast.ordering && forecast.devices.empty()) json["ordering"].erase("ms");  // it is that of the phase
  json["phases"] = phases_json(forecast);
  json["iteration"] = iteration_json(forecast.iteration);
  json["later"] = later_json(forecast.later);
  json["speed"] = {{"bytes_per_s", number_or_null(forecast.speed.bytes_per_second)},
                   {"working_set", forecast.speed.working_set},
                   {"threads", forecast.speed.threads}};
  json["memory_bytes"] = memory_json(forecast);
  json["result"] = {{"status", name_of(fit_of(forecast))}, {"exit_code", static_cast<int>(code)}};
  json["warnings"] = warnings_json(forecast.warnings);
  return json;
}

}  // namespace

ExitCode deliver_forecast(const Forecast& forecast, const OutputSettings& output, const Options& options,
                          const Invocation& invocation) {
  OutputSettings report = output;
  report.vector.reset();
  report.history.reset();
  report.csv.reset();
  report.markdown.reset();
  Deliverables results;
  results.summary = [&] { return forecast_text(forecast); };
  results.json = [&](ExitCode code) { return document_text(forecast_json(forecast, options, invocation, code)); };
  const bool fits = fit_of(forecast) != Fit::too_large;
  return deliver(report, fits ? ExitCode::success : ExitCode::out_of_memory, results);
}

}  // namespace tessera::cli
