// Settings that several commands share: the problem, the machine, outputs, vectors and the kernel.
#include "settings.hpp"

#include "device_choice.hpp"
#include "errors.hpp"
#include "option_values.hpp"
#include "terminal.hpp"

#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tessera/nearest.hpp"
#include "tessera/several_devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>
#include <system_error>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

namespace {

constexpr std::array<std::string_view, 4> model_problems{"poisson2d", "poisson3d", "convdiff", "powerlaw"};

/// Takes --generate and the model problems, and returns them as they were typed.
[[nodiscard]] std::vector<std::string> take_generator(const Options& options, ProblemSettings& settings) {
  std::vector<std::string> given;
  const auto seed = static_cast<std::uint64_t>(count_option(options, "seed"));
  for (const std::string_view name : model_problems) {
    if (!options.given(name)) continue;
    const std::int64_t size = count_option(options, name, 1, std::numeric_limits<index_t>::max());
    given.push_back("--" + std::string(name));
    settings.generator = {std::string(name), size, seed, {}};
    settings.name = fmt::format("{} {}", name, size);
  }
  if (const auto text = options.text("generate")) {
    given.emplace_back("--generate");
    try {
      settings.generator = parse_generator(*text, seed);
      settings.name = to_string(settings.generator);
    } catch (const InvalidArgument& error) {
      throw OptionError("generate", fmt::format("option --generate: {}", error.what()), "solve list generators");
    }
  }
  if (!given.empty()) settings.source = Source::generator;
  return given;
}

/// Text, gzip, or a binary file that stands there as a file (`< A.tsb`).
void take_standard_input(const Options& options, ProblemSettings& settings) {
  if (options.typed("cache") && options.text("cache") != "off") {
    throw UsageError("option --cache: what comes from standard input has no copy");
  }
  settings.path = "/dev/stdin";
  settings.name = "-";
}

/// Names for a message, cut after the first few: a wildcard gives any number.
[[nodiscard]] std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  if (names.size() <= shown + 1) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(names.begin(), names.begin() + shown, ", "), names.size() - shown);
}

void take_file(const Options& options, const std::string& path, ProblemSettings& settings) {
  settings.path = path;
  settings.name = path;
  if (path == "-") return take_standard_input(options, settings);
  std::error_code ignored;
  if (path == "help" && !std::filesystem::exists(path, ignored)) {
    throw UsageError("there is no file \"help\"", fmt::format("solve {} --help", to_string(options.command())));
  }
  refuse_mistyped_word("matrix", path, command_names());
  const std::string cache = options.text("cache").value_or("off");
  if (cache == "off") return;
  settings.caching = cache == "on" ? Caching::beside : Caching::directory;
  if (cache == "on") return;
  settings.cache_directory = cache;
  if (!std::filesystem::is_directory(cache, ignored)) {
    throw IoError(fmt::format("--cache {}: there is no such directory", cache));
  }
}

void take_reading(const Options& options, ProblemSettings& settings) {
  constexpr Choices<Duplicates, 2> duplicates{{{"sum", Duplicates::sum}, {"error", Duplicates::error}}};
  settings.duplicates = choice_option(options, "duplicates", duplicates);
  settings.unweighted = options.flag("unweighted");
  const OptionSpec* transpose = find_option(options.command(), "transpose");
  const bool is_flag = transpose != nullptr && transpose->kind == ValueKind::flag;
  settings.transposed = is_flag && options.flag("transpose");
}

}  // namespace

bool generates_matrix(const Options& options) {
  return options.given("generate") || std::any_of(model_problems.begin(), model_problems.end(),
                                                  [&](std::string_view name) { return options.given(name); });
}

