/// Columns of a level in ascending order: halo of lower ranks, own rows, halo of higher ranks.
#include "solvers/distributed/level_columns.hpp"

#include "core/parallel.hpp"
#include "core/row_slice.hpp"
#include "core/structure_passes.hpp"

#include <algorithm>
#include <utility>

namespace tessera::detail {

LevelColumnFinder::LevelColumnFinder(const Partition& partition, int rank, const Device& device)
    : partition_(partition),
      device_(device),
      rank_(rank),
      first_(partition.first_row(rank)),
      last_(partition.first_row(rank + 1)),
      on_host_(device.is_host() ? partition.rows() : 0),
      on_device_(device.is_host() ? 0 : std::int64_t{partition.rows()} + 1, Init::zero, device) {}

template <class T>
void LevelColumnFinder::mark(const CsrView<T>& matrix, index_t first_row, index_t last_row) {
  if (!device_.is_host()) {
    const auto begin = static_cast<std::size_t>(element(device_, matrix.row_offsets, first_row));
    const auto end = static_cast<std::size_t>(element(device_, matrix.row_offsets, last_row));
    return cuda::mark_halo(device_, matrix.columns.subspan(begin, end - begin), first_, last_, on_device_.span());
  }
  host::parallel_for(device_, std::int64_t{last_row} - first_row, [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(first_row + range.begin);
         i < static_cast<std::size_t>(first_row + range.end); ++i) {
      const auto begin = static_cast<std::size_t>(matrix.row_offsets[i]);
      const auto end = static_cast<std::size_t>(matrix.row_offsets[i + 1]);
      const std::span<const index_t> row = matrix.columns.subspan(begin, end - begin);
      const auto own_begin = std::lower_bound(row.begin(), row.end(), first_);
      const auto own_end = std::lower_bound(own_begin, row.end(), last_);
      on_host_.mark({row.begin(), own_begin});
      on_host_.mark({own_end, row.end()});
    }
  });
}

void LevelColumnFinder::mark_all() {
  if (!device_.is_host()) {
    const auto columns = static_cast<std::size_t>(partition_.rows());
    return cuda::mark_whole_halo(device_, first_, last_, on_device_.span().first(columns));
  }
  on_host_.mark_all(0, first_);
  on_host_.mark_all(last_, partition_.rows());
}

LevelColumns LevelColumnFinder::number() {
  LevelColumns result;
  if (device_.is_host()) {
    static_cast<HaloColumns&>(result) = on_host_.number(partition_);
  } else {
    result.halo = cuda::number_halo(device_, on_device_.span());
    result.find_offsets(partition_);
  }
  result.rows = last_ - first_;
  result.lower = lower_ = result.halo_offsets[static_cast<std::size_t>(rank_)];
  return result;
}

void LevelColumnFinder::renumber(std::span<const index_t> columns, std::span<index_t> own) const {
  if (!device_.is_host()) {
    return cuda::renumber_columns(device_, columns, on_device_.span(), first_, last_, lower_, own);
  }
  host::parallel_for(device_, static_cast<std::int64_t>(columns.size()), [&](host::Range range) {
    for (auto k = static_cast<std::size_t>(range.begin); k < static_cast<std::size_t>(range.end); ++k) {
      const index_t column = columns[k];
      const bool is_own = column >= first_ && column < last_;
      own[k] = is_own ? lower_ + column - first_ : on_host_.slot(column) + (column < first_ ? 0 : last_ - first_);
    }
  });
}

template <class T>
Csr<T> LevelColumnFinder::rows(const CsrView<T>& matrix, index_t first_row, index_t last_row, index_t cols) const {
  const index_t rows = last_row - first_row;
  RowSlice<T> slice = slice_rows(matrix, device_, first_row, rows);
  const auto nnz = static_cast<std::int64_t>(slice.view.columns.size());
  Array<index_t> own(nnz, Init::none, device_);
  renumber(slice.view.columns, own.span());
  if (matrix.is_pattern()) return Csr<T>::pattern(rows, cols, std::move(slice.offsets), std::move(own), Check::trusted);
  // A cycle on a GPU copies them into its layout; one on hosts keeps the matrix.
  const std::span<T> in_place{const_cast<T*>(slice.view.values.data()), static_cast<std::size_t>(nnz)};
  Array<T> values =
      device_.is_host() ? Array<T>::copy_of(slice.view.values) : Array<T>::adopt(in_place, nullptr, device_);
  return Csr<T>(rows, cols, std::move(slice.offsets), std::move(own), std::move(values), Check::trusted);
}

template void LevelColumnFinder::mark(const CsrView<float>&, index_t, index_t);
template void LevelColumnFinder::mark(const CsrView<double>&, index_t, index_t);
template Csr<float> LevelColumnFinder::rows(const CsrView<float>&, index_t, index_t, index_t) const;
template Csr<double> LevelColumnFinder::rows(const CsrView<double>&, index_t, index_t, index_t) const;

}  // namespace tessera::detail
