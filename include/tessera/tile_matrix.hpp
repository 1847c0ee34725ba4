/// \file
/// Bitmap tiles: a sparse matrix cut into 8 x 8 tiles, of which those with an entry are kept: a bitmap of 64 bits each
/// and packed values (J. Zhang & L. Gruenwald, bmSPARSE, GRADES-NDA 2018). Operands of products on tensor cores.
#pragma once

#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/types.hpp"

#include <cstdint>
#include <limits>
#include <span>

namespace tessera {

/// Rows, and columns, per tile.
inline constexpr index_t tile_size = 8;

/// A non-owning view of a matrix in tiles. Tile row I holds the tiles tile_row_offsets[I] ... tile_row_offsets[I+1]-1,
/// tile columns ascending and distinct; all indices 0-based. Bit 8 r + c of a bitmap stands for the entry in row r and
/// column c of its tile. The values of tile t begin at value_offsets[t], in the order of its bits (row by row).
template <class T>
struct TileView {
  index_t rows = 0;  ///< of the matrix, not of tiles
  index_t cols = 0;
  offset_t nnz = 0;
  ValueStorage storage = ValueStorage::weighted;
  std::span<const offset_t> tile_row_offsets;  ///< ceil(rows / 8) + 1 entries, the first 0, the last the tiles
  std::span<const index_t> tile_columns;       ///< one per tile, below ceil(cols / 8)
  std::span<const std::uint64_t> bitmaps;      ///< one per tile, never 0, no bit outside the matrix
  std::span<const offset_t> value_offsets;     ///< tiles + 1 entries, the first 0, the last nnz
  std::span<const T> values;                   ///< nnz entries, or none for a pattern matrix

  [[nodiscard]] index_t tile_rows() const noexcept { return rows / tile_size + (rows % tile_size != 0 ? 1 : 0); }
  [[nodiscard]] index_t tile_cols() const noexcept { return cols / tile_size + (cols % tile_size != 0 ? 1 : 0); }
  [[nodiscard]] offset_t tiles() const noexcept { return static_cast<offset_t>(tile_columns.size()); }
  [[nodiscard]] bool is_pattern() const noexcept { return storage == ValueStorage::pattern; }
};

/// Checks every invariant of a TileView on the host, O(rows / 8 + tiles), parallel over tile rows.
/// \throws InvalidMatrix naming the first offending tile row and tile, both counted from 0
template <class T>
void validate(const TileView<T>& matrix);

/// A matrix that owns its tiles. Immutable. A matrix that was moved from is the 0 x 0 matrix.
template <class T>
class TileMatrix {
 public:
  /// The 0 x 0 matrix.
  TileMatrix();
  TileMatrix(TileMatrix&& other) noexcept;
  TileMatrix& operator=(TileMatrix&& other) noexcept;
  TileMatrix(const TileMatrix&) = delete;
  TileMatrix& operator=(const TileMatrix&) = delete;
  ~TileMatrix() = default;

  /// Takes over the arrays, all of one device; arrays of a GPU are copied to the host for a full check. A pattern on a
  /// GPU waits for its number of nonzeros, the last of value_offsets.
  /// \param values nnz entries, or none for a pattern matrix
  /// \throws InvalidMatrix when the arrays break an invariant of TileView or a size exceeds 2^31 - 1
  TileMatrix(std::int64_t rows, std::int64_t cols, ValueStorage storage, Array<offset_t> tile_row_offsets,
             Array<index_t> tile_columns, Array<std::uint64_t> bitmaps, Array<offset_t> value_offsets, Array<T> values,
             Check check = Check::full);

  /// A copy on `target` (which may be the same device). \throws OutOfMemory, CudaError
  [[nodiscard]] TileMatrix to(const Device& target) const;

  [[nodiscard]] const Device& device() const noexcept { return tile_row_offsets_.device(); }
  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] index_t cols() const noexcept { return cols_; }
  [[nodiscard]] offset_t tiles() const noexcept { return tile_columns_.size(); }
  [[nodiscard]] offset_t nnz() const noexcept { return nnz_; }
  [[nodiscard]] bool is_pattern() const noexcept { return storage_ == ValueStorage::pattern; }
  /// nnz / (64 tiles): 1 for full tiles, at least 1/64; 0 without tiles.
  [[nodiscard]] double fill() const noexcept {
    return tiles() > 0 ? static_cast<double>(nnz_) / (64.0 * static_cast<double>(tiles())) : 0.0;
  }
  /// Of all arrays.
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return tile_row_offsets_.bytes() + tile_columns_.bytes() + bitmaps_.bytes() + value_offsets_.bytes() +
           values_.bytes();
  }
  [[nodiscard]] TileView<T> view() const noexcept {
    return {rows_,
            cols_,
            nnz_,
            storage_,
            tile_row_offsets_.span(),
            tile_columns_.span(),
            bitmaps_.span(),
            value_offsets_.span(),
            values_.span()};
  }

 private:
  index_t rows_ = 0;
  index_t cols_ = 0;
  offset_t nnz_ = 0;
  ValueStorage storage_ = ValueStorage::weighted;
  Array<offset_t> tile_row_offsets_;
  Array<index_t> tile_columns_;
  Array<std::uint64_t> bitmaps_;
  Array<offset_t> value_offsets_;
  Array<T> values_;
};

/// The matrix in tiles, on the device of the matrix. A pattern stays a pattern. O(nnz + rows) work, in parallel over
/// tile rows. \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] TileMatrix<T> to_tiles(const Csr<T>& matrix);

/// The matrix in CSR, on the device of the tiles: to_csr(to_tiles(A)) is A bit by bit. O(nnz + rows) work.
/// \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] Csr<T> to_csr(const TileMatrix<T>& matrix);

/// How much of a matrix estimate_tiles() looks at.
struct TileSample {
  index_t tile_rows = 512;  ///< at most so many tile rows, one at random in each of as many equal parts
  offset_t tiles = 128;     ///< at most so many tiles of each, the first ones
  /// Everything: the estimate is exact.
  [[nodiscard]] static constexpr TileSample all() noexcept {
    return {std::numeric_limits<index_t>::max(), std::numeric_limits<offset_t>::max()};
  }
};

/// What the tiles of a matrix would be.
struct TileEstimate {
  double tiles = 0.0;     ///< their number
  double fill = 0.0;      ///< nnz / (64 tiles)
  index_t tile_rows = 0;  ///< that were looked at
  /// Scalar products per product of two tiles of matrices of this fill, if their entries lie independently of each
  /// other: each of the 512 has both factors with probability fill^2.
  [[nodiscard]] double products_per_pair() const noexcept { return 512.0 * fill * fill; }
};

/// Tiles and fill from a sample of tile rows, the same on every device and in every run. O(sampled entries).
/// \param matrix valid, on `device` \throws OutOfMemory, CudaError
template <class T>
[[nodiscard]] TileEstimate estimate_tiles(const CsrView<T>& matrix, const Device& device = Device{},
                                          const TileSample& sample = {});

extern template class TileMatrix<float>;
extern template class TileMatrix<double>;
extern template void validate<float>(const TileView<float>&);
extern template void validate<double>(const TileView<double>&);

}  // namespace tessera
