/// \file
/// Sections of a report, each from one document.
#pragma once

#include "report/document.hpp"
#include "report/html.hpp"
#include "report/svg.hpp"

#include <string>

namespace tessera::cli::report {

/// Why a document's run ended without success, and what to try; empty for a success.
[[nodiscard]] std::string cause_of(const Document& document, const std::string& label);

/// One sentence: how it ended.
[[nodiscard]] std::string outcome_of(const Document& document);

/// Sizes, symmetry, positions of the entries, row lengths.
[[nodiscard]] std::string matrix_section(const Json& document, const Json& matrix, const std::string& name);

/// Method, plan, preconditioner and ladder of a run, the ranks of pagerank, tables of compare and of a scoreboard; else
/// other_details().
[[nodiscard]] std::string details_of(const Document& document);
/// Of inspect and spgemm; of other documents each value that they hold.
[[nodiscard]] std::string other_details(const Document& document);

/// The scalars of an object, its keys as words.
[[nodiscard]] Facts scalars_of(const Json& object);

/// Tables of a comparison.
[[nodiscard]] std::string comparison_tables(const Json& json);
/// Two builds, or one that was recorded.
[[nodiscard]] std::string scoreboard_sections(const Json& json);

/// Ratio and its interval, which an item holds at `key`.
[[nodiscard]] Interval ratio_at(const Json& item, const std::string& key);

[[nodiscard]] std::string warnings_list(const Json& json);

/// Program, machine and settings.
[[nodiscard]] std::string environment_of(const Json& json);

}  // namespace tessera::cli::report
