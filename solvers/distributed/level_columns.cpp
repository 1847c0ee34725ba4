/// Columns of a level in ascending order: halo of lower ranks, own rows, halo of higher ranks.
#include "solvers/distributed/level_columns.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <utility>

namespace tessera::detail {

LevelColumnFinder::LevelColumnFinder(const Partition& partition, int rank)
    : partition_(partition),
      rank_(rank),
      first_(partition.first_row(rank)),
      last_(partition.first_row(rank + 1)),
      halo_(partition.rows()) {}

template <class T>
void LevelColumnFinder::mark(const CsrView<T>& matrix, index_t first_row, index_t last_row, const Device& host) {
  host::parallel_for(host, std::int64_t{last_row} - first_row, [&](host::Range range) {
    for (auto i = static_cast<std::size_t>(first_row + range.begin);
         i < static_cast<std::size_t>(first_row + range.end); ++i) {
      const auto begin = static_cast<std::size_t>(matrix.row_offsets[i]);
      const auto end = static_cast<std::size_t>(matrix.row_offsets[i + 1]);
      const std::span<const index_t> row = matrix.columns.subspan(begin, end - begin);
      const auto own_begin = std::lower_bound(row.begin(), row.end(), first_);
      const auto own_end = std::lower_bound(own_begin, row.end(), last_);
      halo_.mark({row.begin(), own_begin});
      halo_.mark({own_end, row.end()});
    }
  });
}

void LevelColumnFinder::mark_all() {
  halo_.mark_all(0, first_);
  halo_.mark_all(last_, partition_.rows());
}

LevelColumns LevelColumnFinder::number() {
  LevelColumns result{halo_.number(partition_), 0, last_ - first_};
  result.lower = lower_ = result.halo_offsets[static_cast<std::size_t>(rank_)];
  return result;
}

template <class T>
Csr<T> rows_in_columns(const CsrView<T>& matrix, index_t first_row, index_t last_row, const LevelColumnFinder& columns,
                       index_t cols, const Device& host) {
  const std::int64_t rows = std::int64_t{last_row} - first_row;
  const offset_t begin = matrix.row_offsets[static_cast<std::size_t>(first_row)];
  const offset_t nnz = matrix.row_offsets[static_cast<std::size_t>(last_row)] - begin;
  Array<offset_t> offsets(rows + 1, Init::none);
  host::parallel_for(host, rows + 1, [&](host::Range range) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      offsets[i] = matrix.row_offsets[static_cast<std::size_t>(first_row + i)] - begin;
    }
  });
  Array<index_t> own(nnz, Init::none);
  Array<T> values(matrix.is_pattern() ? 0 : nnz, Init::none);
  host::parallel_for(host, nnz, [&](host::Range range) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      own[k] = columns.local(matrix.columns[static_cast<std::size_t>(begin + k)]);
      if (!matrix.is_pattern()) values[k] = matrix.values[static_cast<std::size_t>(begin + k)];
    }
  });
  if (matrix.is_pattern()) return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(own), Check::trusted);
  return Csr<T>(rows, cols, std::move(offsets), std::move(own), std::move(values), Check::trusted);
}

template void LevelColumnFinder::mark(const CsrView<float>&, index_t, index_t, const Device&);
template void LevelColumnFinder::mark(const CsrView<double>&, index_t, index_t, const Device&);
template Csr<float> rows_in_columns(const CsrView<float>&, index_t, index_t, const LevelColumnFinder&, index_t,
                                    const Device&);
template Csr<double> rows_in_columns(const CsrView<double>&, index_t, index_t, const LevelColumnFinder&, index_t,
                                     const Device&);

}  // namespace tessera::detail
