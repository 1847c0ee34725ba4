/// \file
/// Keys by which the products of one row are sorted: by column, and at one column by place, the order of A's row.
#pragma once

#include "spgemm/cuda/row_batch.hpp"
#include "spgemm/esc/levels.hpp"

#include <cstdint>

namespace tessera::cuda {

/// \tparam Key of 32 bits where column and place fit into them (short_keys), else of 64
template <class Key>
struct PlaceKeys {
  /// Of what is no product; above all others.
  static constexpr Key none = ~Key{0};

  index_t first_column = 0;
  int place_bits = 0;

  [[nodiscard]] __device__ Key key(index_t column, int place) const {
    return static_cast<Key>(column - first_column) << place_bits | static_cast<Key>(place);
  }
  [[nodiscard]] __device__ Key column_part(Key key) const { return key >> place_bits; }
  [[nodiscard]] __device__ index_t column(Key key) const {
    return first_column + static_cast<index_t>(column_part(key));
  }
  [[nodiscard]] __device__ int place(Key key) const { return static_cast<int>(key & ((Key{1} << place_bits) - 1)); }
};

}  // namespace tessera::cuda
