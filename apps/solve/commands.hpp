/// \file
/// The commands. Each returns the exit code and throws what main() turns into one.
#pragma once

#include "errors.hpp"
#include "options.hpp"
#include "outcome.hpp"

namespace tessera::cli {

[[nodiscard]] ExitCode run_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode compare_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode pagerank_command(const Options& options, const Invocation& invocation);
/// solve hits and solve katz.
[[nodiscard]] ExitCode centrality_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode inspect_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode convert_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode spgemm_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode report_command(const Options& options);
[[nodiscard]] ExitCode bench_command(const Options& options);
[[nodiscard]] ExitCode tune_command(const Options& options);
[[nodiscard]] ExitCode doctor_command(const Options& options, const Invocation& invocation);
[[nodiscard]] ExitCode list_command(const Options& options);
[[nodiscard]] ExitCode completion_command(const Options& options);
[[nodiscard]] ExitCode help_command(const Options& options);
/// --help of a command.
void show_help(Command command);
/// solve version, and --version of any command.
[[nodiscard]] ExitCode version_command(const Options& options);

}  // namespace tessera::cli
