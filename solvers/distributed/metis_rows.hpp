/// \file
/// Parts of a graph by METIS, and rows grouped by them.
#pragma once

#include "preprocess/symmetric_pattern.hpp"
#include "solvers/distributed/metis.hpp"
#include "tessera/metis_partition.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::detail {

/// The part of every vertex, as METIS finds them: a part may be empty. \param weights of the vertices, at least 1
/// \throws as metis_partition()
[[nodiscard]] std::vector<index_t> metis_parts(const Metis& metis, const SymmetricPattern& graph,
                                               std::span<const std::int64_t> weights, int parts);

/// Every part gets a vertex: an empty one the last of the part with the most. \param part_of at least `parts` vertices
void fill_empty_parts(std::span<index_t> part_of, int parts);

/// Vertices of a part together, in the order of `base` inside. \param base a permutation
[[nodiscard]] GroupedRows grouped_rows(std::span<const index_t> part_of, int parts, std::span<const index_t> base);

}  // namespace tessera::detail
