#include "ranking.hpp"

#include "outputs.hpp"

#include "tessera/error.hpp"
#include "tessera/text_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera::cli {

namespace {

/// A field of a CSV file, in quotes where it needs them.
[[nodiscard]] std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

[[nodiscard]] std::string heading_of(const VertexNames& names, std::string_view score) {
  return fmt::format("{:>5}  {:>10}  {}   (vertices count from 1)\n", "", "vertex",
                     names.empty() ? std::string(score) : fmt::format("{:<12}  name", score));
}

}  // namespace

template <class T>
Ranking make_ranking(std::string title, std::span<const T> scores, std::int64_t top) {
  return {std::move(title), top_ranks<T>(scores, top)};
}

std::string ranking_rows(const Ranking& ranking, const VertexNames& names) {
  std::string text;
  std::int64_t place = 0;
  for (const auto& [vertex, score] : ranking.top) {
    const std::string_view name = names.name(vertex);
    text += fmt::format("{:>5}  {:>10}  {:.6e}{}{}\n", ++place, std::int64_t{vertex} + 1, score,
                        name.empty() ? "" : "  ", name);
  }
  return text;
}

std::string ranking_tables(std::span<const Ranking> rankings, const VertexNames& names, std::string_view score,
                           std::size_t shown) {
  std::string text;
  for (const Ranking& ranking : rankings.first(std::min(shown, rankings.size()))) {
    if (ranking.top.empty()) continue;
    text += '\n';
    if (!ranking.title.empty()) text += ranking.title + ":\n";
    text += heading_of(names, score) + ranking_rows(ranking, names);
  }
  if (rankings.size() > shown) {
    text += fmt::format("\n{} rankings more: --csv FILE or --json\n", rankings.size() - shown);
  }
  return text;
}

std::string all_ranking_rows(std::span<const Ranking> rankings, const VertexNames& names) {
  if (rankings.size() == 1) return ranking_rows(rankings.front(), names);
  std::string text;
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    const std::string rows = ranking_rows(rankings[k], names);
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::size_t end = rows.find('\n', begin) + 1;
      text += fmt::format("{:>5}{}", k + 1, rows.substr(begin, end - begin));
      begin = end;
    }
  }
  return text;
}

std::string rankings_csv(std::span<const Ranking> rankings, const VertexNames& names, bool by_title) {
  const bool are_several = rankings.size() > 1;
  std::string text = are_several ? "vector,rank,id,name,score\n" : "rank,id,name,score\n";
  for (std::size_t k = 0; k < rankings.size(); ++k) {
    std::string first;
    if (are_several) first = by_title ? csv_field(rankings[k].title) + ',' : fmt::format("{},", k + 1);
    std::int64_t place = 0;
    for (const auto& [vertex, score] : rankings[k].top) {
      text += fmt::format("{}{},{},{},{}\n", first, ++place, std::int64_t{vertex} + 1, csv_field(names.name(vertex)),
                          score);
    }
  }
  return text;
}

support::Json ranking_json(const Ranking& ranking, const VertexNames& names, std::string_view score) {
  support::Json top = support::Json::array();
  for (const RankedVertex& entry : ranking.top) {
    support::Json item{{"vertex", std::int64_t{entry.vertex} + 1}};
    if (const std::string_view name = names.name(entry.vertex); !name.empty()) item["name"] = name;
    support::put_number(item, std::string(score), entry.rank);
    top.push_back(std::move(item));
  }
  return top;
}

namespace {

/// One line per vertex. \param is_csv with number and name, between commas
template <class T>
[[nodiscard]] std::string lines_of(const MultiVector<T>& scores, const VertexNames& names, bool is_csv) {
  std::string text;
  for (std::int64_t i = 0; i < scores.rows; ++i) {
    if (is_csv) {
      text += fmt::format("{},", i + 1);
      if (!names.empty()) text += csv_field(names.name(i)) + ',';
    }
    for (std::int64_t k = 0; k < scores.columns; ++k) {
      const T value = scores.elements[static_cast<std::size_t>(k * scores.rows + i)];
      if (!std::isfinite(value)) throw InvalidMatrix(fmt::format("element {} of the vector is NaN or infinity", i + 1));
      text += fmt::format("{}{}", k == 0 ? "" : is_csv ? "," : " ", value);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

template <class T>
void write_scores(const std::string& path, const MultiVector<T>& scores, const VertexNames& names,
                  std::span<const std::string> headings, const std::vector<std::string>& comments) {
  if (path.ends_with(".csv")) {
    const std::string heading = fmt::format("vertex,{}{}\n", names.empty() ? "" : "name,", fmt::join(headings, ","));
    return write_text_file(path, heading + lines_of(scores, names, true));
  }
  if (path.ends_with(".txt")) return write_text_file(path, lines_of(scores, names, false));
  write_solution(path, scores, comments);
}

template Ranking make_ranking(std::string, std::span<const float>, std::int64_t);
template Ranking make_ranking(std::string, std::span<const double>, std::int64_t);
template void write_scores(const std::string&, const MultiVector<float>&, const VertexNames&,
                           std::span<const std::string>, const std::vector<std::string>&);
template void write_scores(const std::string&, const MultiVector<double>&, const VertexNames&,
                           std::span<const std::string>, const std::vector<std::string>&);

}  // namespace tessera::cli