ProblemSettings problem_settings(const Options& options, const std::vector<std::string>& files) {
  ProblemSettings result;
  std::vector<std::string> given = take_generator(options, result);
  given.insert(given.end(), files.begin(), files.end());
  if (given.empty()) {
    throw UsageError("no problem given: name a Matrix Market file or a model problem",
                     ranks_vertices(options.command())
                         ? fmt::format("for a first try: solve {} --powerlaw 10000", to_string(options.command()))
                         : "for a first try: solve --poisson3d 32");
  }
  if (given.size() > 1) {
    const std::string command = files.empty() ? "" : did_you_mean(files.front(), command_names());
    const bool has_rhs = options.command() == Command::run && files.size() > 1;
    throw UsageError(fmt::format("expected one matrix, got {} arguments ({})", given.size(), first_names(given)),
                     command.empty() && has_rhs ? "a right-hand side is given with -b" : command);
  }
  if (result.source == Source::file) {
    take_file(options, given.front(), result);
  } else {
    for (const std::string_view name : {"duplicates", "cache"}) {
      if (options.typed(name)) throw UsageError(fmt::format("option --{} applies to files only", name));
    }
  }
  take_reading(options, result);
  return result;
}

ProblemSettings file_settings(const Options& options, const std::string& path) {
  ProblemSettings result;
  take_file(options, path, result);
  take_reading(options, result);
  return result;
}

ProblemSettings problem_settings(const Options& options) { return problem_settings(options, options.words()); }

namespace {

[[nodiscard]] ProgressMode progress_mode(const Options& options, bool quiet) {
  enum class Word { automatic, bar, plain, json, none };
  constexpr Choices<Word, 5> words{{{"auto", Word::automatic},
                                    {"bar", Word::bar},
                                    {"plain", Word::plain},
                                    {"json", Word::json},
                                    {"none", Word::none}}};
  switch (choice_option(options, "progress", words)) {
    case Word::bar:
      return ProgressMode::bar;
    case Word::plain:
      return ProgressMode::plain;
    case Word::json:
      return ProgressMode::json;
    case Word::none:
      return ProgressMode::none;
    case Word::automatic:
      break;
  }
  if (quiet) return ProgressMode::none;
  return understands_escapes(STDERR_FILENO) ? ProgressMode::bar : ProgressMode::plain;
}

void require_one_stdout(const OutputSettings& outputs) {
  std::vector<std::string_view> takers;
  if (outputs.json == "-") takers.emplace_back("--json");
  if (outputs.vector == "-") takers.emplace_back("--output -");
  if (outputs.csv == "-") takers.emplace_back("--csv -");
  if (outputs.markdown == "-") takers.emplace_back("--md -");
  if (outputs.report == "-") takers.emplace_back("--report -");
  if (takers.size() < 2) return;
  const std::string_view name = takers.front().substr(0, takers.front().find(' '));
  throw UsageError(
      fmt::format("{} {} want standard output", fmt::join(takers, " and "), takers.size() == 2 ? "both" : "all"),
      fmt::format("give all but one of them a file: {}=FILE", name));
}

/// Whether a name keeps the promise of its suffix. A suffix begins with a letter: x_1.5 has none.
[[nodiscard]] bool suffix_is_kept(const std::string& path, const std::vector<std::string>& known) {
  const auto suffix_of = [](const std::filesystem::path& name) {
    const std::string text = name.extension().string();
    const bool word = text.size() > 1 && ((text[1] >= 'a' && text[1] <= 'z') || (text[1] >= 'A' && text[1] <= 'Z'));
    return word ? text : std::string();
  };
  const std::filesystem::path name = std::filesystem::path(path).filename();
  std::string suffix = suffix_of(name);
  if (suffix == ".gz") suffix = (suffix_of(name.stem()).empty() ? ".mtx" : suffix_of(name.stem())) + suffix;
  return suffix.empty() || std::find(known.begin(), known.end(), suffix) != known.end();
}

/// \throws UsageError for an output whose name promises a format that is not written
void check_suffix(const Options& options, std::string_view option) {
  const std::optional<std::string> path = options.text(option);
  // OUT of convert may have any name with --to.
  if (!path || *path == "-" || options.command() == Command::convert) return;
  const std::vector<std::string> known = alternatives(find_option(options.command(), option)->files);
  if (suffix_is_kept(*path, known)) return;
  throw UsageError(fmt::format("--{} {}: files of that suffix are not written", option, *path),
                   fmt::format("names that end in {} tell the format", fmt::join(known, ", ")));
}

[[nodiscard]] bool offered_on(Device::Kind kind, std::string_view name) {
  const auto kernels = spmv_algorithms(kind);
  return std::any_of(kernels.begin(), kernels.end(), [name](SpmvAlgorithm each) { return to_string(each) == name; });
}

/// \throws OptionError naming the kernels that the device has
void require_offered(SpmvAlgorithm algorithm, const Device& device) {
  const auto offered = spmv_algorithms(device);
  if (!names_kernel(algorithm)) return;
  if (std::find(offered.begin(), offered.end(), algorithm) != offered.end()) return;
  std::vector<std::string_view> names;
  for (const SpmvAlgorithm each : offered) names.push_back(to_string(each));
  const Device::Kind other = device.is_host() ? Device::Kind::cuda : Device::Kind::host;
  const std::string_view elsewhere = device.is_host() ? "cuda" : "host";
  throw OptionError(
      "spmv",
      fmt::format("kernel {} does not run on {}: known there are {}", to_string(algorithm), device.name(),
                  names.empty() ? std::string("none") : fmt::format("auto, measured, {}", fmt::join(names, ", "))),
      offered_on(other, to_string(algorithm)) ? fmt::format("--device {} has it", elsewhere) : std::string());
}

/// A kernel that only GPUs have decides an undecided device before the matrix is known. Without a GPU it is left to the
/// host, which refuses it.
void decide_by_kernel(MachineSettings& machine, SpmvOptions& spmv) {
  const ProductBackends backends = product_backends(spmv);
  if (backends.host || !backends.gpu) return;
  decide_device({.backends = backends}, machine, spmv);
}

/// Of the matrices; a solve in mixed precision reads them in fp64. Products of them have precisions of their own, whose
/// factors are in one of these.
Precision element_type(const Options& options) {
  if (options.command() == Command::spgemm) {
    constexpr Choices<Precision, 4> precisions{{{"fp64", Precision::fp64},
                                                {"fp32", Precision::fp32},
                                                {"fp16-fp32", Precision::fp64},
                                                {"3xtf32", Precision::fp32}}};
    return choice_option(options, "precision", precisions);
  }
  if (options.command() == Command::run) {
    constexpr Choices<Precision, 3> precisions{
        {{"fp64", Precision::fp64}, {"fp32", Precision::fp32}, {"mixed", Precision::fp64}}};
    return choice_option(options, "precision", precisions);
  }
  constexpr Choices<Precision, 2> precisions{{{"fp64", Precision::fp64}, {"fp32", Precision::fp32}}};
  return choice_option(options, "precision", precisions);
}

/// Of several devices (group_run.hpp) the first: they have the same kernels.
[[nodiscard]] std::string first_device(const Options& options, const std::string& device) {
  const bool takes_several = options.command() == Command::run || options.command() == Command::pagerank;
  if (!takes_several || !DeviceGroup::is_group(device)) return device;
  return device == "cuda:all" ? "cuda" : device.substr(0, device.find(','));
}

}  // namespace

