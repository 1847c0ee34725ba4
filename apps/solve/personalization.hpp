/// \file
/// Personalization of PageRank: the distribution of jumps as --personalize names it.
#pragma once

#include "tessera/types.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::cli {

struct MachineSettings;

/// A vertex that jumps lead to.
struct WeightedVertex {
  std::int64_t vertex = 0;  ///< 0-based
  double weight = 1.0;      ///< finite and >= 0
};

/// A vector file, or a list of vertices; the vertices that a list does not name have weight 0.
struct Personalization {
  std::string file;                      ///< one weight per vertex; empty: `vertices`
  std::vector<WeightedVertex> vertices;  ///< as they were typed; distinct, at least one weight > 0
};

/// Understands "unit:5", "1,34", "1:2,34:1" (vertices count from 1; a vertex without a weight has 1), or the name of a
/// file. Text whose first item is a whole number is a list; ./5 names a file.
/// \throws OptionError naming the item for a vertex below 1 or given twice, and for a weight that is negative or not
///         finite; for weights that are all 0
[[nodiscard]] Personalization parse_personalization(const std::string& text);

/// One weight per vertex, not scaled.
/// \throws OptionError for a vertex that the graph does not have; what the reader of vectors throws, and InvalidMatrix
///         for a negative weight of a file or weights that are all 0
[[nodiscard]] std::vector<double> jump_weights(const Personalization& personalization, index_t vertices,
                                               const MachineSettings& machine);

}  // namespace tessera::cli
