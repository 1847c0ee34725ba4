// Forecasts of a solve and of a ranking on several devices: what each of them holds, and the host beside them.
#include "dry_run.hpp"

#include "dry_run_precond.hpp"
#include "group_numbering.hpp"
#include "group_run.hpp"
#include "system_ordering.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace tessera::cli {

namespace {

/// Σ of a size over the devices.
template <class Size>
[[nodiscard]] std::uint64_t sum_of(const std::vector<DeviceForecast>& devices, const Size& size) {
  return std::accumulate(devices.begin(), devices.end(), std::uint64_t{0},
                         [&](std::uint64_t sum, const DeviceForecast& device) { return sum + size(device); });
}

/// Work that the forecast needs and does: its time, and how far the process grew.
class MeasuredWork {
 public:
  [[nodiscard]] ForecastPhase phase(std::string name, std::uint64_t held_bytes, std::string what) const {
    const std::uint64_t grown = support::peak_resident_bytes() - before_;
    return {std::move(name), held_bytes, grown - std::min(grown, held_bytes), watch_.milliseconds(),
            "done just now: " + std::move(what)};
  }

 private:
  Stopwatch watch_;
  std::uint64_t before_ = support::peak_resident_bytes();
};

/// Rows are cut, and go to the devices; where these are the host they stay there.
void add_sharing(std::int64_t rows, Forecast& forecast) {
  const std::vector<DeviceForecast>& devices = forecast.devices;
  const auto n = static_cast<std::uint64_t>(rows);
  const std::uint64_t matrices = sum_of(devices, [](const DeviceForecast& each) { return each.share.matrix_bytes; });
  const std::uint64_t plans = sum_of(devices, [](const DeviceForecast& each) { return each.plan_bytes; });
  const std::uint64_t halos = sum_of(devices, [](const DeviceForecast& each) { return each.halo_bytes; });
  // A number per column and device, lengths of rows, lists.
  const std::uint64_t marks = n * (devices.size() * sizeof(index_t) + 2 * sizeof(offset_t)) + 2 * halos;
  const bool is_host = forecast.on_host;
  ForecastPhase phase{"plan", is_host ? matrices + plans + halos : 0, marks + (is_host ? plans : matrices), {}, {}};
  const auto moved = static_cast<double>(2 * matrices + plans);
  phase.ms = ms_of_bytes(forecast, moved);
  phase.rests_on = "rows shared out, " + moved_text(forecast, moved);
  forecast.phases.push_back(std::move(phase));
}

/// What every forecast of a group begins with.
void begin(const MachineSettings& machine, const Options& options, const MatrixForecast& sizes,
           std::uint64_t working_set, Forecast& forecast) {
  measure_speed(machine, working_set, forecast);
  forecast.matrices = {sizes};
  forecast.device = options.text("device").value_or("");
  forecast.on_host = machine.device.is_host();
  forecast.device_limit_bytes = machine.memory_limit_bytes;
}

[[nodiscard]] std::uint64_t vectors_of_devices(const Forecast& forecast) {
  if (!forecast.on_host) return 0;
  return sum_of(forecast.devices, [](const DeviceForecast& each) { return each.vector_bytes; });
}

/// What of a preconditioner lies on the host.
void add_precond(const RunSettings& settings, PrecondForecast precond, Forecast& forecast) {
  const bool sets_up_together = settings.precond.precond == Precond::amg && forecast.on_host;
  precond.phase.passing_bytes = sets_up_together ? precond.phase.held_bytes + precond.phase.passing_bytes : 0;
  precond.phase.held_bytes =
      forecast.on_host ? sum_of(forecast.devices, [](const DeviceForecast& each) { return each.precond_bytes; }) : 0;
  if (settings.precond.precond == Precond::amg) precond.phase.rests_on += "; nor is what its cycles exchange";
  if (!forecast.on_host) precond.phase.rests_on += "; it lies on the devices";
  forecast.phases.push_back(std::move(precond.phase));
}

template <class T>
[[nodiscard]] Forecast solve_forecast(const RunSettings& run, const DeviceGroup& group, const Options& options,
                                      Progress& progress) {
  Forecast forecast;
  RunSettings settings = run;
  if (settings.precond.precond == Precond::automatic) settings.precond.precond = Precond::jacobi;
  const ForecastMatrix<T> matrix = look_at_matrix<T>(settings.problem, settings.machine, false, progress);
  const MatrixForecast& sizes = matrix.sizes;
  progress.phase("numbering the rows");
  const MeasuredWork numbering;
  const NumberedSystem<T> system =
      number_for_group(matrix.matrix->view(), sizes.facts, group.size(), group_numbering(options, settings));
  ForecastPhase ordering = numbering.phase("ordering", system.ordering.bytes(), "halos depend on the numbering");
  const CsrView<T> a = system.matrix(*matrix.matrix);
  forecast.devices = forecast_of_devices(settings, a, sizes.facts, system.partition, group);
  forecast.ordering = system.ordering.facts;
  forecast.ordering->bytes = system.ordering.bytes();
  // b, x and the guess, in both numberings.
  const std::uint64_t vectors = 6 * static_cast<std::uint64_t>(sizes.rows) * sizeof(T);
  progress.phase("measuring the speed of memory");
  begin(settings.machine, options, sizes, 2 * sizes.bytes + vectors, forecast);
  forecast.phases.push_back(matrix.reading);
  forecast.phases.push_back(std::move(ordering));
  add_sharing(sizes.rows, forecast);
  add_vectors(vectors + vectors_of_devices(forecast), "at most, of " + to_string(settings.method), forecast);
  PrecondForecast precond = precond_forecast(settings, matrix);
  const double iteration = iteration_bytes(settings, settings.method, sizes, sizeof(T), precond.applied_bytes, 1.0);
  add_precond(settings, std::move(precond), forecast);
  add_history(settings.output, settings.solver.max_iterations, forecast);
  add_iteration(iteration, settings.machine, forecast);
  add_vector_output(settings.output, sizes.rows, forecast);
  return forecast;
}

/// Brings the graph into the numbering that the user names. \returns nothing for the natural one
template <class T>
[[nodiscard]] std::optional<ForecastPhase> renumber(const PageRankSettings& settings, TransitionMatrix<T>& transition,
                                                    Progress& progress, Forecast& forecast) {
  if (!settings.ordering) return std::nullopt;
  OrderingFacts& facts = forecast.ordering.emplace();
  if (*settings.ordering == Ordering::natural) return std::nullopt;
  progress.phase("numbering the vertices");
  const MeasuredWork numbering;
  static_cast<void>(reorder_graph(*settings.ordering, transition, facts));
  return numbering.phase("ordering", facts.bytes, "halos depend on the numbering");
}

template <class T>
[[nodiscard]] Forecast ranking_forecast(const PageRankSettings& settings, const DeviceGroup& group,
                                        const Options& options, Progress& progress) {
  Forecast forecast;
  const ForecastMatrix<T> matrix = look_at_matrix<T>(settings.problem, settings.machine, false, progress);
  const MatrixForecast& sizes = matrix.sizes;
  require_square(sizes);
  progress.phase("making the transition matrix");
  const MeasuredWork making;
  TransitionMatrix<T> transition(matrix.matrix->view(), settings.machine.host);
  ForecastPhase made = making.phase("transition", transition.bytes(), "halos depend on the in-links");
  std::optional<ForecastPhase> ordering = renumber(settings, transition, progress, forecast);
  const Partition partition = Partition::by_nonzeros(transition.in_links()->view(), group.size());
  forecast.devices = forecast_of_devices(settings, transition, partition, group);
  const std::uint64_t distributions = std::max<std::size_t>(settings.personalize.size(), 1);
  const auto n = static_cast<std::uint64_t>(sizes.rows);
  const std::uint64_t vectors = (2 + distributions) * n * sizeof(T);
  progress.phase("measuring the speed of memory");
  begin(settings.machine, options, sizes, 2 * sizes.bytes + vectors, forecast);
  forecast.phases.push_back(matrix.reading);
  forecast.phases.push_back(std::move(made));
  if (ordering) forecast.phases.push_back(*std::move(ordering));
  add_sharing(sizes.rows, forecast);
  add_vectors(vectors + vectors_of_devices(forecast), "ranks of the devices, and handed out", forecast);
  if (!settings.personalize.empty()) {
    forecast.phases.push_back({"weights", distributions * n * sizeof(double), 0, std::nullopt, "of --personalize"});
  }
  const std::int64_t most = most_rankings(settings, sizes.rows);
  add_history(settings.output, most, forecast);
  constexpr double moved_vectors = 6.0;
  add_iteration(static_cast<double>(transition.in_links()->bytes() + n * sizeof(T)) +
                    moved_vectors * static_cast<double>(n * sizeof(T)),
                settings.machine, forecast);
  forecast.iteration->most = most * static_cast<std::int64_t>(distributions);
  add_vector_output(settings.output, static_cast<std::int64_t>(distributions) * sizes.rows, forecast);
  return forecast;
}

/// \param in_double,in_single functions of settings, group, options and progress
template <class Settings, class Function>
[[nodiscard]] ExitCode forecast_group(const Settings& settings, const Options& options, const Invocation& invocation,
                                      Function* in_double, Function* in_single) {
  const DeviceGroup group = device_group(options);
  Progress progress(options, settings.output, settings.machine);
  const Forecast forecast =
      (settings.machine.precision == Precision::fp64 ? in_double : in_single)(settings, group, options, progress);
  progress.conclude(forecast.warnings);
  return deliver_forecast(forecast, settings.output, options, invocation);
}

}  // namespace

ExitCode forecast_group_run(const RunSettings& settings, const Options& options, const Invocation& invocation) {
  return forecast_group(settings, options, invocation, solve_forecast<double>, solve_forecast<float>);
}

ExitCode forecast_group_pagerank(const PageRankSettings& settings, const Options& options,
                                 const Invocation& invocation) {
  return forecast_group(settings, options, invocation, ranking_forecast<double>, ranking_forecast<float>);
}

}  // namespace tessera::cli
