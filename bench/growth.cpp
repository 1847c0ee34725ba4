/// Growth of times with the number of rows, on ten structures that are no meshes. Measured on one thread of the host:
/// an operation at several sizes, in a process of its own that ends at a limit of time. An exponent is the slope of the
/// line of least squares through the logarithms of times over those of rows. Where matrices outgrow a
/// cache, linear work reaches exponents of 1.6: a check belongs to small sizes.
///
///   bench_growth --json results.json
///   bench_growth --sizes 20000,40000 --structures random,kkt --operations matching,ilutp
///   bench_growth --sizes 10000,20000,40000 --limit 3 --check 1.5
#include "bench/growth_operations.hpp"
#include "bench/report.hpp"
#include "core/stopwatch.hpp"
#include "support/machine.hpp"
#include "support/odd_structures.hpp"

#include <CLI/CLI.hpp>

#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

struct Settings {
  std::vector<std::int64_t> sizes{20'000, 40'000, 80'000, 160'000};
  std::vector<std::string> structures;
  std::vector<std::string> operations;
  double limit = 12.0;
  double time_limit = 1.0;
  double check = 0.0;
  std::uint64_t seed = 1;
  std::string json;
};

/// An operation on a structure that grows faster than others, and why.
struct KnownGrowth {
  std::string_view structure;
  std::string_view operation;
  std::string_view reason;
};
constexpr std::array<KnownGrowth, 15> known_growth{{
    {"hubs", "ilut", "matching"},
    {"hubs", "ilutp", "matching"},
    {"hubs", "spai", "n/10 rows read the n/10 entries of a hub"},
    {"hubs", "advice", "matching"},
    {"hubs", "ladder", "matching"},
    {"powerlaw", "advice", "AMD"},
    {"random", "ilut", "rows meet more candidates than they keep, the more the larger the matrix"},
    {"random", "ilutp", "as ilut"},
    {"random", "advice", "matching"},
    {"random", "ladder", "matching and set-up of factors do not watch the clock of the solve"},
    {"triangular", "ilut", "matching and AMD"},
    {"triangular", "ilutp", "matching and AMD"},
    {"triangular", "advice", "matching of the transpose, which takes longer than that of the rows"},
    {"triangular", "ladder", "as random"},
    {"kkt", "ilutp", "matching"},
}};

/// Null where the growth is not known.
const KnownGrowth* known(std::string_view structure, std::string_view operation) {
  const auto* const found = std::find_if(known_growth.begin(), known_growth.end(), [&](const KnownGrowth& one) {
    return one.structure == structure && one.operation == operation;
  });
  return found == known_growth.end() ? nullptr : found;
}

/// Times below it say nothing of growth.
constexpr double least_seconds = 0.002;

enum class Outcome { measured, over_limit, failed, crashed, skipped };

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 5> names{"measured", "over limit", "failed", "crashed", "skipped"};
  return names[static_cast<std::size_t>(outcome)];
}

struct Sample {
  Outcome outcome = Outcome::skipped;
  double seconds = 0.0;
  std::string text;  ///< why it failed, or what the work returned
};

/// Work returns its time and a text. It runs in a child process, within a limit on its own memory.
using Work = std::function<std::pair<double, std::string>()>;

/// Ends this process after so many seconds.
void limit_time(double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  ::setitimer(ITIMER_REAL, &timer, nullptr);
}

void limit_memory() {
  const auto bytes = static_cast<rlim_t>(support::memory_budget(0) / 2);
  const rlimit limit{bytes, bytes};
  if (bytes > 0) ::setrlimit(RLIMIT_AS, &limit);
}

[[noreturn]] void run_in_child(int pipe, double limit, const Work& work) {
  std::string answer;
  try {
    limit_memory();
    limit_time(limit);
    const auto [seconds, text] = work();
    answer = fmt::format("{:.9g} {}", seconds, text);
  } catch (const std::exception& error) {
    answer = fmt::format("failed {}", error.what());
  }
  const bool is_written = ::write(pipe, answer.data(), answer.size()) == static_cast<ssize_t>(answer.size());
  ::_exit(is_written ? 0 : 1);  // the buffers of the streams are the parent's
}

std::string read_all(int pipe) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(pipe, part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return text;
}

