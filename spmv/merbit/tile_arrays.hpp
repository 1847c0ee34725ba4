/// \file
/// The tiles of a MERBIT plan on a GPU, for kernels that do more with row sums than a product does.
#pragma once

#include "spmv/merbit/product_cuda.hpp"

#include <cstdint>

namespace tessera::cuda {

/// As long as the kernel of the plan.
struct MerbitTileArrays {
  MerbitLayout layout = MerbitLayout::scalar;
  SnappedTileArrays snapped;  ///< unless the layout is `exact`
  ExactTileArrays exact;      ///< else
  bool share_rows = false;    ///< whether any row may lie in several tiles

  [[nodiscard]] bool are_exact() const { return layout == MerbitLayout::exact; }
  [[nodiscard]] std::int64_t count() const { return are_exact() ? exact.tiles : snapped.tiles; }

  /// function(tiles) with the arrays in use.
  template <class Function>
  void visit(Function&& function) const {
    if (are_exact()) {
      function(exact);
    } else {
      function(snapped);
    }
  }
};

}  // namespace tessera::cuda
