/// \file
/// solve: sparse systems and graph ranking from the command line.

#include "bench/bench_command.hpp"
#include "bench/tune_command.hpp"
#include "calibration_file.hpp"
#include "centrality_command.hpp"
#include "choices_file.hpp"
#include "commands.hpp"
#include "compare_command.hpp"
#include "config.hpp"
#include "convert_command.hpp"
#include "engine.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_table.hpp"
#include "outputs.hpp"
#include "settings.hpp"
#include "spgemm_command.hpp"
#include "terminal.hpp"

#include "core/interruption.hpp"
#include "support/machine.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {

namespace {

/// What the command itself would refuse about its options, files aside.
void require_sound(const Options& options) {
  if (options.command() == Command::run) static_cast<void>(run_settings(options));
  if (options.command() == Command::run && uses_petsc(options)) require_petsc_options(options);
  if (options.command() == Command::pagerank) static_cast<void>(pagerank_settings(options));
  if (options.command() == Command::hits || options.command() == Command::katz) {
    static_cast<void>(centrality_settings(options));
  }
  if (options.command() == Command::compare) static_cast<void>(compare_settings(options));
  if (options.command() == Command::spgemm) static_cast<void>(spgemm_settings(options));
  if (options.command() == Command::convert) static_cast<void>(convert_settings(options));
  if (options.command() == Command::bench) static_cast<void>(bench_settings(options));
  if (options.command() == Command::tune) static_cast<void>(tune_settings(options));
}

[[nodiscard]] ExitCode work(const Options& options, const Invocation& invocation) {
  switch (options.command()) {
    case Command::run:
      return run_command(options, invocation);
    case Command::compare:
      return compare_command(options, invocation);
    case Command::pagerank:
      return pagerank_command(options, invocation);
    case Command::hits:
    case Command::katz:
      return centrality_command(options, invocation);
    case Command::inspect:
      return inspect_command(options, invocation);
    case Command::convert:
      return convert_command(options, invocation);
    case Command::spgemm:
      return spgemm_command(options, invocation);
    case Command::report:
      return report_command(options);
    case Command::bench:
      return bench_command(options);
    case Command::tune:
      return tune_command(options);
    case Command::doctor:
      return doctor_command(options, invocation);
    case Command::list:
      return list_command(options);
    case Command::completion:
      return completion_command(options);
    case Command::help:
      return help_command(options);
    case Command::version:
      return version_command(options);
  }
  return ExitCode::internal_error;
}

/// Whether kernels for a GPU may be chosen, in part by predicted times. doctor and inspect read calibrations
/// themselves.
[[nodiscard]] bool makes_plans(const Options& options) {
  switch (options.command()) {
    case Command::run:
    case Command::pagerank:
    case Command::hits:
    case Command::katz:
      return options.text("device") != "host";
    default:
      return false;
  }
}

[[nodiscard]] ExitCode dispatch(const Options& options, const Invocation& invocation) {
  if (options.flag("help")) {
    show_help(options.command());
    return ExitCode::success;
  }
  if (options.flag("version")) return version_command(options);
  if (options.flag("print-config")) {
    require_sound(options);
    write_stdout(config_text(options));
    return ExitCode::success;
  }
  std::optional<CalibrationFile> calibrations;
  if (makes_plans(options)) calibrations.emplace(options);
  const ChoicesFile choices(options);
  // Long work hears of signals.
  const detail::InterruptionScope until_signal(std::numeric_limits<double>::infinity(),
                                               [] { return interrupt_signal() == 0; });
  const ExitCode code = work(options, invocation);
  choices.keep();
  return code;
}

/// A value that came from elsewhere than the command line is refused with its place.
[[nodiscard]] ExitCode run_program(const std::vector<std::string>& arguments, const Invocation& invocation) {
  const Options options = resolve_options(arguments);
  try {
    choose_color(color_setting(options));
    return dispatch(options, invocation);
  } catch (const OptionError& error) {
    const Setting* setting = options.setting(error.option());
    if (setting == nullptr || setting->place.empty()) throw;
    throw UsageError(setting->place + ": " + error.what(), error.hint());
  }
}

/// A standard stream that the caller closed is opened on /dev/null: else the next file opened would take its number,
/// and messages would end up in a result. For reading only, so that a result written to it still fails as it should.
void occupy_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) != -1) continue;
    // The lowest free number is taken, and all lower ones are in use by now.
    static_cast<void>(::open("/dev/null", O_RDONLY));
  }
}

}  // namespace

}  // namespace tessera::cli

int main(int argc, char** argv) {
  using namespace tessera::cli;
  install_terminate_handler();
  try {
    Invocation invocation{std::vector<std::string>(argv, argv + argc), tessera::support::utc_now()};
    occupy_standard_streams();
    // A reader that went away is an output that cannot be written, not a reason to lose the others.
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    // A file that may not grow further is one too: "File too large".
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
    install_interrupt_handlers();
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    silence_copies(arguments);
    return exit_status(run_program(arguments, invocation));
  } catch (const std::bad_alloc&) {
    return exit_status(print_no_memory());
  } catch (const std::exception& error) {
    const Failure failure = classify(error);
    print_failure(failure);
    return exit_status(failure.code);
  }
}
