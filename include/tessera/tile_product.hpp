/// \file
/// Products of matrices in bitmap tiles whose result stays in tiles, for chains and powers: no factor is cut into tiles
/// again, and no product is written as CSR (J. Zhang & L. Gruenwald, bmSPARSE, GRADES-NDA 2018; tSparse, Computers &
/// Electrical Engineering 88, 2020).
#pragma once

#include "tessera/spgemm.hpp"
#include "tessera/tile_matrix.hpp"

#include <vector>

namespace tessera {

/// A product in tiles and its report.
template <class T>
struct TileProduct {
  TileMatrix<T> matrix;
  SpgemmReport report;
};

/// C = A B in tiles: the positions of spgemm() of the same matrices in CSR, and its values within the bound of a sum in
/// any order (docs/tiles.md). On the host, and on a GPU for single precision, for a value that is not finite and where
/// options.determinism is gpu_to_gpu, its bits. Pattern matrices count as ones: their product holds counts.
/// \param a m x k \param b k x n; each on the host or on the device of the options, where C, m x n, will lie
/// \param options workflow `automatic` and `tiles` multiply tiles; any other one, and a product that tiles give up
/// (report.fallback says why), is formed in CSR between two conversions. The limit on memory counts all that is held
/// beside A and B. `accumulator`, `registers` and `short_rows` matter only in CSR.
/// \throws DimensionError; NotSupported for a factor on another device; InvalidArgument for options out of range;
///         OutOfMemory
/// O(pairs of tiles + scalar products).
template <class T>
[[nodiscard]] TileProduct<T> spgemm(const TileMatrix<T>& a, const TileMatrix<T>& b, const SpgemmOptions& options = {});

/// A^k in tiles and the reports of its products, in their order.
template <class T>
struct TilePower {
  TileMatrix<T> matrix;
  std::vector<SpgemmReport> products;
};

/// A^k with every power in tiles, in the order PowerOrder::binary of matrix_power() (tessera/spgemm.hpp), whose rules
/// on k, patterns and memory hold here too. \throws DimensionError for a rectangular matrix, InvalidArgument for
/// a negative k; else as spgemm()
template <class T>
[[nodiscard]] TilePower<T> matrix_power(const TileMatrix<T>& a, int k, const SpgemmOptions& options = {});

}  // namespace tessera
