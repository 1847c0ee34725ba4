/// \file
/// MERBIT on a GPU: what its kernels read and write, and how those of a layout are called.
#pragma once

#include "core/cuda/context.hpp"
#include "preprocess/merbit_tiles.hpp"
#include "preprocess/snapped_tiles.hpp"
#include "spmv/merbit/hub_columns.hpp"
#include "spmv/merbit/merbit_tuning.hpp"
#include "tessera/array.hpp"
#include "tessera/fused_operator.hpp"

#include <cstdint>

namespace tessera::cuda {

/// The nonzeros, on the device. \tparam Column index_t, or 16 bits for positions in a short list of columns
template <class V, class Column = index_t>
struct MatrixArrays {
  const Column* columns = nullptr;
  const V* values = nullptr;  ///< null for Ones
  offset_t nnz = 0;
};

/// Snapped tiles.
struct SnappedTileArrays {
  const TileStart* starts = nullptr;
  const std::uint32_t* lane_words = nullptr;
  std::int64_t tiles = 0;

  /// Whether the row in which tile t begins may have begun before. \param t in [1, tiles]
  [[nodiscard]] TESSERA_HOST_DEVICE bool begins_inside(std::int64_t t) const { return starts[t].inside_row(); }
  [[nodiscard]] TESSERA_HOST_DEVICE index_t first_row(std::int64_t t) const { return starts[t].y(); }
};

/// The tiles of MERBIT, §4.1.
struct ExactTileArrays {
  const offset_t* tile_x = nullptr;
  const std::uint32_t* tile_y = nullptr;
  const std::uint32_t* lane_words_32 = nullptr;  ///< one of the two is null
  const std::uint64_t* lane_words_64 = nullptr;
  std::int64_t tiles = 0;
  int sigma = 0;
  index_t rows = 0;

  /// The tiles do not record whether a row begins with them, so every tile may share its first row.
  [[nodiscard]] TESSERA_HOST_DEVICE bool begins_inside(std::int64_t t) const { return first_row(t) < rows; }
  [[nodiscard]] TESSERA_HOST_DEVICE index_t first_row(std::int64_t t) const {
    return static_cast<index_t>(tile_y[t] & ~long_row_mark);
  }
};

/// The tiles of a kernel, and its hub columns; valid as long as it.
struct MerbitTileArrays {
  MerbitLayout layout = MerbitLayout::scalar;
  SnappedTileArrays snapped;  ///< unless the layout is `exact`
  ExactTileArrays exact;      ///< else
  bool share_rows = false;    ///< whether any row may lie in several tiles
  HubArrays hubs;             ///< whose codes stand for columns; or none

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

/// The carries of a row that lies in several tiles: those of the tiles [first, first + count).
struct CarryRun {
  index_t row = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< 0: no row that ends in the tile began in an earlier one
};

/// All rows that lie in several tiles, in order. O(tiles) work and scratch memory; waits for their number.
/// \throws OutOfMemory, CudaError
[[nodiscard]] Array<CarryRun> find_carry_runs(const Device& device, const MerbitTileArrays& tiles);

/// Output of a product. With carries y = alpha A x + beta y. Without: y += A x in the shared rows, which must be zero;
/// y = A x in the other rows; and the shared rows of `other` are cleared.
template <class T>
struct ProductOutput {
  T* y = nullptr;
  T alpha = T{1};
  T beta = T{0};
  T* carries = nullptr;                 ///< one per tile, or null
  T* other = nullptr;                   ///< read only without carries
  const T* w = nullptr;                 ///< with inner products
  ProductDots* partial_dots = nullptr;  ///< with inner products: one per warp or block
};

/// Input of a product. One of the two kinds of tiles is in use.
template <class T, class V>
struct ProductInput {
  MatrixArrays<V> matrix;
  SnappedTileArrays snapped;
  ExactTileArrays exact;
  const T* x = nullptr;
  HubArrays hubs;       ///< whose codes are the columns of the matrix; or none
  T* packed = nullptr;  ///< room for packed x
};

/// Resident blocks per multiprocessor, for persistent layouts, which start no more.
struct ResidentBlocks {
  int plain = 0;
  int with_dots = 0;
};

/// The kernels of a layout for one pair of types. Launches go into the context's stream; the caller has made the device
/// current.
template <class T, class V>
struct MerbitProduct {
  using Launch = void (*)(const Context&, const ResidentBlocks&, const ProductInput<T, V>&, const ProductOutput<T>&);

  int sigma = 0;                                        ///< 0 for exact: any; for rows: never walked
  int batch = 0;                                        ///< nonzeros that a warp loads together, if tiles should fit it
  int max_items = 0;                                    ///< path items of the longest tile of `rows`
  ResidentBlocks (*prepare)(const Context&) = nullptr;  ///< once, before the first launch
  Launch launch = nullptr;
  Launch launch_with_dots = nullptr;
  /// Entries of ProductOutput::partial_dots that launch_with_dots writes.
  std::int64_t (*dot_parts)(const Context&, const ResidentBlocks&, std::int64_t tiles) = nullptr;
};

/// T in {float, double}; V in {T, float, Ones}. \param hubs whether columns are codes, in a layout that takes them; all
/// but `columns` take staged ones from the packed vector as well
template <class T, class V>
[[nodiscard]] MerbitProduct<T, V> merbit_product(MerbitLayout layout, HubStorage hubs = HubStorage::none);

}  // namespace tessera::cuda
