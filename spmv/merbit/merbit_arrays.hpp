/// \file
/// What the kernels of MERBIT on a GPU read and write, and how the kernels of a layout are called.
#pragma once

#include "core/cuda/context.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/linear_operator.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The nonzeros, on the device.
template <class V>
struct MatrixArrays {
  const index_t* columns = nullptr;
  const V* values = nullptr;  ///< null for Ones
  offset_t nnz = 0;
};

/// Where snapped tiles lie.
struct SnappedTileArrays {
  const TileStart* starts = nullptr;
  const std::uint32_t* lane_words = nullptr;
  std::int64_t tiles = 0;

  /// Whether the row in which tile t begins may have begun before. \param t in [1, tiles]
  [[nodiscard]] TESSERA_HOST_DEVICE bool begins_inside(std::int64_t t) const { return starts[t].inside_row(); }
  [[nodiscard]] TESSERA_HOST_DEVICE index_t first_row(std::int64_t t) const { return starts[t].y(); }
};

/// Where the tiles of merbit-spmv.txt lie.
struct ExactTileArrays {
  const offset_t* tile_x = nullptr;
  const std::uint32_t* tile_y = nullptr;
  const std::uint32_t* lane_words_32 = nullptr;  ///< one of the two is null
  const std::uint64_t* lane_words_64 = nullptr;
  std::int64_t tiles = 0;
  int sigma = 0;
  index_t rows = 0;

  /// The tiles do not tell whether a row begins with them, so every one may share its first row.
  [[nodiscard]] TESSERA_HOST_DEVICE bool begins_inside(std::int64_t t) const { return first_row(t) < rows; }
  [[nodiscard]] TESSERA_HOST_DEVICE index_t first_row(std::int64_t t) const {
    return static_cast<index_t>(tile_y[t] & ~long_row_mark);
  }
};

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

/// The carries of a row that lies in several tiles: those of tiles [first, first + count).
struct CarryRun {
  index_t row = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< 0: no row that the tile ends began in an earlier one
};

/// In the order of the rows. O(tiles) work and scratch space; waits for the number of them. \throws OutOfMemory,
/// CudaError
[[nodiscard]] Array<CarryRun> find_carry_runs(const Device& device, const MerbitTileArrays& tiles);

/// Where row sums go. y = alpha A x + beta y with carries; without, y += A x in the shared rows, which must be zero,
/// y = A x in the others, and the shared rows of `other` are cleared.
template <class T>
struct ProductOutput {
  T* y = nullptr;
  T alpha = T{1};
  T beta = T{0};
  T* carries = nullptr;                 ///< one a tile, or null
  T* other = nullptr;                   ///< read only without carries
  const T* w = nullptr;                 ///< with inner products
  ProductDots* partial_dots = nullptr;  ///< with inner products: one a slot
};

/// Everything that a product reads. One of the two kinds of tiles is in use.
template <class T, class V>
struct ProductInput {
  MatrixArrays<V> matrix;
  SnappedTileArrays snapped;
  ExactTileArrays exact;
  const T* x = nullptr;
};

/// Blocks that a multiprocessor holds at a time, for layouts that start no more than that.
struct ResidentBlocks {
  int plain = 0;
  int with_dots = 0;
};

/// A layout for one pair of types. Launches go into the context's stream; the caller has made the device current.
template <class T, class V>
struct MerbitProduct {
  using Launch = void (*)(const Context&, const ResidentBlocks&, const ProductInput<T, V>&, const ProductOutput<T>&);

  int sigma = 0;      ///< 0 for exact: any; for rows: never walked
  int batch = 0;      ///< nonzeros that a warp loads together, where tiles should fit it
  int max_items = 0;  ///< path items of the longest tile of `rows`
  ResidentBlocks (*prepare)(const Context&) = nullptr;  ///< once, before the first launch
  Launch launch = nullptr;
  Launch launch_with_dots = nullptr;
  /// Entries of ProductOutput::partial_dots that launch_with_dots writes.
  std::int64_t (*dot_slots)(const Context&, const ResidentBlocks&, std::int64_t tiles) = nullptr;
};

/// T in {float, double}; V in {T, float, Ones}.
template <class T, class V>
[[nodiscard]] MerbitProduct<T, V> merbit_product(MerbitLayout layout);

}  // namespace tessera::cuda
