// Rows "systems" and "real" of bench_end_to_end: A x = b from a matrix on the host to a checked x there, as `solve
// A.mtx` does it by default; and the command itself, for its warnings, exit code and predicted memory.
#include "bench/end_to_end.hpp"
#include "core/stopwatch.hpp"
#include "support/system.hpp"
#include "tessera/array.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tessera/ladder.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/statistics.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace tessera::bench {

namespace {

[[nodiscard]] bool is_file(const EndToEndRow& row) { return row.area() == "real"; }

[[nodiscard]] std::string path_of(const EndToEndRow& row) {
  const char* folder = std::getenv("TESSERA_TEST_DATA");
  return std::string(folder == nullptr ? "." : folder) + "/" + row.input() + ".mtx.gz";
}

[[nodiscard]] std::shared_ptr<const Csr<double>> matrix_of(const EndToEndRow& row, std::uint64_t seed) {
  if (is_file(row)) return std::make_shared<const Csr<double>>(read_matrix_market<double>(path_of(row)).matrix);
  return std::make_shared<const Csr<double>>(generate<double>(parse_generator(row.input(), seed)));
}

/// A x = b with a known x, on the host.
struct KnownSystem {
  std::shared_ptr<const Csr<double>> matrix;
  std::vector<double> exact;
  std::vector<double> b;
};

[[nodiscard]] KnownSystem known_system(const EndToEndRow& row, std::uint64_t seed) {
  KnownSystem system;
  system.matrix = matrix_of(row, seed);
  // The x of `solve -b Arandom --seed SEED`.
  system.exact = support::random_vector<double>(system.matrix->cols(), seed);
  system.b = oracle_product(system.matrix->view(), system.exact);
  return system;
}

/// x of one solve, and its report.
struct Solution {
  std::vector<double> x;
  LadderReport ladder;
  std::string kernel;
  Determinism determinism = Determinism::not_guaranteed;
};

/// Statistics, plan, ladder; b goes to the device and x comes back.
void solve_once(const KnownSystem& system, const Device& device, double time_limit_seconds, Solution& solution) {
  solution.x.assign(static_cast<std::size_t>(system.matrix->cols()), 0.0);
  const MatrixStatistics facts = statistics(system.matrix->view());
  const SpmvPlan<double> plan(system.matrix, {.device = device});
  LadderOptions options;
  options.solver.time_limit_seconds = time_limit_seconds;
  if (device.is_host()) {
    solution.ladder = solve<double>(plan, facts, system.b, solution.x, options);
  } else {
    const auto b = Array<double>::copy_of(system.b, device);
    auto x = Array<double>::copy_of(solution.x, device);
    solution.ladder = solve<double>(plan, facts, b.span(), x.span(), options);
    detail::copy_bytes(Device{}, solution.x.data(), device, x.data(), x.bytes());
  }
  solution.kernel = to_string(plan.info().algorithm);
  solution.determinism = plan.info().determinism;
}

[[nodiscard]] const RungReport* last_rung(const LadderReport& ladder) {
  return ladder.rungs.empty() ? nullptr : &ladder.rungs[ladder.rung];
}

[[nodiscard]] Json choice_of(const Solution& solution) {
  std::string rungs;
  for (const RungReport& rung : solution.ladder.rungs) {
    rungs += fmt::format("{}{} {}", rungs.empty() ? "" : " > ", to_string(rung.plan.method), rung.plan.precond_name());
  }
  const RungReport* last = last_rung(solution.ladder);
  return {{"kernel", solution.kernel},
          {"method", last == nullptr ? "" : std::string(to_string(last->plan.method))},
          {"precond", last == nullptr ? "" : last->plan.precond_name()},
          {"rungs", rungs}};
}

[[nodiscard]] double relative_error(std::span<const double> x, std::span<const double> exact) {
  long double difference = 0.0L;
  long double norm = 0.0L;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double d = static_cast<long double>(x[i]) - exact[i];
    difference += d * d;
    norm += static_cast<long double>(exact[i]) * exact[i];
  }
  return static_cast<double>(std::sqrt(difference / norm));
}

/// The bound or estimate of the relative error that the solve claims; nothing where it claims none.
[[nodiscard]] std::optional<double> claim_of(const LadderReport& ladder) {
  const RungReport* rung = last_rung(ladder);
  if (rung == nullptr || !rung->error || !rung->error->is_known()) return std::nullopt;
  return rung->error->relative_error;
}

constexpr double tolerance = 1e-8;

/// Why a claim is false: a residual that `converged` denies, or an error far above the claim, or large and unspoken.
/// \param warnings of the command; nothing where it was not run
[[nodiscard]] std::string false_claim(const LadderReport& ladder, double residual, double error,
                                      const std::optional<std::vector<std::string>>& warnings) {
  if (!ladder.report.converged()) return {};
  constexpr double rounding = 1.001;
  if (!(residual <= tolerance * rounding)) {
    return fmt::format("converged, but ||b - A x|| / ||b|| = {:.2e}", residual);
  }
  const auto has = [&](std::string_view code) {
    return warnings && std::find(warnings->begin(), warnings->end(), code) != warnings->end();
  };
  if (has("W015") || has("W016")) return {};
  constexpr double allowance = 10.0;
  constexpr double floor = 1e-12;
  constexpr double large = 1e-3;
  const std::optional<double> claim = claim_of(ladder);
  if (claim && error > allowance * std::max(*claim, floor)) {
    return fmt::format("the relative error is {:.1e}, claimed {:.1e}", error, *claim);
  }
  if (!claim && error > large) return fmt::format("the relative error is {:.1e}, and nothing says so", error);
  return {};
}

