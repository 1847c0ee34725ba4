/// \file
/// The summary for people: at most 12 lines, then the list of the highest ranks.
#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::cli {

[[nodiscard]] std::string run_summary(const RunOutcome& outcome, const OutputSettings& settings);
[[nodiscard]] std::string pagerank_summary(const PageRankOutcome& outcome, const OutputSettings& settings);

// Parts of the summary of a ranking.

[[nodiscard]] std::string graph_line(const CommonOutcome& outcome, offset_t edges, std::size_t width);
/// Kernel and device, and the plan where it was asked for.
[[nodiscard]] std::string kernel_lines(const CommonOutcome& outcome, const Timings& timings,
                                       const OutputSettings& settings);
/// "converged after 12 iterations", "max_iterations after 5 iterations: iteration limit 5 reached".
/// \param inequality what the last part of the reason begins with, which is left out
[[nodiscard]] std::string ending_text(Status status, const std::string& reason, std::int64_t iterations,
                                      const std::string& inequality);

/// One line of a summary: "status      converged".
[[nodiscard]] std::string line(std::string_view key, std::string_view text);
/// "1 restart", "2 restarts".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view noun);
/// The matrix as a summary names it: on a terminal without its folders.
[[nodiscard]] std::string shown_problem(const CommonOutcome& outcome, std::size_t width);
/// ", read from cache A.mtx.tsb", or nothing.
[[nodiscard]] std::string cache_text(const CommonOutcome& outcome);
/// "12.3 ms", "4.56 s".
[[nodiscard]] std::string time_text(double milliseconds);
/// "512 B", "1.2 MiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}  // namespace tessera::cli
