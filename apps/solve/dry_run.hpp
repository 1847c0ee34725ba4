/// \file
/// --dry-run: memory and time of each phase of a command, before any of it.
#pragma once

#include "device_forecast.hpp"
#include "errors.hpp"
#include "outcome.hpp"
#include "progress.hpp"
#include "settings.hpp"

#include "support/machine_speed.hpp"
#include "tessera/csr.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct CentralitySettings;
struct CompareSettings;
struct SpgemmSettings;

/// One step of the work, in its order.
struct ForecastPhase {
  std::string name;                 ///< "read", "plan"
  std::uint64_t held_bytes = 0;     ///< from then on to the end
  std::uint64_t passing_bytes = 0;  ///< besides, while it lasts
  std::optional<double> ms;         ///< nothing where nothing honest can be said
  std::string rests_on;             ///< what memory and time rest on, or why there is no time
};

/// The sizes that a forecast rests on.
struct MatrixForecast {
  std::string name;
  bool from_file = false;
  bool transposed = false;
  bool pattern = false;
  bool whole = false;  ///< read whole, not its header alone
  bool exact = false;  ///< `nnz` is the number, not a bound
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  offset_t nnz = 0;         ///< at most, where the header alone was read
  std::uint64_t bytes = 0;  ///< in memory
  MatrixStatistics facts;   ///< of a whole matrix
};

/// One iteration, and how many there can be.
struct IterationForecast {
  std::uint64_t bytes = 0;  ///< that go through memory
  std::optional<double> ms;
  std::optional<std::int64_t> most;  ///< iterations
  std::string rests_on;
};

/// Work that is done only if something else fails, or is not known to be needed: a later rung of the ladder.
struct LaterForecast {
  std::string name;
  std::optional<std::uint64_t> bytes;
  std::string reason;
};

struct Forecast {
  std::vector<MatrixForecast> matrices;  ///< A, and B of a product of two files
  Precision precision = Precision::fp64;
  std::string device;
  std::vector<ForecastPhase> phases;
  std::optional<IterationForecast> iteration;
  std::vector<LaterForecast> later;
  std::uint64_t climbing_bytes = 0;  ///< of the later rung that takes the most, with its set-up
  support::MemorySpeed speed;
  std::uint64_t limit_bytes = 0;         ///< of the user, on the memory of the host; 0: none
  std::uint64_t device_limit_bytes = 0;  ///< on that of each of several devices; 0: none
  std::uint64_t budget_bytes = 0;        ///< the limit, else what the machine has; 0: not known
  /// A lower bound of the peak where `phases` may be far above it; else nothing.
  std::optional<std::uint64_t> least_peak_bytes;
  bool on_host = true;                    ///< the devices are the host
  std::vector<DeviceForecast> devices;    ///< of several; on the host their memory is in the phases too
  std::optional<OrderingFacts> ordering;  ///< of several devices, or where one was named
  bool is_open = false;                   ///< there is work behind the phases of which nothing is known
  Warnings warnings;
};

/// The phase with the largest need: what is held by then, and what passes.
struct ForecastPeak {
  std::uint64_t bytes = 0;
  std::string phase;
};
[[nodiscard]] ForecastPeak peak_of(const Forecast& forecast);

enum class Fit { fits, unknown, too_large };
/// Of the host's memory: too_large only where not even the least that the work can need fits.
[[nodiscard]] Fit host_fit_of(const Forecast& forecast);
/// With that of several devices.
[[nodiscard]] Fit fit_of(const Forecast& forecast);

/// A matrix whose sizes are known, and itself where it was read whole.
template <class T>
struct ForecastMatrix {
  MatrixForecast sizes;
  std::shared_ptr<const Csr<T>> matrix;  ///< null where the header was enough
  ForecastPhase reading;
};

/// Reads the header alone where that is enough and tells the sizes (a file that is not compressed, and no pipe), else
/// the matrix. \throws as load_input
template <class T>
[[nodiscard]] ForecastMatrix<T> look_at_matrix(const ProblemSettings& problem, const MachineSettings& machine,
                                               bool header_is_enough, Progress& progress);

