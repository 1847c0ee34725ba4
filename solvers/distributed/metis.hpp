/// \file
/// METIS as it is loaded: its functions, without its header.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace tessera::detail
