/// \file
/// The columns of one level of a hierarchy as a rank sees them: the elements that it needs of lower ranks, its own,
/// those of higher ranks. So columns ascend as in the whole matrix, rows are summed in the order of one device, and
/// stencils keep their relative columns. Numbered where the matrices lie, on the host or a GPU.
#pragma once

#include "solvers/distributed/halo_columns.hpp"
#include "tessera/array.hpp"
#include "tessera/csr.hpp"
#include "tessera/several_devices.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::detail {

struct LevelColumns : HaloColumns {
  index_t lower = 0;  ///< elements of lower ranks, before the own ones
  index_t rows = 0;   ///< own
  [[nodiscard]] index_t size() const noexcept { return rows + static_cast<index_t>(halo.size()); }
};

/// Numbers the columns of a level: mark() the matrices that the rank multiplies by vectors of the level, number(), then
/// rows().
class LevelColumnFinder {
 public:
  /// \param partition of the level; outlives this \param device where the matrices lie
  LevelColumnFinder(const Partition& partition, int rank, const Device& device);

  /// All columns in which rows [first_row, last_row) have entries. Columns ascend in every row. O(nnz of the rows)
  template <class T>
  void mark(const CsrView<T>& matrix, index_t first_row, index_t last_row);
  /// All columns of the level.
  void mark_all();
  /// Once. O(columns)
  [[nodiscard]] LevelColumns number();

  /// Rows [first_row, last_row) of a matrix that was marked, or has own columns alone. After number(). O(nnz of the
  /// rows) \param matrix on a GPU it outlives the rows, which have its values \param cols LevelColumns::size()
  template <class T>
  [[nodiscard]] Csr<T> rows(const CsrView<T>& matrix, index_t first_row, index_t last_row, index_t cols) const;

 private:
  void renumber(std::span<const index_t> columns, std::span<index_t> own) const;

  const Partition& partition_;
  Device device_;
  int rank_;
  index_t first_;
  index_t last_;
  index_t lower_ = 0;
  HaloFinder on_host_;         ///< for matrices on the host
  Array<offset_t> on_device_;  ///< for those on a GPU: marks of the columns and one more, then numbers in the halo
};

}  // namespace tessera::detail

namespace tessera::cuda {

/// marks[c] = 1 for each column c outside [first, last).
void mark_halo(const Device& device, std::span<const index_t> columns, index_t first, index_t last,
               std::span<offset_t> marks);
/// The same for all columns, as many as there are marks.
void mark_whole_halo(const Device& device, index_t first, index_t last, std::span<offset_t> marks);
/// The marked columns, ascending. \param marks of the columns, and a 0; receives how many are marked before each
[[nodiscard]] std::vector<index_t> number_halo(const Device& device, std::span<offset_t> marks);
/// Columns of the level as those of a rank. \param numbers of number_halo() \param lower elements of lower ranks
void renumber_columns(const Device& device, std::span<const index_t> columns, std::span<const offset_t> numbers,
                      index_t first, index_t last, index_t lower, std::span<index_t> own);

}  // namespace tessera::cuda
