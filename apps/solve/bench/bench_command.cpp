// `bench`: all runs of a plan, each in a process of its own, and tables of what came of them.
#include "bench_command.hpp"

#include "bench_results.hpp"
#include "bench_tables.hpp"
#include "isolated_run.hpp"

#include "commands.hpp"
#include "errors.hpp"
#include "interrupt.hpp"
#include "option_values.hpp"
#include "outputs.hpp"
#include "settings.hpp"
#include "terminal.hpp"

#include "support/machine.hpp"
#include "tessera/error.hpp"
#include "tessera/version.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

namespace tessera::cli {

namespace {

[[nodiscard]] TableFormat table_setting(const Options& options) {
  if (!options.given("table")) return TableFormat::text;
  constexpr Choices<TableFormat, 3> formats{
      {{"md", TableFormat::markdown}, {"csv", TableFormat::csv}, {"latex", TableFormat::latex}}};
  return choice_option(options, "table", formats);
}

/// Whatever all runs would refuse is refused once, before the first.
void require_sound(const Options& options) {
  static_cast<void>(rhs_settings(options));
  for (const char* name : {"rtol", "atol"}) {
    static_cast<void>(number_option(options, name, 0.0, std::numeric_limits<double>::max()));
  }
  static_cast<void>(count_option(options, "max-iters"));
  static_cast<void>(determinism_setting(options));
}

}  // namespace

BenchSettings bench_settings(const Options& options) {
  BenchSettings result;
  require_sound(options);
  result.words = options.words();
  result.summary = options.flag("summary");
  if (result.words.empty()) {
    throw UsageError(result.summary ? "--summary needs a file of runs" : "bench needs a folder, a list or matrices",
                     "solve bench FOLDER --methods auto,cg --json runs.jsonl");
  }
  if (options.flag("print-config") && result.words.size() > 1) {
    throw UsageError("a configuration names one folder, list or matrix, not " + std::to_string(result.words.size()));
  }
  result.configurations = bench_configurations(options);
  result.options = shared_options(options);
  constexpr std::int64_t most = 1000;
  result.repetitions = count_option(options, "repeat", 1, most);
  result.seconds = seconds_option(options, "max-time");
  if (options.given("mem-limit")) result.memory_limit_bytes = bytes_option(options, "mem-limit");
  constexpr Choices<BenchMeasure, 3> measures{
      {{"time", BenchMeasure::time}, {"cpu", BenchMeasure::cpu}, {"products", BenchMeasure::products}}};
  result.measure = choice_option(options, "measure", measures);
  result.format = table_setting(options);
  result.quiet = options.flag("quiet");
  result.json = options.text("json");
  if (result.summary && result.json) throw UsageError("--summary reads runs and writes none: --json does not apply");
  if (result.json == "-" && options.given("table")) {
    throw UsageError("--json and --table exclude each other on standard output", "--json=FILE");
  }
  if (result.format == TableFormat::text) result.width = terminal_width(STDOUT_FILENO);
  return result;
}

namespace {

/// What came of a run, for the line of progress.
[[nodiscard]] std::string outcome_text(const BenchRecord& record) {
  if (record.solved) {
    return fmt::format("solved, {} iterations, {:.4g} ms", record.iterations, record.setup_ms + record.solve_ms);
  }
  return record.reason.empty() ? record.status : fmt::format("{}: {}", record.status, record.reason);
}

/// A run that a limit ended is made again under a wider one.
[[nodiscard]] bool is_final(const BenchRecord& record, const BenchSettings& settings) {
  if (record.status == "time_limit") return record.limit_seconds >= settings.seconds;
  if (record.status == "memory_limit" || record.status == "out_of_memory") {
    return record.limit_bytes == settings.memory_limit_bytes ||
           (settings.memory_limit_bytes != 0 && record.limit_bytes > settings.memory_limit_bytes);
  }
  return true;
}

/// Every run of a plan, in its order, and what is known of each.
class Bench {
 public:
  Bench(const Options& options, const BenchSettings& settings, std::vector<BenchMatrix> matrices)
      : options_(options), settings_(settings), matrices_(std::move(matrices)) {
    if (settings.json && settings.json != "-") results_.emplace(*settings.json);
    if (!results_) return;
    for (const BenchRecord& record : results_->records()) {
      if (is_final(record, settings)) known_.insert_or_assign(record.key(), record);
    }
  }

  /// Makes the runs that are not known yet, until a signal arrives.
  void make_runs() {
    announce();
    for (std::int64_t repetition = 1; repetition <= settings_.repetitions; ++repetition) {
      for (const BenchMatrix& matrix : matrices_) {
        for (const BenchConfiguration& configuration : settings_.configurations) {
          if (interrupt_signal() != 0) return;
          make_run(matrix, configuration, repetition);
        }
      }
    }
  }

  [[nodiscard]] std::vector<BenchRecord> take_records() { return std::move(records_); }
  [[nodiscard]] std::size_t runs() const {
    return matrices_.size() * settings_.configurations.size() * static_cast<std::size_t>(settings_.repetitions);
  }

 private:
  void say(const std::string& text) const {
    if (!settings_.quiet) write_stderr(fitted(text, 0) + '\n');
  }

