/// \file
/// METIS as it is loaded: its functions, without its header; parts of a graph by them, and rows grouped by parts.
#pragma once

#include "preprocess/symmetric_pattern.hpp"
#include "tessera/metis_partition.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera::detail {

/// Functions of METIS 5, whose numbers (idx_t) have 32 or 64 bits, as it was built. Pointers to them are opaque here.
struct Metis {
  std::string library;
  int index_bits = 0;
  int (*set_default_options)(void* options) = nullptr;
  /// Of the arguments only those have a type that do not depend on the width.
  int (*part_graph_kway)(void* vertices, void* constraints, void* offsets, void* neighbours, void* vertex_weights,
                         void* vertex_sizes, void* edge_weights, void* parts, float* target_weights, float* tolerances,
                         void* options, void* edge_cut, void* part_of) = nullptr;
};

/// Numbers in METIS's array of options, of every width.
inline constexpr int metis_option_count = 40;
/// What its numbers have, by what it writes. \returns 0 where that is neither 32 nor 64 bits
[[nodiscard]] int metis_index_bits(int (*set_default_options)(void* options));

/// Loaded once. \throws NotSupported naming the package
[[nodiscard]] const Metis& metis();

/// The part of every vertex, as METIS finds them: a part may be empty. \param weights of the vertices, at least 1
/// \throws as metis_partition()
[[nodiscard]] std::vector<index_t> metis_parts(const Metis& metis, const SymmetricPattern& graph,
                                               std::span<const std::int64_t> weights, int parts);

/// Every part gets a vertex: an empty one the last of the part with the most. \param part_of at least `parts` vertices
void fill_empty_parts(std::span<index_t> part_of, int parts);

/// Vertices of a part together, in the order of `base` inside. \param base a permutation
[[nodiscard]] GroupedRows grouped_rows(std::span<const index_t> part_of, int parts, std::span<const index_t> base);

}  // namespace tessera::detail
