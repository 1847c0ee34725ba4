/// \file
/// Entries of a Galerkin product R (A P) before it is formed, from HyperLogLog sketches of rows (P. Flajolet et al.,
/// AofA 2007): the sketch of a row of a product is the union of those of rows of its right factor.
#pragma once

#include "core/csr_pointers.hpp"
#include "solvers/amg/level_rows.hpp"
#include "spgemm/common/sketches.hpp"
#include "tessera/csr.hpp"

#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// Sketch of a set of columns; += unites.
struct alignas(16) ColumnSketch {
  static constexpr int registers = 32;
  static constexpr int registers_of_word = 4;
  std::uint32_t words[registers / registers_of_word] = {};

  TESSERA_HOST_DEVICE ColumnSketch& operator+=(const ColumnSketch& other) noexcept {
#ifdef __CUDA_ARCH__
    for (int w = 0; w < registers / registers_of_word; ++w) words[w] = __vmaxu4(words[w], other.words[w]);
#else
    sketch_merge<registers>(bytes(), other.bytes());
#endif
    return *this;
  }
  /// To the next integer.
  [[nodiscard]] TESSERA_HOST_DEVICE std::int64_t estimate() const noexcept {
    SketchSums sums;
    for (const std::uint32_t word : words) {
      for (int r = 0; r < registers_of_word; ++r) sums.add(word >> (8 * r) & 0xffU);
    }
    return static_cast<std::int64_t>(std::floor(corrected_estimate<registers>(sums) + 0.5));
  }

 private:
  [[nodiscard]] std::uint8_t* bytes() noexcept { return reinterpret_cast<std::uint8_t*>(words); }
  [[nodiscard]] const std::uint8_t* bytes() const noexcept { return reinterpret_cast<const std::uint8_t*>(words); }
};

/// Sketches of single columns.
struct SketchColumns {
  using Sums = NoSum;
  ColumnSketch* sketches;

  TESSERA_HOST_DEVICE void operator()(std::int64_t column, NoSum& /*sum*/) const {
    const SketchMark mark = sketch_mark<ColumnSketch::registers>(sketch_hash(static_cast<std::uint32_t>(column)));
    const std::uint32_t rank = mark.rank;
    ColumnSketch sketch;
    for (int r = 0; r < ColumnSketch::registers; ++r) {
      sketch.words[r / ColumnSketch::registers_of_word] |=
          r == mark.slot ? rank << (8 * (r % ColumnSketch::registers_of_word)) : 0U;
    }
    sketches[column] = sketch;
  }
};

struct EntryCount {
  std::int64_t entries = 0;
  TESSERA_HOST_DEVICE EntryCount& operator+=(const EntryCount& other) noexcept {
    entries += other.entries;
    return *this;
  }
};

/// Sketches of the rows of a matrix or a product, or else the sum of their sizes.
struct UniteSketches {
  using Sums = ColumnSketch;
  using Total = EntryCount;
  const offset_t* row_offsets;  ///< of the matrix, or the left factor
  const index_t* columns;
  const ColumnSketch* right;  ///< of its columns, or the rows of the right factor
  ColumnSketch* rows;         ///< null: sizes
  index_t most;               ///< entries of a row

  [[nodiscard]] TESSERA_HOST_DEVICE const offset_t* offsets() const { return row_offsets; }
  [[nodiscard]] TESSERA_HOST_DEVICE bool visits(index_t /*row*/) const { return true; }
  TESSERA_HOST_DEVICE void visit(index_t /*row*/, offset_t k, ColumnSketch& sketch) const {
    sketch += right[columns[k]];
  }
  TESSERA_HOST_DEVICE void finish(index_t row, const ColumnSketch& sketch, EntryCount& total) const {
    if (rows != nullptr) {
      rows[row] = sketch;
      return;
    }
    const std::int64_t estimate = sketch.estimate();
    total.entries += estimate < most ? estimate : most;
  }
};

/// Entries of R (A P) in the given rows of R, within some 10 % where these are many. O(nnz(R) + nnz(A) + nnz(P)) work,
/// 64 bytes per row of A. Waits.
template <class T>
[[nodiscard]] offset_t galerkin_size(const Device& device, const CsrView<T>& r, const CsrView<T>& a,
                                     const CsrView<T>& p, const RowRange& rows);

}  // namespace tessera::detail
