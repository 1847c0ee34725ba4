#include "outputs.hpp"

#include "errors.hpp"
#include "interrupt.hpp"
#include "report/report_page.hpp"
#include "terminal.hpp"

#include "tessera/error.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/text_file.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>
#include <system_error>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

namespace tessera::cli {

namespace {

namespace fs = std::filesystem;

[[nodiscard]] std::string error_text(int number) { return std::generic_category().message(number); }

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw IoError(fmt::format("cannot write {}: {}", path, reason));
}

/// Devices and pipes are opened as they are: replacing /dev/null by a file would be a calamity.
[[nodiscard]] bool is_special(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return !error && fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

void check_writable(const std::string& path) {
  std::error_code error;
  const fs::path target(path);
  if (path.empty()) refuse("\"\"", "the name is empty");
  if (fs::is_directory(target, error)) refuse(path, "it is a directory");
  if (fs::exists(target, error) && ::access(path.c_str(), W_OK) != 0) refuse(path, error_text(errno));
  if (is_special(path)) return;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) refuse(path, fmt::format("there is no directory {}", folder.string()));
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse(path, error_text(errno));
}

[[nodiscard]] bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return !is_special(a);
  return fs::absolute(a, error).lexically_normal() == fs::absolute(b, error).lexically_normal() && !is_special(a);
}

}  // namespace

void check_outputs(const OutputSettings& outputs, const std::vector<std::string>& inputs) {
  std::vector<std::pair<std::string, std::string>> files;
  if (outputs.vector && !outputs.vector_on_stdout()) files.emplace_back("--output", *outputs.vector);
  if (outputs.json && !outputs.json_on_stdout()) files.emplace_back("--json", *outputs.json);
  if (outputs.history) files.emplace_back("--history", *outputs.history);
  if (outputs.csv && outputs.csv != "-") files.emplace_back("--csv", *outputs.csv);
  if (outputs.markdown && outputs.markdown != "-") files.emplace_back("--md", *outputs.markdown);
  if (outputs.report && outputs.report != "-") files.emplace_back("--report", *outputs.report);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto& [option, path] = files[i];
    for (const std::string& input : inputs) {
      if (same_file(path, input)) throw UsageError(fmt::format("{} {} would overwrite an input", option, path));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (!same_file(path, files[j].second)) continue;
      throw UsageError(fmt::format("{} and {} name the same file {}", files[j].first, option, path));
    }
    check_writable(path);
  }
}

std::vector<std::string> input_files(const Options& options, const ProblemSettings& problem,
                                     const std::vector<std::string>& others) {
  std::vector<std::string> files;
  if (problem.source == Source::file) files.push_back(problem.path);
  for (const std::string& other : others) {
    if (!other.empty()) files.push_back(other);
  }
  if (const auto config = options.guarded_config()) files.push_back(*config);
  return files;
}

void write_stdout(const std::string& text) {
  const bool complete = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (complete && std::fflush(stdout) == 0) return;
  const int number = errno;
  if (number == EPIPE) throw ReaderGone();
  refuse("standard output", error_text(number));
}

void write_through_stdout(const std::function<void()>& write) {
  try {
    write();
  } catch (const IoError&) {
    pollfd output{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) throw ReaderGone();
    throw;
  }
}

void show(const std::string& text) { write_stdout(shown(text, STDOUT_FILENO)); }

namespace {

/// "0.5\n" for each element. \throws InvalidMatrix for NaN
template <class T>
[[nodiscard]] std::string lines_of(std::span<const T> vector) {
  std::string text;
  std::size_t number = 0;
  for (const T value : vector) {
    ++number;
    if (!std::isfinite(value)) throw InvalidMatrix(fmt::format("element {} of the vector is NaN or infinity", number));
    text += fmt::format("{}\n", value);
  }
  return text;
}

}  // namespace

template <class T>
void write_solution(const std::string& path, std::span<const T> vector, const std::vector<std::string>& comments) {
  if (path == "-") {
    write_stdout(format_vector(vector, comments));
  } else if (path.ends_with(".txt")) {
    write_text_file(path, lines_of(vector));
  } else {
    write_vector(path, vector, comments);
  }
}

namespace {

[[nodiscard]] std::string row_of(const HistoryEntry& entry) {
  std::string text = fmt::format("{},{},{},", entry.iteration, entry.seconds, entry.recurrence);
  if (!std::isnan(entry.true_residual)) text += fmt::format("{}", entry.true_residual);
  return text + '\n';
}

}  // namespace