/// The numbering of the work, where one is named: P A Pᵀ is formed if there is memory for it, because the entries of
/// direct factors depend on it, and the time on the matrix. \param matrix read whole unless the ordering is natural
template <class T>
void add_ordering(std::optional<Ordering> ordering, ForecastMatrix<T>& matrix, Progress& progress, Forecast& forecast);

/// The budget, and the speed of memory for `working_set` bytes; every time of phases and iteration that is told in
/// bytes follows from it.
void measure_speed(const MachineSettings& machine, std::uint64_t working_set, Forecast& forecast);
/// Milliseconds of `bytes` through memory.
[[nodiscard]] double ms_of_bytes(const Forecast& forecast, double bytes);
/// "12 MiB through memory at 8.3 GB/s, measured just now with 2 threads".
[[nodiscard]] std::string moved_text(const Forecast& forecast, double bytes);

/// The rows of a history that is kept for JSON or a file, and the document or file itself.
void add_history(const OutputSettings& output, std::int64_t most_iterations, Forecast& forecast);

/// Large enough for everything, and still far from an overflow of a sum.
[[nodiscard]] std::uint64_t whole_bytes(double bytes);
/// \param vectors bytes of them
void add_vectors(std::uint64_t vectors, std::string rests_on, Forecast& forecast);
/// The file of --output, where one is wanted.
void add_vector_output(const OutputSettings& output, std::int64_t rows, Forecast& forecast);
/// Times of a GPU rest on nothing that is measured here.
inline constexpr std::string_view no_gpu_time = "a GPU's speed is not measured by a dry run";
/// One iteration, and on the host its time. \param bytes through memory
void add_iteration(double bytes, const MachineSettings& machine, Forecast& forecast);
/// \throws DimensionError
void require_square(const MatrixForecast& matrix);
/// What an iteration moves through memory. \param element bytes of one \param applied_bytes of the preconditioner
/// \param columns right-hand sides that share products
[[nodiscard]] double iteration_bytes(const RunSettings& settings, Method method, const MatrixForecast& matrix,
                                     std::size_t element, double applied_bytes, double columns);
/// Iterations after which ‖x' − x‖₁ <= tolerance: it begins at 2 or less, and each one multiplies it by at most the
/// damping. Other norms are smaller.
[[nodiscard]] std::int64_t most_rankings(const PageRankSettings& settings, std::int64_t vertices);

/// Reports it as the outputs say; no other output is written.
/// \returns success, or out_of_memory where it does not fit
[[nodiscard]] ExitCode deliver_forecast(const Forecast& forecast, const OutputSettings& output, const Options& options,
                                        const Invocation& invocation);

/// A forecast in the precision of the settings, made and reported. \returns as deliver_forecast
template <class Settings, class Function>
[[nodiscard]] ExitCode forecast_command(const Settings& settings, const Options& options, const Invocation& invocation,
                                        Function* in_double, Function* in_single) {
  Progress progress(options, settings.output, settings.machine);
  const Forecast forecast = (settings.machine.precision == Precision::fp64 ? in_double : in_single)(settings, progress);
  progress.conclude(forecast.warnings);
  return deliver_forecast(forecast, settings.output, options, invocation);
}

// What the commands do with --dry-run.

[[nodiscard]] ExitCode forecast_run(const RunSettings& settings, const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode forecast_pagerank(const PageRankSettings& settings, const Options& options,
                                         const Invocation& invocation);
/// Those on the several devices that --device names.
[[nodiscard]] ExitCode forecast_group_run(const RunSettings& settings, const Options& options,
                                          const Invocation& invocation);
[[nodiscard]] ExitCode forecast_group_pagerank(const PageRankSettings& settings, const Options& options,
                                               const Invocation& invocation);
[[nodiscard]] ExitCode forecast_centrality(const CentralitySettings& settings, const Options& options,
                                           const Invocation& invocation);
[[nodiscard]] ExitCode forecast_spgemm(const SpgemmSettings& settings, const Options& options,
                                       const Invocation& invocation);
[[nodiscard]] ExitCode forecast_compare(const CompareSettings& settings, const Options& options,
                                        const Invocation& invocation);

}  // namespace tessera::cli
