// Results of benchmarks as lines of JSON.
#include "bench_results.hpp"

#include "errors.hpp"

#include "tessera/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <system_error>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <string_view>
#include <thread>
#include <utility>

namespace tessera::cli {

namespace {

constexpr std::string_view schema = "solve.bench/1";

[[noreturn]] void fail(const std::string& path) {
  throw IoError(fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
}

[[nodiscard]] double number(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : BenchRecord::unknown;
}

/// Of a run that was refused or killed.
void take_end(const IsolatedRun& run, BenchRecord& record) {
  record.reason = error_of(run);
  switch (static_cast<ExitCode>(run.exit_code)) {
    case ExitCode::usage:
    case ExitCode::no_device:
      record.status = "refused";
      return;
    case ExitCode::bad_input:
      record.status = "bad_input";
      return;
    case ExitCode::out_of_memory:
      record.status = "out_of_memory";
      return;
    default:
      record.status = "crashed";
      if (run.signal == SIGKILL) record.reason = "killed by another process or for lack of memory";
      if (record.reason.empty()) record.reason = fmt::format("signal {}, exit code {}", run.signal, run.exit_code);
  }
}

/// Of a run whose solver came to an end, or was stopped.
void take_document(const Json& document, BenchRecord& record) {
  const Json& matrix = document.at("matrix");
  record.rows = matrix.at("rows");
  record.cols = matrix.at("cols");
  record.nnz = matrix.at("nnz");
  const Json& result = document.at("result");
  record.status = result.at("status");
  record.reason = result.at("reason");
  record.chosen = {result.at("method"), result.at("precond"), document.at("plan").at("kernel")};
  const Json& gpu = document.at("machine").at("gpu");
  record.device = gpu.is_null() ? "host" : gpu.at("name").get<std::string>();
  record.iterations = result.at("iterations");
  record.products = result.at("spmv_count");
  const Json& residual = result.at("residual");
  const double size = number(residual, "true");
  const double b_norm = number(residual, "b_norm");
  record.residual = b_norm > 0.0 ? size / b_norm : size;
  // Least squares converge to what residual there is.
  const bool meets_target = record.rows != record.cols || size <= number(residual, "target");
  record.solved = record.status == "converged" && meets_target;
  const Json& times = document.at("timings_ms");
  const double read_ms = number(times, "read");
  record.read_ms = std::isnan(read_ms) ? number(times, "generate") : read_ms;
  record.solve_ms = number(times, "solve");
  record.setup_ms =
      number(times, "upload") + number(times, "plan") + number(times, "precond_setup") + number(times, "download");
  if (times.contains("ladder_rest")) record.setup_ms += number(times, "ladder_rest");
}

[[nodiscard]] Json configuration_json(const BenchConfiguration& configuration) {
  return {{"method", configuration.method}, {"precond", configuration.precond}, {"kernel", configuration.kernel}};
}

[[nodiscard]] BenchConfiguration read_configuration(const Json& json) {
  return {json.at("method"), json.at("precond"), json.at("kernel")};
}

[[nodiscard]] BenchRecord read_record(const Json& json) {
  BenchRecord record;
  record.version = json.at("version");
  record.commit = json.at("commit");
  record.cpu = json.at("cpu");
  record.started = json.at("started");
  const Json& matrix = json.at("matrix");
  record.matrix = matrix.at("name");
  record.identity = matrix.at("identity");
  record.rows = matrix.at("rows");
  record.cols = matrix.at("cols");
  record.nnz = matrix.at("nnz");
  const Json& configuration = json.at("configuration");
  record.configuration = read_configuration(configuration);
  record.options = configuration.at("options");
  record.repetition = configuration.at("repetition");
  const Json& limits = json.at("limits");
  record.limit_seconds =
      limits.at("seconds").is_null() ? std::numeric_limits<double>::infinity() : limits.at("seconds").get<double>();
  record.limit_bytes = limits.at("bytes").is_null() ? 0 : limits.at("bytes").get<std::uint64_t>();
  const Json& result = json.at("result");
  record.status = result.at("status");
  record.solved = result.at("solved");
  record.reason = result.at("reason");
  record.chosen = read_configuration(result);
  record.device = result.at("device");
  record.iterations = result.at("iterations");
  record.products = result.at("products");
  record.residual = number(result, "residual");
  const Json& times = json.at("times_ms");
  record.read_ms = number(times, "read");
  record.setup_ms = number(times, "setup");
  record.solve_ms = number(times, "solve");
  record.wall_ms = number(times, "wall");
  record.cpu_ms = number(times, "cpu");
  record.peak_bytes = json.at("memory_bytes").at("peak_resident");
  return record;
}

[[nodiscard]] bool is_record(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  return json.is_object() && json.value("schema", "") == schema;
}

void write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// The last run of a bench that was killed holds the file until it has been ended, too.
void lock(int descriptor, const std::string& path) {
  constexpr int attempts = 40;
  constexpr std::chrono::milliseconds pause{50};
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return;
    std::this_thread::sleep_for(pause);
  }
  throw IoError(fmt::format("{}: another solve bench writes to it", path));
}

[[nodiscard]] std::string read_all(int descriptor, const std::string& path) {
  std::string text;
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t read = ::read(descriptor, piece.data(), piece.size());
    if (read < 0) throw IoError(fmt::format("cannot read {}: {}", path, std::generic_category().message(errno)));
    if (read == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(read));
  }
}

}  // namespace

