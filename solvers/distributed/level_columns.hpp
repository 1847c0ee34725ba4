/// \file
/// The columns of one level of a hierarchy as a rank sees them: the elements that it needs of lower ranks, its own,
/// those of higher ranks. So columns ascend as in the whole matrix, rows are summed in the order of one device, and
/// stencils keep their relative columns.
#pragma once

#include "solvers/distributed/halo_columns.hpp"
#include "tessera/csr.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <vector>

namespace tessera::detail {

struct LevelColumns : HaloColumns {
  index_t lower = 0;  ///< elements of lower ranks, before the own ones
  index_t rows = 0;   ///< own
  [[nodiscard]] index_t size() const noexcept { return rows + static_cast<index_t>(halo.size()); }
};

/// Numbers the columns of a level: mark() the matrices that the rank multiplies by vectors of the level, number(), then
/// local().
class LevelColumnFinder {
 public:
  /// \param partition of the level
  LevelColumnFinder(const Partition& partition, int rank);

  /// All columns in which rows [first_row, last_row) have entries. Columns ascend in every row.
  template <class T>
  void mark(const CsrView<T>& matrix, index_t first_row, index_t last_row, const Device& host);
  /// All columns of the level.
  void mark_all();
  /// Once. O(columns)
  [[nodiscard]] LevelColumns number();
  /// Of a marked column or an own one. After number().
  [[nodiscard]] index_t local(index_t column) const {
    if (column >= first_ && column < last_) return lower_ + column - first_;
    return halo_.slot(column) + (column < first_ ? 0 : last_ - first_);
  }

 private:
  const Partition& partition_;
  int rank_;
  index_t first_;
  index_t last_;
  index_t lower_ = 0;
  HaloFinder halo_;
};

/// Rows [first_row, last_row) of a matrix on the host, in the columns of a rank. O(nnz of the rows)
/// \param columns numbered \param cols LevelColumns::size()
template <class T>
[[nodiscard]] Csr<T> rows_in_columns(const CsrView<T>& matrix, index_t first_row, index_t last_row,
                                     const LevelColumnFinder& columns, index_t cols, const Device& host);

}  // namespace tessera::detail
