// Forecasts: sizes of the matrix, its reading, vectors, the history, and the speed of memory.
#include "dry_run.hpp"

#include "problem.hpp"
#include "summary_text.hpp"
#include "system_ordering.hpp"

#include "core/memory_budget.hpp"
#include "core/stopwatch.hpp"
#include "solvers/pagerank_batch.hpp"
#include "support/machine.hpp"
#include "tessera/matrix_file_info.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera::cli {

namespace {

/// Text that one thread reads a second, measured on one core of a server of 2023; disks may be slower.
constexpr double text_bytes_per_second = 1e8;
/// Threads read in parallel, sorting the entries less so.
constexpr double text_thread_share = 0.5;

[[nodiscard]] std::optional<MatrixFileInfo> info_of(const ProblemSettings& problem, bool header_is_enough) {
  if (!header_is_enough || problem.source != Source::file || problem.caching != Caching::off) return std::nullopt;
  return read_matrix_file_info(problem.path);
}

[[nodiscard]] ForecastPhase reading_by_header(const MatrixFileInfo& info, const ProblemSettings& problem,
                                              const MachineSettings& machine, const MatrixForecast& sizes,
                                              std::size_t element) {
  ForecastPhase phase{"read", sizes.bytes, 0, std::nullopt, {}};
  std::uint64_t peak = info.reading_bytes(element, problem.duplicates);
  // Values that are left out, or the transpose, are beside the matrix for a while.
  const std::uint64_t as_read = detail::csr_bytes(info.header.rows, info.most_nnz, info.is_pattern ? 0 : element);
  if (sizes.transposed || (problem.unweighted && !info.is_pattern)) peak = std::max(peak, as_read + sizes.bytes);
  phase.passing_bytes = peak - std::min(peak, sizes.bytes);
  if (info.is_binary) {
    phase.rests_on = std::string("a binary file: as fast as the disk, which is not measured");
    return phase;
  }
  const double threads = 1.0 + text_thread_share * (machine.host.threads() - 1);
  constexpr double ms_per_second = 1e3;
  phase.ms = ms_per_second * static_cast<double>(info.file_bytes) / (text_bytes_per_second * threads);
  phase.rests_on =
      fmt::format("{} of text at 100 MB/s for a thread, a constant; not on the disk", size_text(info.file_bytes));
  return phase;
}

template <class T>
[[nodiscard]] ForecastMatrix<T> by_header(const MatrixFileInfo& info, const ProblemSettings& problem,
                                          const MachineSettings& machine) {
  ForecastMatrix<T> result;
  MatrixForecast& sizes = result.sizes;
  sizes.rows = problem.transposed ? info.header.cols : info.header.rows;
  sizes.cols = problem.transposed ? info.header.rows : info.header.cols;
  sizes.nnz = info.most_nnz;
  sizes.exact = info.is_binary;
  sizes.pattern = info.is_pattern || problem.unweighted;
  sizes.bytes = detail::csr_bytes(sizes.rows, sizes.nnz, sizes.pattern ? 0 : sizeof(T));
  sizes.transposed = problem.transposed;
  result.reading = reading_by_header(info, problem, machine, sizes, sizeof(T));
  return result;
}

template <class T>
[[nodiscard]] ForecastMatrix<T> by_reading(const ProblemSettings& problem, const MachineSettings& machine) {
  ForecastMatrix<T> result;
  const std::uint64_t before = support::peak_resident_bytes();
  const InputMatrix<T> input = load_input<T>(problem, machine);
  const std::uint64_t peak = support::peak_resident_bytes() - before;
  result.matrix = input.matrix;
  MatrixForecast& sizes = result.sizes;
  sizes.whole = sizes.exact = true;
  sizes.rows = input.matrix->rows();
  sizes.cols = input.matrix->cols();
  sizes.nnz = input.matrix->nnz();
  sizes.pattern = input.matrix->is_pattern();
  sizes.transposed = problem.transposed;
  sizes.bytes = input.matrix->bytes();
  sizes.facts = statistics(input.matrix->view(), machine.host);
  result.reading = {"read", sizes.bytes, peak - std::min(peak, sizes.bytes), input.read_ms,
                    "done just now: the forecast needs the matrix"};
  return result;
}

}  // namespace