/// Forks, which asks for one thread in this process. \throws std::runtime_error where the system refuses
Sample run_apart(double limit, const Work& work) {
  std::array<int, 2> pipe{};
  std::fflush(nullptr);
  if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) run_in_child(pipe[1], limit, work);
  ::close(pipe[1]);
  const std::string answer = read_all(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGALRM) return {Outcome::over_limit, limit, {}};
    return {Outcome::crashed, 0.0, fmt::format("signal {}", signal)};
  }
  const std::size_t space = std::min(answer.find(' '), answer.size());
  const std::string text = answer.substr(std::min(space + 1, answer.size()));
  if (answer.empty() || answer.starts_with("failed ")) return {Outcome::failed, 0.0, text};
  return {Outcome::measured, std::stod(answer.substr(0, space)), text};
}

/// The least of some runs, which share the machine with other processes; one is enough where it is long.
Sample measure(const GrowthOperation& operation, const GrowthSubject& subject, double limit) {
  return run_apart(limit, [&] {
    constexpr double enough = 0.3;
    constexpr int most_runs = 7;
    const Stopwatch all;
    double least = std::numeric_limits<double>::infinity();
    for (int run = 0; run < most_runs && (run == 0 || all.seconds() < enough); ++run) {
      const Stopwatch watch;
      operation.run(subject);
      least = std::min(least, watch.seconds());
    }
    return std::pair(least, std::string());
  });
}

/// An operation on one structure, at all sizes.
struct Cell {
  std::string structure;
  std::string operation;
  std::vector<Sample> samples;
  std::optional<double> exponent;  ///< of three times that say something, or two of which one exceeds the limit
  bool is_lower_bound = false;     ///< the last time is the limit that it exceeded

  [[nodiscard]] bool is_over_limit() const {
    return std::any_of(samples.begin(), samples.end(),
                       [](const Sample& sample) { return sample.outcome == Outcome::over_limit; });
  }
  /// Crashed, or failed at one size alone, as for want of memory.
  [[nodiscard]] bool is_broken() const {
    const auto count = [this](Outcome outcome) {
      return std::count_if(samples.begin(), samples.end(),
                           [outcome](const Sample& sample) { return sample.outcome == outcome; });
    };
    return count(Outcome::crashed) > 0 || (count(Outcome::failed) > 0 && count(Outcome::measured) > 0);
  }
  [[nodiscard]] bool exceeds(double largest) const {
    return is_broken() || is_over_limit() || (exponent && *exponent > largest);
  }
};

double slope(const std::vector<std::pair<double, double>>& points) {
  const auto count = static_cast<double>(points.size());
  double mean_x = 0.0;
  double mean_y = 0.0;
  for (const auto& [x, y] : points) {
    mean_x += x / count;
    mean_y += y / count;
  }
  double covariance = 0.0;
  double variance = 0.0;
  for (const auto& [x, y] : points) {
    covariance += (x - mean_x) * (y - mean_y);
    variance += (x - mean_x) * (x - mean_x);
  }
  return covariance / variance;
}

void fit(const std::vector<std::int64_t>& sizes, Cell& cell) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const Sample& sample = cell.samples[k];
    const bool counts = sample.outcome == Outcome::measured || sample.outcome == Outcome::over_limit;
    if (!counts || sample.seconds < least_seconds) continue;
    points.emplace_back(std::log(static_cast<double>(sizes[k])), std::log(sample.seconds));
    cell.is_lower_bound = sample.outcome == Outcome::over_limit;
  }
  const std::size_t least_points = cell.is_lower_bound ? 2 : 3;
  if (points.size() >= least_points) cell.exponent = slope(points);
}

Cell measure_once(const GrowthOperation& operation, std::string_view structure,
                  const std::vector<GrowthSubject>& subjects, const Settings& settings) {
  Cell cell{.structure = std::string(structure), .operation = operation.name, .samples = {}, .exponent = {}};
  bool is_over = false;
  for (const GrowthSubject& subject : subjects) {
    cell.samples.push_back(is_over ? Sample{} : measure(operation, subject, settings.limit));
    is_over = is_over || cell.samples.back().outcome == Outcome::over_limit;
  }
  fit(settings.sizes, cell);
  return cell;
}

/// A check measures twice before it complains, since other processes may have had the machine.
Cell measure_cell(const GrowthOperation& operation, std::string_view structure,
                  const std::vector<GrowthSubject>& subjects, const Settings& settings) {
  Cell cell = measure_once(operation, structure, subjects, settings);
  const bool is_suspect = settings.check > 0.0 && cell.exceeds(settings.check);
  if (!is_suspect || known(structure, operation.name) != nullptr) return cell;
  Cell again = measure_once(operation, structure, subjects, settings);
  return again.exceeds(settings.check) ? cell : again;
}