/// A command that has ended.
struct EndedCommand {
  int exit_code = -1;  ///< -1 where a signal ended it
  std::string out;
  std::uint64_t peak_bytes = 0;  ///< largest resident size
};

/// \throws Error where the program cannot be started
[[nodiscard]] EndedCommand run_command(std::vector<std::string> words) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("no pipe");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addclose(&actions, ends[0]);
  ::posix_spawn_file_actions_addclose(&actions, ends[1]);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int code = ::posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  EndedCommand ended;
  char buffer[1 << 16];
  for (ssize_t got = 0; code == 0 && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    ended.out.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  if (code != 0) throw Error("cannot run " + words.front());
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (WIFEXITED(status)) ended.exit_code = WEXITSTATUS(status);
  ended.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return ended;
}

/// The words that make the command solve the system of a row.
[[nodiscard]] std::vector<std::string> command_of(const EndToEndRow& row, const EndToEndSettings& settings) {
  std::vector<std::string> words{settings.command};
  if (is_file(row)) {
    words.push_back(path_of(row));
  } else {
    words.insert(words.end(), {"--generate", row.input()});
  }
  words.insert(words.end(), {"--device", settings.device.is_host() ? "host" : settings.device.name(), "--seed",
                             std::to_string(settings.seed), "-b", "Arandom", "--max-time",
                             fmt::format("{:.0f}s", row.limit_seconds), "--json", "--progress", "none"});
  return words;
}

/// Warnings, exit code and memory of the command.
[[nodiscard]] std::optional<std::vector<std::string>> ask_command(const EndToEndRow& row,
                                                                  const EndToEndSettings& settings, Json& result) {
  const EndedCommand ended = run_command(command_of(row, settings));
  result["outcome"]["exit_code"] = ended.exit_code;
  if (settings.device.is_host()) result["memory"]["command_peak_bytes"] = ended.peak_bytes;
  const Json document = Json::parse(ended.out, nullptr, false);
  if (document.is_discarded() || !document.contains("warnings")) return std::nullopt;
  std::vector<std::string> warnings;
  for (const Json& warning : document["warnings"]) warnings.push_back(warning.value("code", ""));
  result["outcome"]["warnings"] = warnings;
  return warnings;
}

/// Memory that --dry-run foretells. \param rungs that were climbed: with one, later ones need none
void ask_forecast(const EndToEndRow& row, const EndToEndSettings& settings, std::size_t rungs, Json& result) {
  std::vector<std::string> words = command_of(row, settings);
  words.emplace_back("--dry-run");
  const Json forecast = Json::parse(run_command(words).out, nullptr, false);
  if (forecast.is_discarded() || !forecast.contains("memory_bytes")) return;
  const Json& bytes = forecast["memory_bytes"];
  const bool climbed = rungs > 1 && !bytes["climbing_peak"].is_null();
  result["memory"][settings.device.is_host() ? "command_predicted_bytes" : "device_predicted_bytes"] =
      climbed ? bytes["climbing_peak"] : bytes["peak"];
}

}  // namespace

Json measure_system(const EndToEndRow& row, const EndToEndSettings& settings) {
  const KnownSystem system = known_system(row, settings.seed);
  Json result{{"input", bits_of<double>(system.matrix->view(), system.b)}};
  Solution solution;
  std::vector<double> setup_ms;
  std::string first_bits;
  bool is_stable = true;
  const MemoryWatch memory(settings.device);
  std::vector<double> samples = repeat(
      settings, [&] { solve_once(system, settings.device, row.limit_seconds, solution); },
      [&] {
        const RungReport* rung = last_rung(solution.ladder);
        setup_ms.push_back(rung == nullptr ? 0.0 : rung->setup_ms);
        const std::string bits = bits_of<double>(std::span<const double>(solution.x));
        if (first_bits.empty()) first_bits = bits;
        is_stable = is_stable && bits == first_bits;
      });
  result["memory"] = memory.figures();
  result["samples_ms"] = samples;
  result["setup_ms"] = summarise(setup_ms).median;
  result["choice"] = choice_of(solution);
  const SolveReport& report = solution.ladder.report;
  const double residual = relative_residual(system.matrix->view(), system.b, solution.x);
  const double error = relative_error(solution.x, system.exact);
  // A method that does not watch the clock is lost, too, where it takes longer than the row allows.
  const bool is_in_time = samples.front() <= 1e3 * row.limit_seconds;
  const bool solved = report.converged() && residual <= tolerance * 1.001 && is_in_time;
  const std::optional<double> claim = claim_of(solution.ladder);
  result["outcome"] = {{"solved", solved},
                       {"status", is_in_time ? std::string(to_string(report.status)) : "beyond the limit of time"},
                       {"residual", support::number_or_null(residual)},
                       {"error", support::number_or_null(error)},
                       {"claim", claim ? support::number_or_null(*claim) : Json(nullptr)},
                       {"warnings", nullptr},
                       {"false_claim", nullptr},
                       {"exit_code", nullptr}};
  std::optional<std::vector<std::string>> warnings;
  if (!settings.command.empty() && solved) {
    // The command costs as much time again.
    constexpr double most_ms = 4000.0;
    if (samples.front() < most_ms) warnings = ask_command(row, settings, result);
    ask_forecast(row, settings, solution.ladder.rungs.size(), result);
  }
  const std::string claimed = false_claim(solution.ladder, residual, error, warnings);
  if (!claimed.empty()) result["outcome"]["false_claim"] = claimed;
  if (solution.determinism != Determinism::not_guaranteed) {
    result["bits"] = first_bits;
    result["bits_stable"] = is_stable;
  }
  return result;
}

}  // namespace tessera::bench
