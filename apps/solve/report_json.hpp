/// \file
/// The JSON documents of the commands that compute. Times in ms, sizes in bytes; keys are only ever added.
#pragma once

#include "options.hpp"
#include "outcome.hpp"

#include "support/json_text.hpp"

namespace tessera::cli {

using support::document_text;
using support::Json;
using support::line_text;
using support::number_or_null;
using support::put_number;

/// schema, tool, command, started, machine.
[[nodiscard]] Json document_head(const std::string& schema, const Invocation& invocation);

/// In a document with a head: the GPU that was used, null where the host did the work, and the threads of the host.
void put_machine(Json& json, const CommonOutcome& outcome);

/// The command, the matrix and every option of the command: its value, its source, and its place in a file. Such an
/// object is what --config takes from a document.
[[nodiscard]] Json config_json(const Options& options);

[[nodiscard]] Json matrix_json(const CommonOutcome& outcome);
/// Entries per cell of a grid, row by row; null without one.
[[nodiscard]] Json spy_json(const std::optional<SpyGrid>& grid);
[[nodiscard]] Json plan_json(const PlanInfo& plan);
/// With the peak of what this process held.
[[nodiscard]] Json memory_json(const MemoryUse& memory);
[[nodiscard]] Json warnings_json(const Warnings& warnings);

/// Head, machine, matrix, config and plan.
[[nodiscard]] Json common_json(const std::string& schema, const CommonOutcome& outcome, const Options& options,
                               const Invocation& invocation);

/// The iterations of one solve.
struct Iterations {
  std::int64_t count = 0;
  std::int64_t products = 0;
  offset_t nnz = 0;
  const std::vector<HistoryEntry>* history = nullptr;
};
/// History, times, rates, memory and warnings.
void put_tail(Json& json, const CommonOutcome& outcome, const Timings& timings, const Iterations& iterations);

/// \param code  the exit code that the program is going to return
[[nodiscard]] Json run_json(const RunOutcome& outcome, const Options& options, const Invocation& invocation,
                            ExitCode code);
[[nodiscard]] Json pagerank_json(const PageRankOutcome& outcome, const Options& options, const Invocation& invocation,
                                 ExitCode code);

/// Everything that timings_ms of a run names.
[[nodiscard]] double total_ms(const RunOutcome& outcome);

/// Rows of a long history that a document keeps: the first 100, the last 100, and log-spaced ones between them.
[[nodiscard]] std::vector<std::size_t> decimated_rows(std::size_t rows);

}  // namespace tessera::cli
