/// \file
/// Sizes of MERBIT's layouts that may be measured against each other.
#pragma once

#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/policy_cuda.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::bench {

/// Some sizes of a layout. Row tiles are cut by the mean length of rows.
template <class T, class V>
struct Variant {
  std::string name;
  cuda::MerbitProduct<T, V> product;
  int row_steps = 0;  ///< of row tiles; 0 for tiles that may be walked
  bool few_rows = true;

  [[nodiscard]] TileRules rules(index_t rows, offset_t nnz) const {
    const int snap = cuda::choose_snap(rows, nnz);
    if (row_steps > 0) return row_tiles(nnz / std::max(rows, 1), row_steps, snap);
    return walkable_tiles(product.sigma, snap, few_rows);
  }
};

/// T in {float, double}; V in {T, Ones}.
template <class T, class V>
[[nodiscard]] std::vector<Variant<T, V>> merbit_variants();

/// Adds what tiles left open to the rows in which they end.
template <class T>
void join_shared_rows(const cuda::Context& context, const cuda::SnappedTileArrays& tiles,
                      const cuda::ProductOutput<T>& out);

}  // namespace tessera::bench
