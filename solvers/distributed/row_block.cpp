/// Split of rows into own columns and halo. Columns ascend in every row, so the own ones are a range.
#include "solvers/distributed/row_block.hpp"

#include "core/parallel.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace tessera::detail {

namespace {

/// Entries of a row: [begin, own_begin) and [own_end, end) are in the halo.
struct SplitRow {
  offset_t begin, own_begin, own_end, end;
  [[nodiscard]] offset_t own() const noexcept { return own_end - own_begin; }
  [[nodiscard]] offset_t others() const noexcept { return end - begin - own(); }
};

template <class T>
class RowSplitter {
 public:
  RowSplitter(const CsrView<T>& matrix, const Partition& partition, int part)
      : matrix_(matrix),
        partition_(partition),
        first_(partition.first_row(part)),
        last_(partition.first_row(part + 1)),
        rows_(partition.rows_of(part)),
        halo_(matrix.cols) {}

  [[nodiscard]] RowBlock<T> split(const Device& host) {
    count(host);
    RowBlock<T> block{halo_.number(partition_), {}, {}, {}};
    block.boundary_rows = Array<index_t>(static_cast<std::int64_t>(boundary_.size()), Init::none);
    std::copy(boundary_.begin(), boundary_.end(), block.boundary_rows.begin());
    fill(host, block);
    return block;
  }

 private:
  [[nodiscard]] SplitRow row(std::int64_t i) const {
    const auto at = static_cast<std::size_t>(first_ + i);
    const offset_t begin = matrix_.row_offsets[at];
    const offset_t end = matrix_.row_offsets[at + 1];
    const index_t* const columns = matrix_.columns.data();
    const index_t* const own_begin = std::lower_bound(columns + begin, columns + end, first_);
    const index_t* const own_end = std::lower_bound(own_begin, columns + end, last_);
    return {begin, own_begin - columns, own_end - columns, end};
  }

  /// Row offsets of both matrices, boundary rows, and marks of the halo.
  void count(const Device& host) {
    own_offsets_ = Array<offset_t>(rows_ + 1);
    other_counts_ = Array<offset_t>(rows_, Init::none);
    host::parallel_for(host, rows_, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const SplitRow split = row(i);
        own_offsets_[i + 1] = split.own();
        other_counts_[i] = split.others();
        halo_.mark(columns_between(split.begin, split.own_begin));
        halo_.mark(columns_between(split.own_end, split.end));
      }
    });
    for (std::int64_t i = 0; i < rows_; ++i) {
      own_offsets_[i + 1] += own_offsets_[i];
      if (other_counts_[i] > 0) boundary_.push_back(static_cast<index_t>(i));
    }
  }

  [[nodiscard]] std::span<const index_t> columns_between(offset_t begin, offset_t end) const {
    return matrix_.columns.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  }

  void fill(const Device& host, RowBlock<T>& block) {
    Array<index_t> own_columns(own_offsets_[rows_], Init::none);
    Array<T> own_values(matrix_.is_pattern() ? 0 : own_offsets_[rows_], Init::none);
    host::parallel_for(host, rows_, [&](host::Range range) {
      for (std::int64_t i = range.begin; i < range.end; ++i) {
        const SplitRow split = row(i);
        for (offset_t k = 0; k < split.own(); ++k) {
          own_columns[own_offsets_[i] + k] = matrix_.columns[static_cast<std::size_t>(split.own_begin + k)] - first_;
        }
        copy_values(split.own_begin, split.own_end, own_values, own_offsets_[i]);
      }
    });
    const auto boundary = static_cast<std::int64_t>(boundary_.size());
    Array<offset_t> offsets(boundary + 1);
    for (std::int64_t k = 0; k < boundary; ++k) {
      offsets[k + 1] = offsets[k] + other_counts_[boundary_[static_cast<std::size_t>(k)]];
    }
    Array<index_t> columns(offsets[boundary], Init::none);
    Array<T> values(matrix_.is_pattern() ? 0 : offsets[boundary], Init::none);
    host::parallel_for(host, boundary, [&](host::Range range) {
      for (std::int64_t k = range.begin; k < range.end; ++k) {
        const SplitRow split = row(boundary_[static_cast<std::size_t>(k)]);
        fill_others(split.begin, split.own_begin, columns, values, offsets[k]);
        fill_others(split.own_end, split.end, columns, values, offsets[k] + split.own_begin - split.begin);
      }
    });
    block.diagonal = matrix_of(rows_, rows_, std::move(own_offsets_), std::move(own_columns), std::move(own_values));
    block.off_diagonal = matrix_of(boundary, static_cast<std::int64_t>(block.halo.size()), std::move(offsets),
                                   std::move(columns), std::move(values));
  }

  void fill_others(offset_t begin, offset_t end, Array<index_t>& columns, Array<T>& values, offset_t to) const {
    for (offset_t k = begin; k < end; ++k) {
      columns[to + k - begin] = halo_.slot(matrix_.columns[static_cast<std::size_t>(k)]);
    }
    copy_values(begin, end, values, to);
  }

  void copy_values(offset_t begin, offset_t end, Array<T>& values, offset_t to) const {
    if (!matrix_.is_pattern())
      std::copy(matrix_.values.data() + begin, matrix_.values.data() + end, values.data() + to);
  }

  [[nodiscard]] Csr<T> matrix_of(std::int64_t rows, std::int64_t cols, Array<offset_t> offsets, Array<index_t> columns,
                                 Array<T> values) const {
    if (matrix_.is_pattern()) {
      return Csr<T>::pattern(rows, cols, std::move(offsets), std::move(columns), Check::trusted);
    }
    return Csr<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
  }

  const CsrView<T>& matrix_;
  const Partition& partition_;
  index_t first_;
  index_t last_;
  index_t rows_;
  Array<offset_t> own_offsets_;
  Array<offset_t> other_counts_;
  std::vector<index_t> boundary_;
  HaloFinder halo_;
};

}  // namespace

template <class T>
RowBlock<T> make_row_block(const CsrView<T>& matrix, const Partition& partition, int part, const Device& host) {
  return RowSplitter<T>(matrix, partition, part).split(host);
}

template RowBlock<float> make_row_block(const CsrView<float>&, const Partition&, int, const Device&);
template RowBlock<double> make_row_block(const CsrView<double>&, const Partition&, int, const Device&);

}  // namespace tessera::detail
