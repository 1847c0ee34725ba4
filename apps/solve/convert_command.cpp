#include "convert_command.hpp"
#include "commands.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "problem.hpp"
#include "progress.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "tessera/binary_matrix.hpp"
#include "tessera/error.hpp"
#include "tessera/petsc_file.hpp"
#include "tessera/tile_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

/// What was written.
struct ConvertOutcome : CommonOutcome {
  std::string out;
  FileFormat format = FileFormat::text;
  std::string storage;  ///< "general", "symmetric"
  bool vector = false;
  std::int64_t elements = 0;  ///< of a vector
  std::uint64_t bytes_written = 0;
  double read_ms = 0.0;
  double write_ms = 0.0;
};

[[nodiscard]] std::string_view name_of(FileFormat format) {
  switch (format) {
    case FileFormat::text:
      return "mtx";
    case FileFormat::text_gzip:
      return "mtx.gz";
    case FileFormat::tiles:
      return "tiles";
    case FileFormat::petsc:
      return "petsc";
    case FileFormat::binary:
      break;
  }
  return "tsb";
}

[[nodiscard]] FileFormat format_of(const Options& options, const std::string& out) {
  enum class Word { automatic, text, text_gzip, binary, tiles, petsc };
  constexpr Choices<Word, 6> words{{{"auto", Word::automatic},
                                    {"mtx", Word::text},
                                    {"mtx.gz", Word::text_gzip},
                                    {"tsb", Word::binary},
                                    {"tiles", Word::tiles},
                                    {"petsc", Word::petsc}}};
  const Word wanted = choice_option(options, "to", words);
  const bool gzip_name = out.ends_with(".gz");
  switch (wanted) {
    case Word::text:
      if (gzip_name) throw UsageError("--to mtx: a name that ends in .gz is compressed", "--to mtx.gz");
      return FileFormat::text;
    case Word::text_gzip:
      if (!gzip_name) throw UsageError(fmt::format("--to mtx.gz: the name {} does not end in .gz", out));
      return FileFormat::text_gzip;
    case Word::binary:
      if (gzip_name) throw UsageError("--to tsb: binary files are not compressed");
      return FileFormat::binary;
    case Word::tiles:
      if (gzip_name) throw UsageError("--to tiles: binary files are not compressed");
      return FileFormat::tiles;
    case Word::petsc:
      if (gzip_name) throw UsageError("--to petsc: binary files are not compressed");
      return FileFormat::petsc;
    case Word::automatic:
      break;
  }
  if (out == "-" || out.ends_with(".mtx")) return FileFormat::text;
  if (out.ends_with(".mtx.gz")) return FileFormat::text_gzip;
  if (out.ends_with(".tsb")) return FileFormat::binary;
  if (out.ends_with(".tiles")) return FileFormat::tiles;
  if (out.ends_with(".petsc")) return FileFormat::petsc;
  throw UsageError(fmt::format("the name {} does not tell the format to write", out),
                   "end it in .mtx, .mtx.gz, .tsb, .tiles or .petsc, or say --to mtx");
}

[[nodiscard]] std::string out_of(const Options& options) {
  const bool has_input = generates_matrix(options) || !options.words().empty();
  const auto out = options.text("output");
  if (out && has_input) return *out;
  const std::string found = out ? *out : options.words().empty() ? std::string() : options.words().front();
  throw UsageError("convert needs IN and OUT" + (found.empty() ? "" : fmt::format(", found {} alone", found)),
                   "solve convert A.mtx A.tsb");
}

}  // namespace

ConvertSettings convert_settings(const Options& options) {
  const std::vector<std::string>& words = options.words();
  const std::string out = out_of(options);
  ConvertSettings result;
  std::error_code ignored;
  if (!words.empty() && std::filesystem::equivalent(words.front(), out, ignored)) {
    throw UsageError(fmt::format("IN and OUT are the same file {}", out));
  }
  result.problem = problem_settings(options);
  result.problem.unweighted = options.flag("pattern");
  result.machine = machine_settings(options);
  result.output = output_settings(options);
  result.format = format_of(options, out);
  constexpr Choices<bool, 2> storages{{{"auto", true}, {"general", false}}};
  result.lower_triangle = choice_option(options, "symmetric", storages);
  result.vector = options.flag("vector");
  if (out == "-" && is_binary(result.format)) {
    throw UsageError("a binary file does not go to standard output",
                     fmt::format("name a file that ends in .{}", name_of(result.format)));
  }
  if (result.vector && is_binary(result.format) && result.format != FileFormat::petsc) {
    throw UsageError("--vector: binary files hold matrices only", "write the vector to a .mtx or .petsc file");
  }
  if (result.vector && result.problem.source != Source::file) {
    throw UsageError("--vector: generators make matrices only");
  }
  for (const std::string_view name : {"pattern", "symmetric", "duplicates", "cache", "transpose"}) {
    if (result.vector && options.given(name)) throw UsageError(fmt::format("--{} does not apply to a vector", name));
  }
  return result;
}