MachineSettings machine_settings(const Options& options) {
  MachineSettings result;
  const std::string device = options.text("device").value_or("auto");
  try {
    result.device = Device::parse(first_device(options, device));
  } catch (const InvalidArgument&) {
    const std::vector<std::string> words = option_words(*find_option("device"));
    throw OptionError("device", fmt::format("option --device: expected auto, host, cuda or cuda:N, got \"{}\"", device),
                      did_you_mean(device, words));
  }
  constexpr std::int64_t most_threads = 4096;
  const std::int64_t threads = count_or_auto_option(options, "threads", 0, most_threads);
  // Reading and generating take the host's default number of threads.
  if (threads > 0) set_default_host_threads(static_cast<int>(threads));
  result.host = Device::host(static_cast<int>(threads));
  if (result.device.is_host()) result.device = result.host;
  const bool chooses = options.command() == Command::run || ranks_vertices(options.command());
  result.device_undecided = chooses && device == "auto";
  result.precision = element_type(options);
  if (options.given("mem-limit")) result.memory_limit_bytes = bytes_option(options, "mem-limit");
  const bool streams = options.command() == Command::run || options.command() == Command::pagerank;
  const bool limits_devices = !result.device.is_host() || DeviceGroup::is_group(device);
  result.limits_gpu = streams && limits_devices && result.memory_limit_bytes > 0;
  result.seed = static_cast<std::uint64_t>(count_option(options, "seed"));
  return result;
}

