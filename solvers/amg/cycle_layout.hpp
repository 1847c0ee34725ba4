/// \file
/// Matrices of the multigrid cycle in the memory of a GPU: row lists, sliced ELL or CSR, with 32-bit offsets.
#pragma once

#include "core/detail_namespace.hpp"
#include "solvers/amg/cycle_row_lists.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/device.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::cuda {

/// Rows per slice of sliced ELL: a warp.
inline constexpr int slice_rows = 32;

/// Entries that a lane loads before it needs the first.
inline constexpr int amg_entries_in_flight = 8;

/// Tiles of rows side by side that a block of a raking kernel takes.
inline constexpr unsigned amg_raked_tiles = 4;

/// Rows longer than this are summed by a block; one lane or a few would end long after all others.
inline constexpr offset_t amg_long_row = 512;

/// When a matrix of the cycle lies in which layout.
struct AmgLayoutTuning {
  /// Sliced ELL from so many rows on: below, several lanes per row end sooner than one. Lengths of rows are looked at
  /// from so many rows on.
  index_t least_sliced_rows = 20000;
  /// Sliced ELL up to so many entries per row: the lanes of a row gather neighbouring elements, those of a slice not.
  double most_sliced_mean = 40.0;
  /// Sliced ELL up to so many bytes per byte of CSR.
  double most_padding = 1.3;
  /// Sliced ELL and streamed CSR for rows no longer than this, since one thread adds up a row.
  offset_t longest_thread_row = amg_long_row;
  /// Streamed CSR from so many rows per multiprocessor on, up to this mean length.
  index_t least_streamed_rows = 256;
  double most_streamed_mean = 12.0;
  /// Rows are searched for lists from so many on: below, the waits of the search cost more than a solve gains.
  index_t least_listed_rows = 200000;
  /// Row lists and P of single precision: blocks take several tiles side by side from so many rows on. Measured at
  /// twice as many; the fewer blocks, the more of a GPU idles while the last ones end.
  index_t least_raked_rows = 1 << 22;
};

/// How the rows of a matrix are summed.
enum class AmgRowLayout {
  sliced_ell,  ///< slices of 32 rows in their order, padded to the longest row of the slice: a thread per row
  streamed,    ///< CSR: a block forms the products of 256 rows in order of storage, then a thread adds up a row
  lanes,       ///< CSR: 1 to 32 lanes per row
  listed,      ///< columns in lists that rows share, values there too or in sliced ELL: a thread per row
};

/// Lengths of the rows of a matrix.
struct AmgRowShape {
  index_t rows = 0;
  offset_t nnz = 0;
  offset_t slots = 0;    ///< of sliced ELL; 0 where nobody counted
  offset_t longest = 0;  ///< row, or a bound where nobody counted
  [[nodiscard]] double mean() const noexcept {
    return rows == 0 ? 0.0 : static_cast<double>(nnz) / static_cast<double>(rows);
  }
};

/// \param entry_bytes of a value and its column
[[nodiscard]] inline AmgRowLayout choose_row_layout(const AmgRowShape& shape, int entry_bytes, int multiprocessors,
                                                    const AmgLayoutTuning& tuning) noexcept {
  if (shape.slots == 0 || shape.longest > tuning.longest_thread_row) return AmgRowLayout::lanes;
  const double sliced = static_cast<double>(shape.slots) * entry_bytes;
  const double csr = static_cast<double>(shape.nnz) * entry_bytes + static_cast<double>(shape.rows) * 4.0;
  const bool is_addressable = shape.slots < offset_t{1} << 31;
  if (is_addressable && shape.mean() < tuning.most_sliced_mean && sliced < tuning.most_padding * csr) {
    return AmgRowLayout::sliced_ell;
  }
  const bool are_many = shape.rows >= offset_t{tuning.least_streamed_rows} * multiprocessors;
  return are_many && shape.mean() <= tuning.most_streamed_mean ? AmgRowLayout::streamed : AmgRowLayout::lanes;
}

/// Binary logarithm of the lanes per row of AmgRowLayout::lanes. Many rows: as many entries per lane as it has in
/// flight. Few rows: as many lanes as fill the GPU. \param threads that the GPU holds
[[nodiscard]] inline int row_lanes_log2(const AmgRowShape& shape, int entries_in_flight,
                                        std::int64_t threads) noexcept {
  const double mean = shape.mean();
  int log2 = 0;
  while (log2 < 5 && mean > 0.875 * entries_in_flight * (1 << log2)) ++log2;
  while (log2 < 5 && mean >= 2.0 * (1 << log2) && (std::int64_t{shape.rows} << log2) < threads) ++log2;
  return log2;
}

/// A matrix of the cycle.
template <class V>
class AmgDeviceMatrix {
 public:
  AmgDeviceMatrix() = default;
  /// \param name for the message of NotSupported \param may_list whether rows may share lists
  /// \throws NotSupported for 2^31 entries or more; OutOfMemory, CudaError
  template <class T>
  AmgDeviceMatrix(const Csr<T>& source, const std::string& name, const AmgLayoutTuning& tuning, bool may_list = false);

  /// Takes the values of a matrix of the same structure; memory and padding stay, unless values that rows shared now
  /// differ: they take memory of their own, once. \throws OutOfMemory, CudaError
  template <class T>
  void assign(const Csr<T>& source);

  [[nodiscard]] AmgRowLayout layout() const noexcept { return layout_; }
  [[nodiscard]] std::string_view layout_name() const noexcept {
    if (layout_ == AmgRowLayout::listed) return values_.empty() ? "row-templates" : "row-patterns";
    return layout_ == AmgRowLayout::sliced_ell ? "sliced-ell" : "csr";
  }
  [[nodiscard]] index_t rows() const noexcept { return rows_; }
  [[nodiscard]] int lanes_log2() const noexcept { return lanes_log2_; }
  [[nodiscard]] bool has_long_rows() const noexcept { return has_long_rows_; }
  [[nodiscard]] bool is_raked() const noexcept { return is_raked_; }
  /// Of rows, or of slices.
  [[nodiscard]] const std::uint32_t* offsets() const noexcept { return offsets_.data(); }
  [[nodiscard]] const index_t* columns() const noexcept { return columns_.data(); }
  [[nodiscard]] const V* values() const noexcept { return values_.data(); }
  [[nodiscard]] const AmgRowLists<V>& lists() const noexcept { return lists_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return offsets_.bytes() + columns_.bytes() + values_.bytes() + lists_.bytes();
  }

 private:
  template <class T>
  void give_values_slots(const Csr<T>& source);

  AmgRowLayout layout_ = AmgRowLayout::lanes;
  index_t rows_ = 0;
  int lanes_log2_ = 0;
  bool has_long_rows_ = false;  ///< whether there may be some
  bool is_raked_ = false;       ///< whether the kernels that can rake do
  std::int64_t staged_ = 0;     ///< entries of a slice that pass through shared memory when values come
  Array<std::uint32_t> offsets_;
  Array<index_t> columns_;
  Array<V> values_;
  AmgRowLists<V> lists_;  ///< none in the other layouts
};

}  // namespace tessera::cuda