/// "1.05", "> 1.70", or why there is none.
std::string exponent_text(const Cell& cell) {
  if (cell.exponent) return fmt::format("{}{:.2f}", cell.is_lower_bound ? "> " : "", *cell.exponent);
  if (cell.samples.front().outcome == Outcome::over_limit) return "limit";
  if (cell.is_broken()) return "broken";
  return cell.samples.back().outcome == Outcome::failed ? "refused" : "short";
}

void print(const Cell& cell) {
  fmt::print("  {:12} {:9}", cell.structure, cell.operation);
  for (const Sample& sample : cell.samples) {
    fmt::print(" {:>10}", sample.outcome == Outcome::measured ? fmt::format("{:.4f}", sample.seconds)
                                                              : std::string(to_string(sample.outcome)));
  }
  fmt::print("   {:>7}  {}\n", exponent_text(cell), cell.samples.back().text);
}

Json json_of(const Cell& cell) {
  Json row{{"structure", cell.structure}, {"operation", cell.operation}};
  for (const Sample& sample : cell.samples) {
    row["outcomes"].push_back(to_string(sample.outcome));
    row["seconds"].push_back(sample.outcome == Outcome::measured ? Json(sample.seconds) : Json());
  }
  if (!cell.samples.back().text.empty()) row["failure"] = cell.samples.back().text;
  row["exponent"] = cell.exponent ? Json(*cell.exponent) : Json();
  row["is_lower_bound"] = cell.is_lower_bound;
  if (const KnownGrowth* one = known(cell.structure, cell.operation)) row["known"] = one->reason;
  return row;
}

/// Operations by structures.
void print_table(const std::vector<Cell>& cells) {
  std::vector<std::string> structures;
  std::vector<std::string> operations;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Cell& cell : cells) {
    add(structures, cell.structure);
    add(operations, cell.operation);
  }
  fmt::print("\nexponents of times over rows; short: below {} s; limit: beyond it at the least size\n{:10}",
             least_seconds, "");
  for (const std::string& structure : structures) fmt::print(" {:>11}", structure);
  for (const std::string& operation : operations) {
    fmt::print("\n{:10}", operation);
    for (const std::string& structure : structures) {
      const auto found = std::find_if(cells.begin(), cells.end(), [&](const Cell& cell) {
        return cell.structure == structure && cell.operation == operation;
      });
      fmt::print(" {:>11}", found == cells.end() ? "-" : exponent_text(*found));
    }
  }
  fmt::print("\n\n");
}

/// The ladder under a limit of time, in one run.
struct LimitKept {
  std::string structure;
  Sample sample;

  [[nodiscard]] bool is_kept(double limit) const {
    return sample.outcome == Outcome::measured && sample.seconds <= 1.5 * limit;
  }
};

LimitKept keep_limit(std::string_view structure, const GrowthSubject& subject, const Settings& settings) {
  const Sample sample = run_apart(settings.limit + settings.time_limit, [&] {
    const Stopwatch watch;
    std::string status = climb_ladder(subject, settings.time_limit);
    return std::pair(watch.seconds(), std::move(status));
  });
  fmt::print("  {:12} {:9} {:10.3f}   {}\n", structure, "ladder", sample.seconds,
             sample.outcome == Outcome::over_limit ? "over limit" : sample.text);
  return {std::string(structure), sample};
}

Json json_of(const LimitKept& one, const Settings& settings) {
  Json row{{"structure", one.structure},
           {"rows", settings.sizes.back()},
           {"outcome", to_string(one.sample.outcome)},
           {"seconds", one.sample.seconds},
           {"kept", one.is_kept(settings.time_limit)},
           {"status", one.sample.text}};
  if (const KnownGrowth* reason = known(one.structure, "ladder")) row["known"] = reason->reason;
  return row;
}