ColorMode color_setting(const Options& options) {
  constexpr Choices<ColorMode, 3> modes{
      {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}}};
  return choice_option(options, "color", modes);
}

OutputSettings output_settings(const Options& options) {
  OutputSettings result;
  result.vector = options.text("output");
  result.json = options.text("json");
  result.history = options.text("history");
  result.csv = options.text("csv");
  result.markdown = options.text("md");
  result.report = options.text("report");
  result.plot = options.flag("plot");
  result.plan_info = options.flag("plan-info");
  result.quiet = options.flag("quiet");
  result.verbosity = options.flag_count("verbose");
  result.exit_zero = options.flag("exit-zero");
  result.progress = progress_mode(options, result.quiet);
  result.width = terminal_width(result.stdout_taken() ? STDERR_FILENO : STDOUT_FILENO);
  if (result.quiet && result.verbosity > 0) throw UsageError("--quiet and --verbose contradict each other");
  require_one_stdout(result);
  for (const std::string_view name : {"output", "history", "report"}) check_suffix(options, name);
  if (result.history == "-") throw UsageError("--history needs a file; --json holds the history as well");
  return result;
}

VectorSettings rhs_settings(const Options& options) {
  using Kind = VectorSettings::Kind;
  const std::string text = options.text("rhs").value_or("Aones");
  if (text == "ones") return {Kind::ones, {}, 0};
  if (text == "Aones") return {Kind::a_ones, {}, 0};
  if (text == "Arandom") return {Kind::a_random, {}, 0};
  if (text == "random") return {Kind::random, {}, 0};
  constexpr std::string_view several = "random:";
  if (text.starts_with(several)) {
    const auto columns = parse_count(std::string_view(text).substr(several.size()));
    if (!columns || *columns < 1) refuse_text("rhs", text, "random:K with K right-hand sides, from 1");
    return {Kind::random, {}, 0, *columns};
  }
  constexpr std::string_view unit = "unit:";
  if (text.starts_with(unit)) {
    const auto index = parse_count(std::string_view(text).substr(unit.size()));
    if (!index || *index < 1) refuse_text("rhs", text, "unit:i with i from 1 to the number of rows");
    return {Kind::unit, {}, *index - 1};
  }
  refuse_mistyped_word("rhs", text, option_words(*find_option("rhs")));
  return {Kind::file, text, 0};
}

VectorSettings x0_settings(const Options& options) {
  using Kind = VectorSettings::Kind;
  const std::string text = options.text("x0").value_or("zero");
  if (text == "zero") return {Kind::zero, {}, 0};
  if (text == "rhs") return {Kind::rhs, {}, 0};
  if (text == "random") return {Kind::random, {}, 0};
  refuse_mistyped_word("x0", text, option_words(*find_option("x0")));
  return {Kind::file, text, 0};
}

Determinism determinism_setting(const Options& options) {
  constexpr Choices<Determinism, 3> classes{
      {{"none", Determinism::not_guaranteed}, {"run", Determinism::run_to_run}, {"gpu", Determinism::gpu_to_gpu}}};
  return choice_option(options, "determinism", classes);
}

SpmvOptions spmv_settings(const Options& options, MachineSettings& machine) {
  SpmvOptions result;
  const std::vector<std::string_view> known = kernel_names();
  result.algorithm = parse_spmv_algorithm(known[choose(options, "spmv", known)]);
  result.determinism = determinism_setting(options);
  result.device = machine.device;
  decide_by_kernel(machine, result);
  require_offered(result.algorithm, machine.device);
  return result;
}

RankingSettings ranking_settings(const Options& options) {
  return {options.text("labels").value_or(""), count_option(options, "top"), options.typed("top")};
}

VertexNames vertex_names(const RankingSettings& settings, std::int64_t vertices,
                         const std::vector<std::string>& labels) {
  if (!settings.labels.empty()) return read_labels(settings.labels, vertices);
  return labels.empty() ? VertexNames() : VertexNames(labels);
}

}  // namespace tessera::cli
