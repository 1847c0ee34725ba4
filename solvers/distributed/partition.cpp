/// Partition of rows by nonzeros: equal shares of the path of rows + nonzeros.
#include "core/first_exception.hpp"
#include "core/parallel.hpp"
#include "core/partition_point.hpp"
#include "tessera/several_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {

Partition::Partition(std::vector<index_t> first_rows) : first_rows_(std::move(first_rows)) {
  if (first_rows_.size() < 2 || first_rows_.front() != 0) {
    throw InvalidArgument("a partition needs the first rows of its parts, from 0 on, and the number of rows");
  }
  for (std::size_t part = 0; part + 1 < first_rows_.size(); ++part) {
    if (first_rows_[part] < first_rows_[part + 1]) continue;
    throw InvalidArgument(fmt::format("part {} of a partition has no rows: it begins at row {}, the next one at {}",
                                      part + 1, first_rows_[part], first_rows_[part + 1]));
  }
}

template <class T>
Partition Partition::by_nonzeros(const CsrView<T>& matrix, int parts) {
  if (parts < 1 || parts > matrix.rows) {
    throw InvalidArgument(fmt::format("each of {} devices needs a row, A has {}", parts, matrix.rows));
  }
  const auto offset = [&](index_t row) { return matrix.row_offsets[static_cast<std::size_t>(row)] + row; };
  const offset_t total = offset(matrix.rows);
  std::vector<index_t> first_rows{0};
  for (int part = 1; part < parts; ++part) {
    const offset_t begin = total / parts * part + total % parts * part / parts;
    // Every part has a row, those after this one too.
    const index_t last = matrix.rows - (parts - part);
    first_rows.push_back(
        detail::partition_point(first_rows.back() + 1, last, [&](index_t row) { return offset(row) < begin; }));
  }
  first_rows.push_back(matrix.rows);
  return Partition(std::move(first_rows));
}

template <class T>
std::int64_t Partition::halo(const CsrView<T>& matrix) const {
  if (!matrix.is_square() || matrix.rows != rows()) {
    throw DimensionError(
        fmt::format("a partition of {} rows does not fit a {} x {} matrix", rows(), matrix.rows, matrix.cols));
  }
  host::FirstException failure;
  const auto elements = host::parallel_sum<std::int64_t>(Device{}, parts(), [&](host::Range range) {
    std::int64_t found = 0;
    failure.keep([&] {
      for (auto part = static_cast<int>(range.begin); part < static_cast<int>(range.end); ++part) {
        std::vector<bool> is_counted(static_cast<std::size_t>(matrix.cols));
        const auto begin = static_cast<std::size_t>(matrix.row_offsets[static_cast<std::size_t>(first_row(part))]);
        const auto end = static_cast<std::size_t>(matrix.row_offsets[static_cast<std::size_t>(first_row(part + 1))]);
        for (std::size_t k = begin; k < end; ++k) {
          const index_t column = matrix.columns[k];
          if (column >= first_row(part) && column < first_row(part + 1)) continue;
          if (is_counted[static_cast<std::size_t>(column)]) continue;
          is_counted[static_cast<std::size_t>(column)] = true;
          ++found;
        }
      }
    });
    return found;
  });
  failure.rethrow();
  return elements;
}

int Partition::part_of(index_t row) const noexcept {
  return static_cast<int>(std::upper_bound(first_rows_.begin(), first_rows_.end(), row) - first_rows_.begin()) - 1;
}

template Partition Partition::by_nonzeros(const CsrView<float>&, int);
template Partition Partition::by_nonzeros(const CsrView<double>&, int);
template std::int64_t Partition::halo(const CsrView<float>&) const;
template std::int64_t Partition::halo(const CsrView<double>&) const;

}  // namespace tessera
