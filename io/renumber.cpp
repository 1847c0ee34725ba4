/// Random symmetric renumbering: rows and columns by one permutation.
#include "io/renumber.hpp"

#include "core/first_exception.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "io/structure.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::io {

namespace {

/// Where each new row was before.
Array<index_t> former_rows(std::int64_t rows, const Permutation& numbers) {
  Array<index_t> former(rows, Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      former[static_cast<std::int64_t>(numbers(static_cast<std::uint64_t>(row)))] = static_cast<index_t>(row);
    }
  });
  return former;
}

}  // namespace

template <class T>
Csr<T> renumbered(const Csr<T>& a, std::uint64_t seed) {
  const std::int64_t rows = a.rows();
  if (rows == 0) return Csr<T>();
  const Permutation numbers(static_cast<std::uint64_t>(rows), draw_seed(seed, Draw::permutation));
  const Array<index_t> former = former_rows(rows, numbers);
  const Array<offset_t>& old_offsets = a.row_offsets();
  Array<offset_t> offsets(rows + 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    offsets[row + 1] = offsets[row] + old_offsets[former[row] + std::int64_t{1}] - old_offsets[former[row]];
  }
  Array<index_t> columns(a.nnz(), Init::none);
  Array<T> values(a.nnz(), Init::none);
  host::FirstException failure;
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    failure.keep([&] {
      std::vector<std::pair<index_t, T>> entries;
      for (std::int64_t row = range.begin; row < range.end; ++row) {
        entries.clear();
        for (offset_t k = old_offsets[former[row]]; k < old_offsets[former[row] + std::int64_t{1}]; ++k) {
          const auto column = static_cast<std::uint64_t>(a.columns()[k]);
          entries.emplace_back(static_cast<index_t>(numbers(column)), a.values()[k]);
        }
        std::sort(entries.begin(), entries.end(), [](const auto& l, const auto& r) { return l.first < r.first; });
        offset_t k = offsets[row];
        for (const auto& [column, value] : entries) {
          columns[k] = column;
          values[k++] = value;
        }
      }
    });
  });
  failure.rethrow();
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> renumbered(const Csr<float>&, std::uint64_t);
template Csr<double> renumbered(const Csr<double>&, std::uint64_t);

}  // namespace tessera::io