namespace {

/// A file that is there already is replaced only when that was asked for; pipes and devices are written to.
void check_replacement(const Options& options, const std::string& out) {
  std::error_code ignored;
  if (out == "-" || options.flag("force") || !std::filesystem::is_regular_file(out, ignored)) return;
  throw IoError(fmt::format("{} exists already; --force replaces it", out));
}

template <class T>
void write_tiles(const ConvertSettings& settings, const MatrixMarketMatrix<T>& file, const std::string& out) {
  const std::uint64_t matrix = file.matrix.bytes();
  const TileEstimate tiles = estimate_tiles(file.matrix.view(), settings.machine.host, TileSample::all());
  constexpr double bytes_per_tile = sizeof(index_t) + sizeof(std::uint64_t) + sizeof(offset_t);
  const auto needed = static_cast<std::uint64_t>(tiles.tiles * bytes_per_tile) + file.matrix.values().bytes() +
                      file.matrix.row_offsets().bytes() / tile_size;
  support::require_memory(settings.machine.memory_limit_bytes, matrix, needed, "the tiles of " + settings.problem.name);
  write_binary_tiles(out, to_tiles(file.matrix).view(), file);
}

template <class T>
void write_matrix(const ConvertSettings& settings, const MatrixMarketMatrix<T>& file, ConvertOutcome& outcome) {
  outcome.storage = "general";
  if (settings.format == FileFormat::tiles) {
    write_tiles(settings, file, outcome.out);
    return;
  }
  if (settings.format == FileFormat::binary) {
    write_binary(outcome.out, file);
    return;
  }
  if (settings.format == FileFormat::petsc) {
    write_petsc(outcome.out, file.matrix.view());
    return;
  }
  WriteOptions options;
  if (settings.lower_triangle && outcome.matrix.symmetry == Symmetry::numerical && outcome.matrix.rows > 0) {
    options.symmetry = MatrixMarketSymmetry::symmetric;
    outcome.storage = "symmetric";
  }
  const CsrView<T> matrix = file.matrix.view();
  if (outcome.out == "-") {
    write_through_stdout([&] { write_matrix_market("/dev/stdout", matrix, options); });
  } else {
    write_matrix_market(outcome.out, matrix, options);
  }
}

/// The matrix, and the header that says its sizes; transposes keep the symmetry.
template <class T>
void transpose_file(const ConvertSettings& settings, LoadedMatrix<T>& loaded) {
  const Stopwatch timer;
  loaded.file.matrix = transposed(loaded.file.matrix, settings.problem.name, settings.machine);
  std::swap(loaded.file.header.rows, loaded.file.header.cols);
  loaded.read_ms += timer.milliseconds();
}

template <class T>
void convert_matrix(const ConvertSettings& settings, Progress& progress, ConvertOutcome& outcome) {
  progress.phase(loading_text(settings.problem));
  LoadedMatrix<T> loaded = load_matrix<T>(settings.problem, settings.machine);
  stop_if_interrupted();
  if (settings.problem.transposed) transpose_file(settings, loaded);
  const CsrView<T> view = loaded.file.matrix.view();
  outcome.read_ms = loaded.read_ms;
  outcome.cache = loaded.cache;
  outcome.duplicates = loaded.file.duplicates;
  outcome.first_rounded = loaded.file.first_rounded;
  outcome.pattern = view.is_pattern();
  outcome.memory.matrix = loaded.file.matrix.bytes();
  outcome.matrix = statistics(view, settings.machine.host);
  stop_if_interrupted();
  progress.phase("writing " + outcome.out);
  const Stopwatch timer;
  write_matrix(settings, loaded.file, outcome);
  outcome.write_ms = timer.milliseconds();
  warn_about_cache(outcome, outcome.warnings);
  warn_about_duplicates(outcome, outcome.warnings);
  warn_about_rounding(outcome, outcome.warnings);
}

template <class T>
void convert_vector(const ConvertSettings& settings, Progress& progress, ConvertOutcome& outcome) {
  progress.phase(loading_text(settings.problem));
  ReadOptions options;
  options.device = settings.machine.host;
  options.memory_limit_bytes = settings.machine.memory_limit_bytes;
  const Stopwatch read_timer;
  const std::vector<T> vector = read_vector<T>(settings.problem.path, options);
  outcome.read_ms = read_timer.milliseconds();
  stop_if_interrupted();
  outcome.elements = static_cast<std::int64_t>(vector.size());
  progress.phase("writing " + outcome.out);
  const Stopwatch write_timer;
  if (settings.format == FileFormat::petsc) {
    write_petsc_vector<T>(outcome.out, vector);
  } else {
    write_solution<T>(outcome.out, vector, {});
  }
  outcome.write_ms = write_timer.milliseconds();
}

[[nodiscard]] std::string convert_text(const ConvertOutcome& outcome) {
  const MatrixStatistics& m = outcome.matrix;
  std::string what =
      outcome.vector ? fmt::format("vector of {}", outcome.elements)
                     : fmt::format("{} x {}, {} nonzeros{}", m.rows, m.cols, m.nnz, outcome.pattern ? ", pattern" : "");
  std::string text = line(
      "read", shown_problem(outcome, 0) + (outcome.transposed ? ", transposed: " : ": ") + what + cache_text(outcome));
  std::string written = fmt::format("{}: {}", outcome.out, name_of(outcome.format));
  if (!outcome.vector && !is_binary(outcome.format)) written += ", " + outcome.storage;
  if (outcome.bytes_written > 0) written += ", " + size_text(outcome.bytes_written);
  text += line("wrote", written);
  return text + line("time", fmt::format("read {}, write {}", time_text(outcome.read_ms), time_text(outcome.write_ms)));
}

[[nodiscard]] Json convert_json(const ConvertOutcome& outcome, const Options& options, const Invocation& invocation,
                                ExitCode code) {
  Json json = document_head("solve.convert/1", invocation);
  json["config"] = config_json(options);
  if (outcome.vector) {
    json["vector"] = {{"path", outcome.problem}, {"elements", outcome.elements}};
  } else {
    json["matrix"] = matrix_json(outcome);
  }
  json["output"] = {{"path", outcome.out}, {"format", name_of(outcome.format)}};
  json["output"]["storage"] = outcome.vector ? Json(nullptr) : Json(outcome.storage);
  json["output"]["bytes"] = outcome.out == "-" ? Json(nullptr) : Json(outcome.bytes_written);
  json["result"] = {{"status", "written"}, {"exit_code", static_cast<int>(code)}};
  json["timings_ms"] = {{"read", outcome.read_ms}, {"write", outcome.write_ms}};
  json["warnings"] = warnings_json(outcome.warnings);
  return json;
}

void convert(const ConvertSettings& settings, Progress& progress, ConvertOutcome& outcome) {
  const bool fp64 = settings.machine.precision == Precision::fp64;
  if (settings.vector) {
    fp64 ? convert_vector<double>(settings, progress, outcome) : convert_vector<float>(settings, progress, outcome);
  } else {
    fp64 ? convert_matrix<double>(settings, progress, outcome) : convert_matrix<float>(settings, progress, outcome);
  }
  if (outcome.out == "-") return;
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(outcome.out, unknown);
  if (!unknown) outcome.bytes_written = size;
}

}  // namespace

ExitCode convert_command(const Options& options, const Invocation& invocation) {
  ConvertSettings settings = convert_settings(options);
  const std::string out = *settings.output.vector;
  check_outputs(settings.output, input_files(options, settings.problem));
  check_replacement(options, out);

  Progress progress(options, settings.output, settings.machine);
  ConvertOutcome outcome;
  outcome.problem = settings.problem.name;
  outcome.from_file = settings.problem.source == Source::file;
  outcome.transposed = settings.problem.transposed;
  outcome.precision = settings.machine.precision;
  outcome.out = out;
  outcome.format = settings.format;
  outcome.vector = settings.vector;
  convert(settings, progress, outcome);
  progress.conclude(outcome.warnings);

  Deliverables results;
  results.write_vector = [](const std::string&) {};
  results.summary = [&] { return convert_text(outcome); };
  results.json = [&](ExitCode code) { return document_text(convert_json(outcome, options, invocation, code)); };
  return deliver(settings.output, ExitCode::success, results);
}

}  // namespace tessera::cli
