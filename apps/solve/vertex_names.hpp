/// \file
/// Names of vertices: those of an edge list, or of the file of --labels.
#pragma once

#include "tessera/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::cli {

/// Names by vertex, and vertices by name. Without names, vertices are numbers from 1; a vertex goes by its number too
/// unless names are numbers.
class VertexNames {
 public:
  VertexNames() = default;
  /// \param names one per vertex; an empty one for a vertex that has none
  explicit VertexNames(std::vector<std::string> names);
  // The map refers to the names, which a move leaves where they are.
  VertexNames(VertexNames&&) noexcept = default;
  VertexNames& operator=(VertexNames&&) noexcept = default;
  VertexNames(const VertexNames&) = delete;
  VertexNames& operator=(const VertexNames&) = delete;
  ~VertexNames() = default;

  [[nodiscard]] bool empty() const noexcept { return names_.empty(); }
  /// Whether a name is a whole number, so that a number means a name and nothing else.
  [[nodiscard]] bool has_numbers() const noexcept { return has_numbers_; }
  /// Empty where the vertex has no name. \param vertex 0-based
  [[nodiscard]] std::string_view name(std::int64_t vertex) const {
    return names_.empty() ? std::string_view{} : std::string_view(names_[static_cast<std::size_t>(vertex)]);
  }
  /// The vertex of a name; `ambiguous` where several have it.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;
  static constexpr std::int64_t ambiguous = -1;
  /// "did you mean NAME?", or empty text.
  [[nodiscard]] std::string nearest(std::string_view name) const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, std::int64_t> vertices_;
  bool has_numbers_ = false;
};

/// Lines of a text file with their numbers, from 1: without line ends, blank lines left out.
/// \throws IoError when the file cannot be read
[[nodiscard]] std::vector<std::pair<std::int64_t, std::string>> read_lines(const std::string& path);

/// The file of --labels: one name per line, in the order of the vertices; where its name ends in .csv, lines
/// "id,name" with ids from 1 in any order, after a heading or without one. A name with a comma stands in double quotes,
/// a quote in it twice.
/// \throws IoError; ParseError for a file of another form, naming the line; DimensionError for another number of lines
[[nodiscard]] VertexNames read_labels(const std::string& path, std::int64_t vertices);

}  // namespace tessera::cli