std::string history_csv(const std::vector<HistoryEntry>& history) {
  std::string text = "iteration,seconds,recurrence,true\n";
  for (const HistoryEntry& entry : history) text += row_of(entry);
  return text;
}

std::string history_csv(const std::vector<ColumnOutcome>& columns) {
  std::string text = "column,iteration,seconds,recurrence,true\n";
  for (std::size_t j = 0; j < columns.size(); ++j) {
    for (const HistoryEntry& entry : columns[j].report.history) text += fmt::format("{},{}", j + 1, row_of(entry));
  }
  return text;
}

template <class T>
void write_solution(const std::string& path, const MultiVector<T>& columns, const std::vector<std::string>& comments) {
  if (columns.columns == 1) return write_solution(path, std::span<const T>(columns.elements), comments);
  if (path == "-") return write_stdout(format_multi_vector(columns, comments));
  write_multi_vector(path, columns, comments);
}

template void write_solution(const std::string&, const MultiVector<float>&, const std::vector<std::string>&);
template void write_solution(const std::string&, const MultiVector<double>&, const std::vector<std::string>&);
template void write_solution(const std::string&, std::span<const float>, const std::vector<std::string>&);
template void write_solution(const std::string&, std::span<const double>, const std::vector<std::string>&);

namespace {

[[nodiscard]] bool may_block(const std::string& path) { return path != "-" && is_special(path); }

/// Runs one output; its failure is told, and changes the exit code, but stops nothing.
template <class Write>
void attempt(ExitCode& code, const std::string& path, const Write& write) {
  try {
    std::optional<BlockingOutput> blocking;
    if (may_block(path)) blocking.emplace();
    write();
  } catch (const InvalidMatrix& error) {
    // A solution that holds NaN: the status of the solve says more than this failure.
    print_failure(classify(error));
    if (code == ExitCode::success) code = ExitCode::bad_input;
  } catch (const ReaderGone&) {
    // The status of the solve, or an output that failed, says more.
    if (code == ExitCode::success) code = ExitCode::reader_gone;
  } catch (const std::exception& error) {
    const Failure failure = classify(error);
    print_failure(failure);
    code = failure.code;
  }
}

void put_summary(const OutputSettings& settings, const std::string& text) {
  if (!settings.stdout_taken()) {
    show(text);
  } else if (settings.vector_on_stdout() || settings.verbosity > 0) {
    write_stderr(shown(text, STDERR_FILENO));
  }
}

/// To a file, or ("-") to standard output.
void put_text(const std::string& path, const std::string& text) {
  path == "-" ? write_stdout(text) : write_text_file(path, text);
}

/// The history where the summary goes, as wide as the terminal there.
void put_plot(const OutputSettings& settings, const Deliverables& results) {
  constexpr std::size_t usual_width = 80;
  const int descriptor = settings.stdout_taken() ? STDERR_FILENO : STDOUT_FILENO;
  const std::size_t width = terminal_width(descriptor);
  const std::string text = results.plot(width == 0 ? usual_width : width, locale_is_utf8());
  descriptor == STDOUT_FILENO ? write_stdout(text) : write_stderr(text);
}

}  // namespace

ExitCode deliver(const OutputSettings& settings, ExitCode code, const Deliverables& results) {
  if (settings.vector) attempt(code, *settings.vector, [&] { results.write_vector(*settings.vector); });
  if (settings.history) {
    attempt(code, *settings.history, [&] { write_text_file(*settings.history, results.history()); });
  }
  if (settings.csv) attempt(code, *settings.csv, [&] { put_text(*settings.csv, results.csv()); });
  if (settings.markdown) attempt(code, *settings.markdown, [&] { put_text(*settings.markdown, results.markdown()); });
  // One document for both: what is measured when it is made, such as memory, is the same in both.
  std::optional<std::string> document;
  const auto make_document = [&]() -> const std::string& {
    return document ? *document : document.emplace(results.json(code));
  };
  if (settings.json) attempt(code, *settings.json, [&] { put_text(*settings.json, make_document()); });
  if (settings.report) {
    attempt(code, *settings.report, [&] {
      put_text(*settings.report, report_page({{"", report::Json::parse(make_document())}}));
    });
  }
  const auto& text = settings.quiet ? results.requested : results.summary;
  if (text) attempt(code, "-", [&] { put_summary(settings, text()); });
  if (settings.plot && results.plot) attempt(code, "-", [&] { put_plot(settings, results); });
  return code;
}

}  // namespace tessera::cli