std::string BenchRecord::key() const {
  return fmt::format("{}\n{} {} {}\n{}\n{}\n{} {}\n{}", identity.empty() ? matrix : identity, configuration.method,
                     configuration.precond, configuration.kernel, options, repetition, version, commit, cpu);
}

Json document_of(const IsolatedRun& run) {
  Json document = Json::parse(run.out, nullptr, false);
  return document.is_object() ? document : Json();
}

BenchRecord record_of(BenchRecord planned, const IsolatedRun& run) {
  BenchRecord record = std::move(planned);
  record.wall_ms = run.wall_ms;
  record.cpu_ms = run.cpu_ms;
  record.peak_bytes = run.peak_bytes;
  const Json document = document_of(run);
  if (document.is_object()) {
    take_document(document, record);
  } else {
    take_end(run, record);
  }
  if (run.end == IsolatedRun::End::time_limit) {
    record.status = "time_limit";
    record.reason = fmt::format("longer than {} s", record.limit_seconds);
    record.solved = false;
  } else if (run.end == IsolatedRun::End::memory_limit) {
    record.status = "memory_limit";
    record.reason = fmt::format("held more than {} bytes", record.limit_bytes);
  }
  return record;
}

Json record_json(const BenchRecord& record) {
  Json json{{"schema", schema},
            {"version", record.version},
            {"commit", record.commit},
            {"cpu", record.cpu},
            {"started", record.started}};
  json["matrix"] = {{"name", record.matrix},
                    {"identity", record.identity},
                    {"rows", record.rows},
                    {"cols", record.cols},
                    {"nnz", record.nnz}};
  json["configuration"] = configuration_json(record.configuration);
  json["configuration"]["options"] = record.options;
  json["configuration"]["repetition"] = record.repetition;
  json["limits"]["seconds"] = number_or_null(record.limit_seconds);
  json["limits"]["bytes"] = record.limit_bytes == 0 ? Json(nullptr) : Json(record.limit_bytes);
  Json result{{"status", record.status}, {"solved", record.solved}, {"reason", record.reason}};
  result.update(configuration_json(record.chosen));
  result["device"] = record.device;
  result["iterations"] = record.iterations;
  result["products"] = record.products;
  result["residual"] = number_or_null(record.residual);
  json["result"] = std::move(result);
  json["times_ms"] = {{"read", number_or_null(record.read_ms)},
                      {"setup", number_or_null(record.setup_ms)},
                      {"solve", number_or_null(record.solve_ms)},
                      {"wall", record.wall_ms},
                      {"cpu", record.cpu_ms}};
  json["memory_bytes"] = {{"peak_resident", record.peak_bytes}};
  return json;
}

std::vector<BenchRecord> read_records(const std::string& file, const std::string& text) {
  std::vector<BenchRecord> records;
  std::int64_t number = 0;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    ++number;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (!is_record(line)) throw ParseError(file, number, 1, "expected a line of solve bench --json");
    try {
      records.push_back(read_record(Json::parse(line)));
    } catch (const Json::exception& error) {
      throw ParseError(file, number, 1, fmt::format("not a whole run of solve bench: {}", error.what()));
    }
  }
  return records;
}

BenchResults::BenchResults(const std::string& path) : path_(path) {
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(path);
  try {
    struct stat facts = {};
    if (::fstat(descriptor_, &facts) == 0 && !S_ISREG(facts.st_mode)) return;  // a pipe or a device holds no runs
    lock(descriptor_, path);
    std::string text = read_all(descriptor_, path);
    repair(text);
    records_ = read_records(path, text);
  } catch (...) {
    static_cast<void>(::close(descriptor_));
    throw;
  }
}

BenchResults::~BenchResults() { static_cast<void>(::close(descriptor_)); }

void BenchResults::repair(std::string& text) {
  if (text.empty() || text.back() == '\n') return;
  const std::size_t start = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string line = text.substr(start);
  if (is_record(line)) {  // its end alone is missing
    write_all(descriptor_, "\n", path_);
    text += '\n';
    return;
  }
  static_cast<void>(read_records(path_, text.substr(0, start)));
  // Only what might have become a line of this file is cut off.
  const std::string beginning = line_text(Json{{"schema", schema}}).substr(0, line.size());
  const std::size_t compared = beginning.size() - (beginning.ends_with('}') ? 1 : 0);
  if (line.compare(0, compared, beginning, 0, compared) != 0 || Json::accept(line)) {
    const auto lines = std::count(text.begin(), text.end(), '\n');
    throw ParseError(path_, lines + 1, 1, "expected a line of solve bench --json");
  }
  const std::string aside = path_ + ".cut";
  const int kept = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (kept < 0) fail(aside);
  write_all(kept, line + '\n', aside);
  static_cast<void>(::close(kept));
  if (::ftruncate(descriptor_, static_cast<off_t>(start)) != 0) fail(path_);
  text.resize(start);
  was_cut_ = true;
}

void BenchResults::append(const BenchRecord& record) const {
  write_all(descriptor_, line_text(record_json(record)) + '\n', path_);
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL) fail(path_);  // pipes and devices have no disk
}

}  // namespace tessera::cli
