/// \file
/// Slices of a CSR matrix for the streamed product: how they are cut, and the bytes that cross the bus.
///
/// A slice holds consecutive rows. A row whose length is beyond that of short rows may be cut, at a multiple of the
/// length of its parts, so that the sums of parts, and with them every bit of a product, do not depend on the cuts. The
/// packed slice keeps, exactly, fewer bytes than CSR: 4 per row offset, counted from the beginning of the slice; 2 per
/// column where all columns are near their row; 4 per value of a double matrix whose values are all floats.
#pragma once

#include "core/detail_namespace.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera::detail {

enum class SliceColumns { full, relative };     ///< 4 bytes, or column - row in 2
enum class SliceValues { none, single, full };  ///< none: a pattern; single: float, exactly

/// How all slices of a matrix are packed.
struct SliceFormat {
  SliceColumns columns = SliceColumns::full;
  SliceValues values = SliceValues::full;

  [[nodiscard]] std::uint64_t column_bytes() const noexcept { return columns == SliceColumns::full ? 4 : 2; }
  /// \param element bytes of T
  [[nodiscard]] std::uint64_t value_bytes(std::size_t element) const noexcept {
    return values == SliceValues::none ? 0 : values == SliceValues::single ? sizeof(float) : element;
  }
  friend bool operator==(const SliceFormat&, const SliceFormat&) = default;
};

/// The fewest bytes that keep the matrix exactly. O(rows + nnz), in parallel. \param a on the host
template <class T>
[[nodiscard]] SliceFormat slice_format(const Device& host, const CsrView<T>& a);

/// A part of a long row: entries begin ... of the slice, up to the end of the row or of the part.
struct SlicePart {
  std::uint32_t row;    ///< of the slice
  std::uint32_t begin;  ///< entry of the slice
};

/// A row that is summed by parts.
struct SliceLongRow {
  std::uint32_t row;  ///< of the slice
  std::uint32_t first_part;
  std::uint32_t parts;
  std::uint32_t goes_on;  ///< 1: in the next slice
};

/// Where the sections of a packed slice begin, in bytes.
struct SliceLayout {
  std::uint64_t columns = 0;  ///< after rows + 1 offsets of 32 bits
  std::uint64_t values = 0;
  std::uint64_t parts = 0;
  std::uint64_t long_rows = 0;
  std::uint64_t bytes = 0;  ///< of the slice
};

struct Slice {
  index_t first_row = 0;
  std::uint32_t rows = 0;
  offset_t begin = 0;       ///< its first entry in the matrix
  offset_t end = 0;         ///< after its last entry
  bool continues = false;   ///< the first row began in the slice before
  bool is_open = false;     ///< the last row goes on in the next slice
  std::uint32_t parts = 0;  ///< of long rows
  std::uint32_t long_rows = 0;
  SliceLayout layout;

  [[nodiscard]] offset_t nnz() const noexcept { return end - begin; }
};

/// Which rows are long, and how they are cut.
struct LongRowRule {
  offset_t longer_than = 0;  ///< rows of more entries are summed by parts
  offset_t part = 0;         ///< entries of a part
};

/// Sections of a slice with so many of everything. \param element bytes of T
[[nodiscard]] SliceLayout slice_layout(std::uint64_t rows, std::uint64_t entries, std::uint64_t parts,
                                       std::uint64_t long_rows, const SliceFormat& format, std::size_t element);

/// Cuts a matrix into slices of at most `bytes`, in the order of its rows. O(rows).
/// \param bytes at least least_slice_bytes \param rule nothing: rows are never cut, and a slice holds at least one
template <class T>
[[nodiscard]] std::vector<Slice> cut_slices(const CsrView<T>& a, const SliceFormat& format, std::uint64_t bytes,
                                            const std::optional<LongRowRule>& rule);

/// Packs a slice. O(rows + entries) of the slice, in parallel. \param a on the host \param target layout.bytes of the
/// host, aligned to 8
template <class T>
void pack_slice(const Device& host, const CsrView<T>& a, const SliceFormat& format, const LongRowRule& rule,
                const Slice& slice, std::byte* target);

}  // namespace tessera::detail
