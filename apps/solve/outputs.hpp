/// \file
/// Files and standard output: checked before a long solve, written after it.
#pragma once

#include "settings.hpp"

#include "tessera/report.hpp"

#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

/// Refuses outputs that could not be written later, that would overwrite an input, or that meet in one file.
/// \param inputs files that the run reads
/// \throws IoError for places that cannot be written; UsageError for collisions
void check_outputs(const OutputSettings& outputs, const std::vector<std::string>& inputs);

/// \throws IoError when standard output does not take it (a full disk)
void write_stdout(const std::string& text);

/// The solution or the ranks, to a file or ("-") to standard output. \throws IoError, InvalidMatrix for NaN
template <class T>
void write_solution(const std::string& path, std::span<const T> vector, const std::vector<std::string>& comments);

/// iteration,seconds,recurrence,true with an empty field where the true residual was not computed.
[[nodiscard]] std::string history_csv(const std::vector<HistoryEntry>& history);

}  // namespace tessera::cli
