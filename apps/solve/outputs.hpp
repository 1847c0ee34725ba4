/// \file
/// Files and standard output: checked before a long solve, written after it.
#pragma once

#include "errors.hpp"
#include "outcome.hpp"
#include "settings.hpp"

#include "tessera/multi_vector_file.hpp"
#include "tessera/report.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

/// Refuses outputs that could not be written later, that would overwrite an input, or that meet in one file.
/// \param inputs files that the run reads
/// \throws IoError for places that cannot be written; UsageError for collisions
void check_outputs(const OutputSettings& outputs, const std::vector<std::string>& inputs);

/// The files that a run reads: the matrix, `others` (those not empty) and the file of --config.
[[nodiscard]] std::vector<std::string> input_files(const Options& options, const ProblemSettings& problem,
                                                   const std::vector<std::string>& others = {});

/// \throws IoError when standard output does not take it (a full disk); ReaderGone when nobody reads it any more
void write_stdout(const std::string& text);

/// Runs `write`, which writes to standard output by the name /dev/stdout.
/// \throws ReaderGone in place of its IoError when nobody reads standard output any more
void write_through_stdout(const std::function<void()>& write);

/// A text for people: fitted to a terminal and coloured there. Throws as write_stdout.
void show(const std::string& text);

/// The solution, to a file or ("-") to standard output: .txt as one number per line, others as Matrix Market.
/// \throws IoError, InvalidMatrix for NaN
template <class T>
void write_solution(const std::string& path, std::span<const T> vector, const std::vector<std::string>& comments);
/// The same of several columns, which are not written as .txt.
template <class T>
void write_solution(const std::string& path, const MultiVector<T>& columns, const std::vector<std::string>& comments);

/// iteration,seconds,recurrence,true with an empty field where the true residual was not computed.
[[nodiscard]] std::string history_csv(const std::vector<HistoryEntry>& history);
/// The same of several right-hand sides, with their number, from 1, before each entry.
[[nodiscard]] std::string history_csv(const std::vector<ColumnOutcome>& columns);

/// How each output is made; called only where it was asked for.
struct Deliverables {
  std::function<void(const std::string& path)> write_vector;
  std::function<std::string()> history;
  std::function<std::string()> summary;
  std::function<std::string()> requested;  ///< printed in place of the summary with --quiet; may be empty
  std::function<std::string()> csv;
  std::function<std::string()> markdown;
  std::function<std::string(ExitCode)> json;  ///< told the exit code as far as it is known by then; a report shows it
  /// The history in lines of `width` characters, in Unicode or in ASCII; may be empty.
  std::function<std::string(std::size_t width, bool is_utf8)> plot;
};

/// Writes vector, history, CSV, Markdown, JSON, report, summary and plot.
/// \returns `code`, or bad_input when an output could not be written
[[nodiscard]] ExitCode deliver(const OutputSettings& settings, ExitCode code, const Deliverables& results);

}  // namespace tessera::cli