ForecastPeak peak_of(const Forecast& forecast) {
  ForecastPeak peak;
  std::uint64_t held = 0;
  for (const ForecastPhase& phase : forecast.phases) {
    held += phase.held_bytes;
    const std::uint64_t bytes = held + phase.passing_bytes;
    if (bytes > peak.bytes) peak = {bytes, phase.name};
  }
  return peak;
}

Fit host_fit_of(const Forecast& forecast) {
  if (forecast.budget_bytes == 0) return Fit::unknown;
  const std::uint64_t peak = peak_of(forecast).bytes;
  if (peak <= forecast.budget_bytes) return forecast.is_open ? Fit::unknown : Fit::fits;
  return forecast.least_peak_bytes.value_or(peak) <= forecast.budget_bytes ? Fit::unknown : Fit::too_large;
}

Fit fit_of(const Forecast& forecast) {
  Fit fit = host_fit_of(forecast);
  for (const DeviceForecast& device : forecast.devices) {
    if (!device.fits()) return Fit::too_large;
    if (device.available_bytes == 0 && fit == Fit::fits) fit = Fit::unknown;
  }
  return fit;
}

template <class T>
ForecastMatrix<T> look_at_matrix(const ProblemSettings& problem, const MachineSettings& machine, bool header_is_enough,
                                 Progress& progress) {
  progress.phase("looking at " + problem.name);
  const std::optional<MatrixFileInfo> info = info_of(problem, header_is_enough);
  ForecastMatrix<T> result = info ? by_header<T>(*info, problem, machine) : by_reading<T>(problem, machine);
  result.sizes.name = problem.name;
  result.sizes.from_file = problem.source == Source::file;
  return result;
}

void measure_speed(const MachineSettings& machine, std::uint64_t working_set, Forecast& forecast) {
  constexpr std::uint64_t share = 4;  // of a limit
  forecast.limit_bytes = machine.host_limit_bytes();
  forecast.budget_bytes = support::memory_budget(machine.host_limit_bytes());
  forecast.precision = machine.precision;
  forecast.device = machine.device.name();
  forecast.speed = support::measure_memory_speed(working_set, forecast.budget_bytes / share, machine.host);
}

double ms_of_bytes(const Forecast& forecast, double bytes) {
  constexpr double ms_per_second = 1e3;
  return ms_per_second * bytes / forecast.speed.bytes_per_second;
}

std::string moved_text(const Forecast& forecast, double bytes) {
  constexpr double giga = 1e-9;
  return fmt::format("{} through memory at {:.3g} GB/s, measured just now with {}",
                     size_text(static_cast<std::uint64_t>(bytes)), giga * forecast.speed.bytes_per_second,
                     counted(forecast.speed.threads, "thread"));
}

void add_history(const OutputSettings& output, std::int64_t most_iterations, Forecast& forecast) {
  if (!output.wants_history()) return;
  const std::int64_t bound = output.history_rows();
  const std::int64_t all = std::min(most_iterations, std::numeric_limits<std::int64_t>::max() - 1) + 1;
  const auto rows = static_cast<double>(bound == 0 ? all : std::min(all, bound));
  // A vector that grows has up to twice the room, and copies from half of it; a row takes at most so much text, which
  // grows likewise; documents show at most 10000 rows.
  constexpr double room = 2.0;
  constexpr double text_of_row = 3.0 * 90.0;
  constexpr double most_shown = 10000.0;
  constexpr double document_of_row = 600.0;
  constexpr double document = 1 << 17;
  const auto bytes = [](double amount) {
    constexpr double most = 9e18;
    return static_cast<std::uint64_t>(std::min(amount, most));
  };
  double written = output.history ? rows * text_of_row : 0.0;
  if (output.json) written = std::max(written, document + document_of_row * std::min(rows, most_shown));
  forecast.phases.push_back({"history", bytes(room * rows * sizeof(HistoryEntry)), bytes(rows * sizeof(HistoryEntry)),
                             0.0, fmt::format("at most {:.0f} rows", rows)});
  forecast.phases.push_back({"report", 0, bytes(written), std::nullopt, "the document or file of the history"});
}