  void announce() {
    if (results_ && results_->was_cut()) {
      say(fmt::format("solve: the last line of {0} was cut off: it is in {0}.cut, and its run is made again",
                      *settings_.json));
    }
    std::size_t known = 0;
    for (std::int64_t repetition = 1; repetition <= settings_.repetitions; ++repetition) {
      for (const BenchMatrix& matrix : matrices_) {
        for (const BenchConfiguration& configuration : settings_.configurations) {
          if (known_.contains(planned(matrix, configuration, repetition).key())) ++known;
        }
      }
    }
    if (known > 0) say(fmt::format("solve: {} of {} runs are in {}", known, runs(), *settings_.json));
  }

  [[nodiscard]] BenchRecord planned(const BenchMatrix& matrix, const BenchConfiguration& configuration,
                                    std::int64_t repetition) const {
    BenchRecord record;
    record.matrix = matrix.name;
    record.identity = matrix.identity;
    record.configuration = configuration;
    record.options = settings_.options;
    record.repetition = repetition;
    record.version = build_.version;
    record.commit = build_.commit;
    record.cpu = cpu_;
    record.limit_seconds = settings_.seconds;
    record.limit_bytes = settings_.memory_limit_bytes;
    return record;
  }

  void make_run(const BenchMatrix& matrix, const BenchConfiguration& configuration, std::int64_t repetition) {
    BenchRecord record = planned(matrix, configuration, repetition);
    if (const auto known = known_.find(record.key()); known != known_.end()) {
      // Under the name that the matrix has now.
      records_.push_back(known->second);
      records_.back().matrix = matrix.name;
      return;
    }
    record.started = support::utc_now();
    const IsolatedRun run =
        run_isolated(run_options(options_, matrix, configuration), {settings_.seconds, settings_.memory_limit_bytes});
    if (run.end == IsolatedRun::End::interrupted) return;
    record = record_of(std::move(record), run);
    if (results_) results_->append(record);
    if (settings_.json == "-") write_stdout(line_text(record_json(record)) + '\n');
    records_.push_back(std::move(record));
    say(fmt::format("[{}/{}] {} {}: {}", records_.size(), runs(), matrix.name, to_string(configuration),
                    outcome_text(records_.back())));
  }

  const Options& options_;
  const BenchSettings& settings_;
  std::vector<BenchMatrix> matrices_;
  BuildInfo build_ = build_info();
  std::string cpu_ = support::cpu_name();
  std::optional<BenchResults> results_;
  std::map<std::string, BenchRecord> known_;
  std::vector<BenchRecord> records_;
};

[[nodiscard]] std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) throw IoError(fmt::format("cannot read {}", path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void show_table(const BenchTable& table, const BenchSettings& settings) {
  const std::string text = table_text(table, settings.format, settings.width);
  settings.format == TableFormat::text ? show(text) : write_stdout(text);
}

[[nodiscard]] ExitCode summarise(const BenchSettings& settings) {
  std::vector<BenchRecord> records;
  for (const std::string& path : settings.words) {
    for (BenchRecord& record : read_records(path, contents_of(path))) records.push_back(std::move(record));
  }
  show_table(bench_table(records, settings.measure), settings);
  return ExitCode::success;
}

/// A matrix that no run could read, or a run that crashed.
[[nodiscard]] ExitCode exit_code_of(const std::vector<BenchRecord>& records) {
  std::map<std::string, bool> unreadable;
  for (const BenchRecord& record : records) {
    const auto place = unreadable.emplace(record.matrix, true).first;
    place->second = place->second && record.status == "bad_input";
  }
  if (std::any_of(records.begin(), records.end(), [](const auto& record) { return record.status == "crashed"; })) {
    return ExitCode::internal_error;
  }
  const bool any = std::any_of(unreadable.begin(), unreadable.end(), [](const auto& each) { return each.second; });
  return any ? ExitCode::bad_input : ExitCode::success;
}

}  // namespace

ExitCode bench_command(const Options& options) {
  const BenchSettings settings = bench_settings(options);
  if (settings.summary) return summarise(settings);
  const auto seed = static_cast<std::uint64_t>(count_option(options, "seed"));
  std::vector<BenchMatrix> matrices = bench_matrices(settings.words, seed);
  OutputSettings outputs;
  if (settings.json != "-") outputs.json = settings.json;
  std::vector<std::string> inputs;
  for (const BenchMatrix& matrix : matrices) {
    if (matrix.is_file) inputs.push_back(matrix.name);
  }
  if (const auto config = options.guarded_config()) inputs.push_back(*config);
  check_outputs(outputs, inputs);

  Bench bench(options, settings, std::move(matrices));
  bench.make_runs();
  const std::size_t planned = bench.runs();
  const std::vector<BenchRecord> records = bench.take_records();
  const int signal = interrupt_signal();
  if (signal != 0) {
    keep_partial_results();
    const bool kept = settings.json && settings.json != "-";
    write_stderr(fmt::format("solve: {} after {} of {} runs; {}\n", interruption(), records.size(), planned,
                             kept ? "the same command goes on" : "with --json=FILE the same command would go on"));
  }
  const bool wants_table = settings.json != "-" && (!settings.quiet || options.given("table"));
  if (wants_table && !records.empty()) show_table(bench_table(records, settings.measure), settings);
  return signal == 0 ? exit_code_of(records) : exit_code_of(Status::interrupted, signal, false);
}

}  // namespace tessera::cli
