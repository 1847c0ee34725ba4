// `tune`: a search among configurations, why the best one is the best, and solve.toml.
#include "tune_command.hpp"

#include "tune_search.hpp"

#include "commands.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "settings.hpp"
#include "terminal.hpp"
#include "text_table.hpp"

#include "tessera/text_file.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <new>
#include <system_error>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

namespace tessera::cli {

TuneSettings tune_settings(const Options& options) {
  TuneSettings result;
  const ProblemSettings problem = problem_settings(options);
  if (problem.name == "-") {
    throw UsageError("tune reads a matrix more than once, so it takes none from standard input");
  }
  result.matrix.is_file = problem.source == Source::file;
  result.matrix.name = result.matrix.is_file ? problem.path : to_string(problem.generator);
  static_cast<void>(rhs_settings(options));
  static_cast<void>(determinism_setting(options));
  for (const char* name : {"rtol", "atol"}) {
    static_cast<void>(number_option(options, name, 0.0, std::numeric_limits<double>::max()));
  }
  result.budget_seconds = seconds_option(options, "budget");
  if (!std::isfinite(result.budget_seconds) || result.budget_seconds <= 0.0) {
    refuse_text("budget", *options.text("budget"), "a time such as 30s");
  }
  result.output = *options.text("output");
  result.force = options.flag("force");
  result.quiet = options.flag("quiet");
  return result;
}

namespace {

/// An empty directory that goes with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "solve-tune-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    try {
      std::error_code ignored;
      std::filesystem::remove_all(path_, ignored);
    } catch (const std::bad_alloc&) {
      // It stays where other temporary files do.
    }
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

void check_output(const TuneSettings& settings, const Options& options) {
  OutputSettings outputs;
  outputs.vector = settings.output;
  if (settings.output == "-") throw OptionError("output", "tune writes a file, not standard output");
  std::vector<std::string> inputs;
  if (settings.matrix.is_file) inputs.push_back(settings.matrix.name);
  if (const auto config = options.guarded_config()) inputs.push_back(*config);
  check_outputs(outputs, inputs);
  std::error_code ignored;
  if (std::filesystem::exists(settings.output, ignored) && !settings.force) {
    throw UsageError(fmt::format("{} exists", settings.output), "--force replaces it, -o names another file");
  }
}

/// Trials, the fastest first; those that did not solve the system in the order of trying.
[[nodiscard]] TextTable table_of(const std::vector<TuneTrial>& trials) {
  std::vector<const TuneTrial*> sorted;
  sorted.reserve(trials.size());
  for (const TuneTrial& trial : trials) sorted.push_back(&trial);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TuneTrial* a, const TuneTrial* b) { return a->ms() < b->ms(); });
  TextTable table{{{"", "configuration"}, {"", "ms"}, {"", "set-up", 2}, {"", "iterations", 1}, {"", "outcome"}}, {}};
  for (const TuneTrial* trial : sorted) {
    std::vector<std::string> cells{to_string(trial->candidate), "", "", "", trial->outcome};
    if (!trial->times.empty()) {
      cells[1] = short_number(trial->ms());
      cells[2] = short_number(trial->record.setup_ms);
      cells[3] = fmt::format("{}", trial->record.iterations);
    }
    constexpr std::size_t longest = 60;
    cells[4] = shortened(cells[4], longest);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// "direct, 1.76 ms; auto takes 1.79 ms".
[[nodiscard]] std::string verdict(const TuneSearch& search) {
  const TuneTrial& best = *search.best();
  const TuneTrial& automatic = search.trials().front();
  std::string text = fmt::format("{}, {} ms", to_string(best.candidate), short_number(best.ms()));
  if (&best == &automatic) return text + ": nothing that was tried is faster";
  return text + (automatic.times.empty() ? fmt::format("; auto: {}", automatic.outcome)
                                         : fmt::format("; auto takes {} ms", short_number(automatic.ms())));
}

[[nodiscard]] std::string report_text(const TuneSearch& search, const TuneSettings& settings) {
  std::string text = fmt::format("{}: {}\n", settings.matrix.name, to_string(search.facts()));
  text += aligned_text(table_of(search.trials()), terminal_width(STDOUT_FILENO)) + '\n';
  for (const std::string& note : search.notes()) text += note + '\n';
  if (search.best() != nullptr) text += fmt::format("{}: {}\n", settings.output, verdict(search));
  return text;
}

/// A line of TOML: basic strings escape what those of JSON do, and the character 127, which no setting has.
[[nodiscard]] std::string line_of(const std::string& key, const std::string& value) {
  return fmt::format("{} = {}\n", key, line_text(Json(value)));
}

[[nodiscard]] std::string configuration_text(const TuneSearch& search, const TuneSettings& settings,
                                             const Options& options) {
  const TuneTrial& best = *search.best();
  // A name may hold anything, a comment no line break: quoted as JSON.
  std::string text = fmt::format("# solve tune {}: {}, {}.\n# Set-up and solve: {}; {} configurations in {:.3g} s.\n",
                                 build_info().version, line_text(Json(settings.matrix.name)), to_string(search.facts()),
                                 verdict(search), search.trials().size(), search.seconds());
  const BenchConfiguration& configuration = best.candidate.configuration;
  text += line_of("method", configuration.method);
  // Direct factors take no other.
  if (configuration.method != "direct") text += line_of("precond", configuration.precond);
  text += line_of("spmv", configuration.kernel);
  for (const auto& [name, value] : best.candidate.more) text += line_of(name, value);
  for (const auto& [name, value] : shared_settings(options)) {
    // Those of the matrix, not of its kind.
    if (name == "rhs" || name == "duplicates" || name == "seed") continue;
    const auto& more = best.candidate.more;
    const bool is_tuned =
        std::any_of(more.begin(), more.end(), [&key = name](const auto& each) { return each.first == key; });
    if (!is_tuned) text += line_of(name, value);
  }
  return text;
}

}  // namespace

ExitCode tune_command(const Options& options) {
  const TuneSettings settings = tune_settings(options);
  check_output(settings, options);
  const ScratchFolder scratch;
  TuneSearch search(options, settings.matrix, settings.budget_seconds, scratch.path());
  if (const auto failure = search.inspect()) return *failure;
  search.search();
  stop_if_interrupted();
  if (search.best() != nullptr) write_text_file(settings.output, configuration_text(search, settings, options));
  if (!settings.quiet) show(report_text(search, settings));
  if (search.best() != nullptr) return ExitCode::success;
  write_stderr(fmt::format("solve: error: nothing solved {} within --budget {}, so {} was not written\n",
                           settings.matrix.name, *options.text("budget"), settings.output));
  return ExitCode::not_converged;
}

}  // namespace tessera::cli
