/// \file
/// The command line, understood: typed and checked values for the commands that compute.
#pragma once

#include "options.hpp"
#include "personalization.hpp"
#include "terminal.hpp"

#include "support/precond.hpp"
#include "support/system.hpp"
#include "tessera/accuracy.hpp"
#include "tessera/amg.hpp"
#include "tessera/assemble.hpp"
#include "tessera/device.hpp"
#include "tessera/generators.hpp"
#include "tessera/incomplete_factors.hpp"
#include "tessera/ordering.hpp"
#include "tessera/pagerank.hpp"
#include "tessera/solvers.hpp"
#include "tessera/spmv.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

enum class Source { file, generator };

enum class Caching { off, beside, directory };

struct ProblemSettings {
  Source source = Source::file;
  std::string path;         ///< of a file
  GeneratorSpec generator;  ///< of a generated matrix
  std::string name;         ///< file or generator, for messages
  Caching caching = Caching::off;
  std::string cache_directory;  ///< for Caching::directory
  Duplicates duplicates = Duplicates::sum;
  bool unweighted = false;
  bool transposed = false;
};

enum class Precision { fp64, fp32 };

struct MachineSettings {
  Device device;                  ///< where products and iterations run
  Device host;                    ///< where matrices are read, inspected and checked
  bool device_undecided = false;  ///< --device auto of run or pagerank, until the matrix is known: `device` is the host
  std::string device_reason;      ///< why `auto` chose the device; empty where the user did, or nobody chooses
  Precision precision = Precision::fp64;
  std::uint64_t memory_limit_bytes = 0;  ///< 0: what the machine has
  bool limits_gpu = false;  ///< the limit is of the GPU, or of each of several devices, that the user named
  std::uint64_t seed = 42;

  /// Of reading, generating and transposing; 0: what the machine has.
  [[nodiscard]] std::uint64_t host_limit_bytes() const noexcept { return limits_gpu ? 0 : memory_limit_bytes; }
};

enum class ProgressMode { bar, plain, json, none };

struct OutputSettings {
  std::optional<std::string> vector;  ///< "-": standard output
  std::optional<std::string> json;    ///< "-": standard output
  std::optional<std::string> history;
  std::optional<std::string> csv;       ///< of compare; "-": standard output
  std::optional<std::string> markdown;  ///< of compare; "-": standard output
  std::optional<std::string> report;    ///< the page; "-": standard output
  bool plot = false;                    ///< the history, below the summary
  bool plan_info = false;
  bool quiet = false;
  int verbosity = 0;
  ProgressMode progress = ProgressMode::none;
  bool exit_zero = false;
  std::size_t width = 0;  ///< of the terminal that shows the summary; 0: none does

  [[nodiscard]] bool json_on_stdout() const { return json == "-"; }
  [[nodiscard]] bool vector_on_stdout() const { return vector == "-"; }
  /// A result other than the summary goes to standard output.
  [[nodiscard]] bool stdout_taken() const {
    return json_on_stdout() || vector_on_stdout() || csv == "-" || markdown == "-" || report == "-";
  }
  [[nodiscard]] bool wants_history() const { return json || history || report || plot; }
  /// JSON, report and plot show a part of a long history, so no more than this is kept; 0: all.
  [[nodiscard]] std::int64_t history_rows() const {
    constexpr std::int64_t enough = 65536;
    return history ? 0 : enough;
  }
};

/// Source of a vector: a word of the command line or a file.
struct VectorSettings {
  enum class Kind { zero, ones, a_ones, a_random, random, unit, rhs, file };
  Kind kind = Kind::zero;
  std::string path;          ///< of a file
  std::int64_t index = 0;    ///< of a unit vector, 0-based
  std::int64_t columns = 1;  ///< of random vectors; those of a file are in the file
};

using support::Method;
using support::Precond;

/// A preconditioner with what belongs to it.
struct PrecondSettings {
  Precond precond = Precond::automatic;
  AmgOptions amg;                   ///< without the vectors of the files
  PolynomialOptions polynomial;     ///< of Precond::polynomial
  IncompleteFactorOptions factors;  ///< of Precond::factors
  std::string coordinates_file;     ///< may be empty
  bool generated_coordinates = false;
  std::string near_nullspace_file;  ///< may be empty
  FsaiOptions fsai;
  SpaiOptions spai;
};

