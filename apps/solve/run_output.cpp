#include "run_output.hpp"

#include "interrupt.hpp"
#include "outputs.hpp"
#include "report/history_plot.hpp"
#include "report_json.hpp"
#include "summary_text.hpp"

#include "core/stopwatch.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace tessera::cli {

ExitCode deliver_run(RunOutcome& outcome, const OutputSettings& output, const Options& options,
                     const Invocation& invocation, const SolutionWriter& write) {
  keep_partial_results();
  Deliverables results;
  results.write_vector = [&](const std::string& path) {
    const Stopwatch timer;
    write(path, {fmt::format("solution of {} with right-hand side {}: {}", outcome.problem, outcome.rhs,
                             to_string(outcome.report.status))});
    outcome.write_ms = timer.milliseconds();
  };
  results.history = [&] {
    return outcome.columns.empty() ? history_csv(outcome.report.history) : history_csv(outcome.columns);
  };
  results.summary = [&] { return run_summary(outcome, output); };
  results.plot = [&](std::size_t width, bool is_utf8) {
    // The target of least squares is one of ||A'r||.
    return history_plot(outcome.report.history, "||r||", outcome.least_squares ? 0.0 : outcome.report.target, width,
                        is_utf8);
  };
  results.json = [&](ExitCode code) { return document_text(run_json(outcome, options, invocation, code)); };
  return deliver(output, exit_code_of(outcome.report.status, interrupt_signal(), output.exit_zero), results);
}

}  // namespace tessera::cli
