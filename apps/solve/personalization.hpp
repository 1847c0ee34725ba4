/// \file
/// Personalization of PageRank: the distributions of jumps as --personalize names them.
#pragma once

#include "vertex_names.hpp"

#include "tessera/types.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {

struct MachineSettings;

/// One distribution as it was typed, or one file of some.
struct Personalization {
  enum class Kind {
    list,         ///< vertices, with weights or without
    list_file,    ///< the same, one per line
    vector_file,  ///< one weight per vertex; several columns are several distributions
    words,        ///< names of vertices where the graph has some, else a vector file
  };
  Kind kind = Kind::list;
  std::string text;  ///< the list, or the file

  [[nodiscard]] bool is_file() const noexcept { return kind == Kind::list_file || kind == Kind::vector_file; }
};

/// Understands "unit:5", "1,34", "1:2,34:1" (a vertex without a weight has 1), "@FILE" (a file of such items, one
/// per line), and the name of a file of weights; several of them between semicolons. Text whose first item is a whole
/// number is a list; ./5 names a file.
/// \param may_have_names whether the graph may have names of vertices; without them lists are checked at once
/// \throws OptionError naming the item for a vertex below 1 or given twice, and for a weight that is negative or not
///         finite; for weights that are all 0
[[nodiscard]] std::vector<Personalization> parse_personalizations(const std::string& text, bool may_have_names);

/// A distribution, not scaled.
struct JumpWeights {
  std::string title;  ///< as it was typed
  std::vector<double> weights;
};

/// One or several distributions per personalization. A text is the name of a vertex before it is a number; where names
/// are numbers it is nothing else.
/// \throws OptionError for a vertex that the graph does not have, with the nearest name; ParseError for one in a file,
///         with its line; what the readers of vectors throw, and InvalidMatrix for a negative weight of a file or
///         weights that are all 0
[[nodiscard]] std::vector<JumpWeights> jump_weights(const std::vector<Personalization>& personalizations,
                                                    index_t vertices, const VertexNames& names,
                                                    const MachineSettings& machine);

}  // namespace tessera::cli
