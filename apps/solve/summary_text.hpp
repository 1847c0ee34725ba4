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
/// A line for each of the highest ranks: place, vertex, rank.
[[nodiscard]] std::string top_rows(const PageRankOutcome& outcome);

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
