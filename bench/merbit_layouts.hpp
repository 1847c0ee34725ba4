/// \file
/// Sizes of MERBIT's layouts that may be measured against each other.
#pragma once

#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/merbit_arrays.hpp"
#include "spmv/merbit/merbit_tuning.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::bench {

/// Some sizes of a layout.
template <class T, class V>
struct Variant {
  std::string name;
  cuda::MerbitProduct<T, V> product;
  detail::TileRules (*tiles)(index_t rows, offset_t nnz, int sigma) = nullptr;  ///< other than choose_tiles()

  [[nodiscard]] detail::TileRules rules(index_t rows, offset_t nnz) const {
    if (tiles != nullptr) return tiles(rows, nnz, product.sigma);
    if (product.sigma == 0) {
      return detail::row_tiles(nnz / std::max(rows, 1), product.max_items, cuda::choose_snap(rows, nnz));
    }
    return cuda::choose_tiles(rows, nnz, product.sigma, product.batch);
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
