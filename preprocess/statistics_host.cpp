/// \file
/// Passes of the statistics of a matrix on the host.
#include "core/parallel.hpp"
#include "core/sums.hpp"
#include "preprocess/statistics.hpp"
#include "tessera/array.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>

namespace tessera::host {

using namespace detail;

template <class T>
RowExtremes row_extremes(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  return parallel_sum<RowExtremes>(device, a.rows, [&](Range rows) {
    RowExtremes part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) part.add(matrix, i);
    return part;
  });
}

template <class T>
std::vector<index_t> rows_of_length(const CsrView<T>& a, offset_t longest, const Device& /*device*/) {
  std::vector<index_t> counts(static_cast<std::size_t>(longest) + 1);
  for (std::size_t i = 0; i + 1 < a.row_offsets.size(); ++i) {
    ++counts[static_cast<std::size_t>(a.row_offsets[i + 1] - a.row_offsets[i])];
  }
  return counts;
}

template <class T>
index_t empty_columns(const CsrView<T>& a, const Device& device) {
  Array<unsigned char> seen(a.cols);
  parallel_for(device, a.nnz(), [&](Range range) {
    for (offset_t k = range.begin; k < range.end; ++k) {
      std::atomic_ref(seen[a.columns[static_cast<std::size_t>(k)]]).store(1, std::memory_order_relaxed);
    }
  });
  return static_cast<index_t>(std::count(seen.begin(), seen.end(), 0));
}

template <class T>
ValueCounts value_counts(const CsrView<T>& a, const Device& device) {
  return parallel_sum<ValueCounts>(device, static_cast<std::int64_t>(a.values.size()), [&](Range range) {
    ValueCounts part;
    for (offset_t k = range.begin; k < range.end; ++k) {
      part.add(static_cast<double>(a.values[static_cast<std::size_t>(k)]));
    }
    return part;
  });
}

template <class T>
DiagonalSums diagonal_sums(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  return parallel_sum<DiagonalSums>(device, std::min(a.rows, a.cols), [&](Range rows) {
    DiagonalSums part;
    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
      double others = 0.0;
      for (offset_t k = matrix.offsets[i]; k < matrix.offsets[i + 1]; ++k) {
        if (matrix.columns[k] != i) others += std::abs(static_cast<double>(value_at(matrix, k)));
      }
      part.add(matrix, i, others);
    }
    return part;
  });
}

template <class T>
unsigned mirrors(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  std::atomic<unsigned> holds{mirror::all};
  parallel_for(device, a.rows, [&](Range rows) {
    for (std::int64_t i = rows.begin; i < rows.end && holds.load(std::memory_order_relaxed) != 0; ++i) {
      unsigned here = mirror::all;
      for (offset_t k = matrix.offsets[i]; k < matrix.offsets[i + 1] && here != 0; ++k) {
        here &= mirrors_of_entry(matrix, i, k);
      }
      if ((holds.load(std::memory_order_relaxed) & ~here) != 0) holds.fetch_and(here, std::memory_order_relaxed);
    }
  });
  return holds.load();
}

template <class T>
std::int64_t first_row_without_positive_diagonal(const CsrView<T>& a, const Device& device) {
  const CsrPointers<T> matrix = pointers_of(a);
  return parallel_sum<FirstIndex>(device, a.rows,
                                  [&](Range rows) {
                                    for (std::int64_t i = rows.begin; i < rows.end; ++i) {
                                      if (!has_positive_diagonal(matrix, i)) return FirstIndex{i};
                                    }
                                    return FirstIndex{};
                                  })
      .index;
}

template RowExtremes row_extremes(const CsrView<float>&, const Device&);
template RowExtremes row_extremes(const CsrView<double>&, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<float>&, offset_t, const Device&);
template std::vector<index_t> rows_of_length(const CsrView<double>&, offset_t, const Device&);
template index_t empty_columns(const CsrView<float>&, const Device&);
template index_t empty_columns(const CsrView<double>&, const Device&);
template ValueCounts value_counts(const CsrView<float>&, const Device&);
template ValueCounts value_counts(const CsrView<double>&, const Device&);
template DiagonalSums diagonal_sums(const CsrView<float>&, const Device&);
template DiagonalSums diagonal_sums(const CsrView<double>&, const Device&);
template unsigned mirrors(const CsrView<float>&, const Device&);
template unsigned mirrors(const CsrView<double>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<float>&, const Device&);
template std::int64_t first_row_without_positive_diagonal(const CsrView<double>&, const Device&);

}  // namespace tessera::host