std::uint64_t whole_bytes(double bytes) {
  constexpr double most = 9e17;
  return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, most));
}

void add_vectors(std::uint64_t vectors, std::string rests_on, Forecast& forecast) {
  forecast.phases.push_back(
      {"vectors", vectors, 0, ms_of_bytes(forecast, static_cast<double>(vectors)), std::move(rests_on)});
}

void add_vector_output(const OutputSettings& output, std::int64_t rows, Forecast& forecast) {
  if (!output.vector) return;
  // Text in memory grows to twice its size, copied from half of it; Matrix Market files are written by pieces.
  constexpr double number = 26.0;
  constexpr double growth = 3.0;
  constexpr double pieces = 1 << 23;
  const bool by_pieces = output.vector->ends_with(".mtx") || output.vector->ends_with(".gz");
  const double text = number * static_cast<double>(rows);
  forecast.phases.push_back({"output", 0, whole_bytes(by_pieces ? pieces : growth * text), std::nullopt,
                             fmt::format("at most {:.0f} bytes of text; the speed of the disk is not measured", text)});
}

std::int64_t most_rankings(const PageRankSettings& settings, std::int64_t vertices) {
  PageRankOptions rank = settings.pagerank;
  if (settings.tolerance_per_vertex) rank.tolerance = *settings.tolerance_per_vertex * static_cast<double>(vertices);
  return detail::most_rank_iterations(rank);
}

void add_iteration(double bytes, const MachineSettings& machine, Forecast& forecast) {
  IterationForecast iteration;
  iteration.bytes = whole_bytes(bytes);
  if (machine.device.is_host()) {
    iteration.ms = ms_of_bytes(forecast, bytes);
    iteration.rests_on = moved_text(forecast, bytes);
  } else {
    iteration.rests_on = no_gpu_time;
  }
  forecast.iteration = iteration;
}

void require_square(const MatrixForecast& matrix) {
  if (matrix.rows == matrix.cols) return;
  throw DimensionError(
      fmt::format("{}: the matrix is {} x {}, a square one is needed", matrix.name, matrix.rows, matrix.cols));
}

template <class T>
void add_ordering(std::optional<Ordering> ordering, ForecastMatrix<T>& matrix, Progress& progress, Forecast& forecast) {
  if (!ordering) return;
  OrderingFacts& facts = forecast.ordering.emplace();
  if (*ordering == Ordering::natural) return;
  facts.name = to_string(*ordering);
  const MatrixForecast& sizes = matrix.sizes;
  const OrderingBytes bytes =
      predicted_ordering_bytes(*ordering, sizes.facts, sizes.pattern ? 0 : sizeof(T), Device{}.threads());
  forecast.phases.push_back({"ordering", bytes.held, bytes.passing, std::nullopt, {}});
  facts.bytes = bytes.held;
  ForecastPhase& phase = forecast.phases.back();
  phase.rests_on = facts.name + ", the permutation and P A P'";
  if (host_fit_of(forecast) == Fit::too_large) return;
  progress.phase("numbering the rows");
  OrderedSystem<T> system = order_system(*matrix.matrix, *ordering);
  matrix.matrix = std::move(system.reordered);
  phase.ms = system.facts.ms;
  phase.rests_on += ", done just now: the time depends on the matrix";
}

template void add_ordering(std::optional<Ordering>, ForecastMatrix<float>&, Progress&, Forecast&);
template void add_ordering(std::optional<Ordering>, ForecastMatrix<double>&, Progress&, Forecast&);
template ForecastMatrix<float> look_at_matrix(const ProblemSettings&, const MachineSettings&, bool, Progress&);
template ForecastMatrix<double> look_at_matrix(const ProblemSettings&, const MachineSettings&, bool, Progress&);

}  // namespace tessera::cli