/// Prints what is worse than it may be, and what is on the list of known growth without a need.
/// \returns whether nothing is worse
bool check(const std::vector<Cell>& cells, const std::vector<LimitKept>& limits, const Settings& settings) {
  if (settings.check == 0.0) return true;
  bool is_well = true;
  const auto judge = [&](std::string_view structure, std::string_view operation, bool is_bad, bool is_good,
                         const std::string& found, bool is_broken) {
    const bool is_known = known(structure, operation) != nullptr && !is_broken;
    if (is_bad && !is_known) fmt::print("FAILED: {}, {}: {}\n", structure, operation, found);
    if (is_good && is_known) fmt::print("take it off the list: {}, {}: {}\n", structure, operation, found);
    is_well = is_well && (!is_bad || is_known);
  };
  constexpr double nearly_linear = 1.2;
  for (const Cell& cell : cells) {
    judge(cell.structure, cell.operation, cell.exceeds(settings.check),
          cell.exponent && !cell.is_lower_bound && *cell.exponent < nearly_linear,
          fmt::format("exponent {} {}", exponent_text(cell), cell.samples.back().text), cell.is_broken());
  }
  for (const LimitKept& one : limits) {
    const bool is_kept = one.is_kept(settings.time_limit);
    judge(one.structure, "ladder", !is_kept, is_kept,
          fmt::format("{:.2f} s with a limit of {} s", one.sample.seconds, settings.time_limit), false);
  }
  return is_well;
}

std::vector<std::string> structure_names() {
  std::vector<std::string> names;
  for (const support::OddStructure& structure : support::odd_structures()) names.emplace_back(structure.name);
  return names;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names{"ladder"};
  for (const GrowthOperation& operation : growth_operations()) names.push_back(operation.name);
  return names;
}

bool is_wanted(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<GrowthSubject> subjects_of(std::string_view structure, const Settings& settings) {
  const Device device = Device::host(1);
  std::vector<GrowthSubject> subjects;
  for (const std::int64_t rows : settings.sizes) {
    auto matrix = std::make_shared<const Csr<double>>(support::odd_matrix(structure, rows, settings.seed));
    const MatrixStatistics facts = statistics(matrix->view(), device);
    subjects.push_back({std::move(matrix), facts, device});
  }
  return subjects;
}

bool run(const Settings& settings) {
  const Stopwatch watch;
  Json report = document("growth");
  report["sizes"] = settings.sizes;
  report["seed"] = settings.seed;
  report["limit_seconds"] = settings.limit;
  report["least_seconds"] = least_seconds;
  report["clock"] = "wall, one thread, the least of up to seven runs; of time_limits one run";
  report["time_limit_seconds"] = settings.time_limit;
  std::vector<Cell> cells;
  std::vector<LimitKept> limits;
  for (const support::OddStructure& structure : support::odd_structures()) {
    if (!is_wanted(settings.structures, structure.name)) continue;
    report["structures"][std::string(structure.name)] = structure.description;
    const std::vector<GrowthSubject> subjects = subjects_of(structure.name, settings);
    const bool is_square = subjects.front().facts.rows == subjects.front().facts.cols;
    for (const GrowthOperation& operation : growth_operations()) {
      if (!is_wanted(settings.operations, operation.name) || !(is_square || operation.takes_rectangles)) continue;
      cells.push_back(measure_cell(operation, structure.name, subjects, settings));
      print(cells.back());
      report["cells"].push_back(json_of(cells.back()));
    }
    if (is_square && is_wanted(settings.operations, "ladder")) {
      limits.push_back(keep_limit(structure.name, subjects.back(), settings));
      report["time_limits"].push_back(json_of(limits.back(), settings));
    }
    report["seconds"] = watch.seconds();
    write(report, settings.json);  // so that a run that is cut short leaves something
  }
  print_table(cells);
  return check(cells, limits, settings);
}

}  // namespace

}  // namespace tessera::bench

int main(int argc, char** argv) {
  ::setenv("OMP_NUM_THREADS", "1", 1);  // of the default device, too: no thread runs where the process forks
  tessera::bench::Settings settings;
  CLI::App app("Growth of times with the number of rows");
  app.add_option("--sizes", settings.sizes, "Numbers of rows, ascending")
      ->delimiter(',')
      ->check(CLI::Range(10, 100'000'000))
      ->capture_default_str();
  app.add_option("--structures", settings.structures, "These alone")
      ->delimiter(',')
      ->check(CLI::IsMember(tessera::bench::structure_names()));
  app.add_option("--operations", settings.operations, "These alone; ladder: the limits of time")
      ->delimiter(',')
      ->check(CLI::IsMember(tessera::bench::operation_names()));
  app.add_option("--limit", settings.limit, "Seconds of an operation at one size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--time-limit", settings.time_limit, "Seconds that the ladder is given at the largest size")
      ->capture_default_str();
  app.add_option("--check", settings.check, "Fail where an exponent exceeds this and is not known to");
  app.add_option("--seed", settings.seed, "Of the matrices")->capture_default_str();
  app.add_option("--json", settings.json, "Write the results here, after every structure");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::exit_code_of("bench_growth", [&] { return tessera::bench::run(settings); });
}
