/// \file
/// Rankings as they are shown and written: the highest scores as lines, CSV and JSON, and whole score vectors.
#pragma once

#include "vertex_names.hpp"

#include "support/json_text.hpp"
#include "tessera/multi_vector_file.hpp"
#include "tessera/pagerank.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

/// The highest scores of one vector, in the units in which they are written.
struct Ranking {
  std::string title;              ///< "hubs", "1:2,34"; empty where there is one ranking
  std::vector<RankedVertex> top;  ///< descending; equal scores by ascending vertex
};

/// \param scores in the units in which they are written
template <class T>
[[nodiscard]] Ranking make_ranking(std::string title, std::span<const T> scores, std::int64_t top);

/// A line for each place: place, vertex, score, and the name where there is one.
[[nodiscard]] std::string ranking_rows(const Ranking& ranking, const VertexNames& names);
/// The same under a heading. \param score what the scores are: "rank" \param shown rankings at most; a line tells of
/// the others
[[nodiscard]] std::string ranking_tables(std::span<const Ranking> rankings, const VertexNames& names,
                                         std::string_view score, std::size_t shown);
/// The rows of all rankings for --quiet: with several, the number of the ranking comes first.
[[nodiscard]] std::string all_ranking_rows(std::span<const Ranking> rankings, const VertexNames& names);

/// "rank,id,name,score", numbers in full; with several rankings "vector,rank,id,name,score" with the number of the
/// vector, or its title where `by_title`.
[[nodiscard]] std::string rankings_csv(std::span<const Ranking> rankings, const VertexNames& names, bool by_title);

/// The list of the places: "vertex", "name" where there is one, and the score by its own name.
[[nodiscard]] support::Json ranking_json(const Ranking& ranking, const VertexNames& names, std::string_view score);

/// All scores, a column per ranking. A .csv file has a line "vertex,rank" per vertex, with names "vertex,name,rank",
/// and with several columns one field for each of `headings`; .txt has the columns of a line between blanks; others are
/// Matrix Market. \param headings as many as columns \throws IoError, InvalidMatrix for NaN
template <class T>
void write_scores(const std::string& path, const MultiVector<T>& scores, const VertexNames& names,
                  std::span<const std::string> headings, const std::vector<std::string>& comments);

}  // namespace tessera::cli