struct RunSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  VectorSettings rhs;
  VectorSettings x0;
  Method method = Method::automatic;
  PrecondSettings precond;
  SolverOptions solver;
  double damping = 0.0;                  ///< of least squares
  std::string option_of_square_systems;  ///< the first typed option that least squares do not have; may be empty
  bool is_mixed = false;                 ///< --precision mixed
  bool rhs_given = false;                ///< --rhs was named
  bool shadow_given = false;             ///< --shadow was typed
  bool restart_given = false;            ///< --restart was typed
  std::optional<ErrorGate> error_gate;   ///< nothing: auto
  SpmvOptions spmv;
  std::optional<Ordering> ordering;  ///< nothing: auto
};

/// How rankings are shown, for all commands that rank vertices.
struct RankingSettings {
  std::string labels;  ///< file of names of the vertices; may be empty
  std::int64_t top = 10;
  bool top_given = false;  ///< --top was typed: --quiet keeps the list
};

struct PageRankSettings {
  ProblemSettings problem;
  MachineSettings machine;
  OutputSettings output;
  PageRankOptions pagerank;                    ///< without the personalization
  std::vector<Personalization> personalize;    ///< none: uniform
  std::optional<double> tolerance_per_vertex;  ///< replaces pagerank.tolerance once the size is known
  bool sum_to_vertices = false;
  std::optional<Ordering> ordering;  ///< nothing: not named, natural
  RankingSettings ranking;
};

// Shared by several commands. Each reads the options that apply to the command.

/// Whether --generate or a model problem is given.
[[nodiscard]] bool generates_matrix(const Options& options);
/// \throws UsageError unless exactly one file or model problem is named
[[nodiscard]] ProblemSettings problem_settings(const Options& options);
/// The same where not all bare words name a matrix.
[[nodiscard]] ProblemSettings problem_settings(const Options& options, const std::vector<std::string>& files);
/// Sets the number of threads as well. \throws DeviceUnavailable for a device that does not exist
[[nodiscard]] MachineSettings machine_settings(const Options& options);
/// A further matrix that is a file, read as --cache, --duplicates and the like say.
[[nodiscard]] ProblemSettings file_settings(const Options& options, const std::string& path);
[[nodiscard]] ColorMode color_setting(const Options& options);
/// \throws UsageError for outputs that exclude each other
[[nodiscard]] OutputSettings output_settings(const Options& options);
[[nodiscard]] VectorSettings rhs_settings(const Options& options);
[[nodiscard]] VectorSettings x0_settings(const Options& options);
[[nodiscard]] SolverOptions solver_settings(const Options& options);
[[nodiscard]] Determinism determinism_setting(const Options& options);
/// A kernel that only GPUs have decides an undecided device. \throws OptionError for one that the device does not have
[[nodiscard]] SpmvOptions spmv_settings(const Options& options, MachineSettings& machine);

/// \throws UsageError naming option and text; DeviceUnavailable for a device that does not exist
[[nodiscard]] RunSettings run_settings(const Options& options);
[[nodiscard]] PageRankSettings pagerank_settings(const Options& options);
/// --labels and --top. \throws UsageError
[[nodiscard]] RankingSettings ranking_settings(const Options& options);
/// The names of --labels, else those of a list of edges. \param labels may be empty Throws as read_labels()
[[nodiscard]] VertexNames vertex_names(const RankingSettings& settings, std::int64_t vertices,
                                       const std::vector<std::string>& labels);

/// Right-hand sides that iterate together. Which preconditioner `auto` takes is not known yet.
[[nodiscard]] std::int64_t columns_at_once(const RunSettings& settings, Method method, std::int64_t rows,
                                           std::int64_t columns);

/// Right-hand sides, solutions and work vectors of a run, at most. Which preconditioner `auto` takes is not known yet.
[[nodiscard]] std::uint64_t vector_bytes(const RunSettings& settings, Method method, std::int64_t rows,
                                         std::size_t element, std::int64_t columns = 1);

}  // namespace tessera::cli
