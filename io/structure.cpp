#include "io/structure.hpp"

#include <utility>

namespace tessera::io {

namespace {

/// body(Range of rows) in parallel, over ranges with nearly equal numbers of entries.
template <class Body>
void for_row_blocks(const Array<offset_t>& offsets, Body&& body) {
  const Device device;
  const std::int64_t rows = offsets.size() - 1;
  const offset_t nnz = offsets[rows];
  const std::int64_t blocks = nnz + rows < host::serial_threshold() ? 1 : std::int64_t{16} * device.threads();
  const auto boundary = [&](std::int64_t block) {
    if (block == blocks) return rows;
    const offset_t target = host::part_of(nnz, blocks, block).begin;
    return static_cast<std::int64_t>(std::lower_bound(offsets.begin(), offsets.end() - 1, target) - offsets.begin());
  };
  host::parallel_tasks(device, blocks, [&](std::int64_t block) {
    body(host::Range{block == 0 ? 0 : boundary(block), boundary(block + 1)});
  });
}

/// Sorts the columns of a row and moves the distinct ones to the front; returns their number.
offset_t sort_row(index_t* first, index_t* last) {
  if (!std::is_sorted(first, last)) std::sort(first, last);
  return std::unique(first, last) - first;
}

}  // namespace

void accumulate_counts(Array<offset_t>& offsets) {
  for (std::int64_t row = 0; row + 1 < offsets.size(); ++row) offsets[row + 1] += offsets[row];
}

Structure sorted_without_duplicates(Structure draft) {
  Array<offset_t> distinct(draft.rows + 1);
  for_row_blocks(draft.offsets, [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      distinct[row + 1] =
          sort_row(draft.columns.data() + draft.offsets[row], draft.columns.data() + draft.offsets[row + 1]);
    }
  });
  accumulate_counts(distinct);
  if (distinct[draft.rows] == draft.columns.size()) return draft;
  Array<index_t> columns(distinct[draft.rows], Init::none);
  for_row_blocks(distinct, [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      std::copy_n(draft.columns.data() + draft.offsets[row], distinct[row + 1] - distinct[row],
                  columns.data() + distinct[row]);
    }
  });
  return {draft.rows, draft.cols, std::move(distinct), std::move(columns)};
}

template <class T>
Csr<T> matrix_with_random_values(Structure structure, std::uint64_t seed, Values values) {
  Array<T> drawn(structure.columns.size(), Init::none);
  const std::uint64_t value_seed = draw_seed(seed, Draw::value);
  for_row_blocks(structure.offsets, [&](host::Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      for (offset_t k = structure.offsets[row]; k < structure.offsets[row + 1]; ++k) {
        auto i = static_cast<std::uint64_t>(row);
        auto j = static_cast<std::uint64_t>(structure.columns[k]);
        if (values == Values::symmetric && j < i) std::swap(i, j);
        drawn[k] = unit_interval<T>(SplitMix64(value_seed, (i << 32) | j).next());
      }
    }
  });
  return Csr<T>(structure.rows, structure.cols, std::move(structure.offsets), std::move(structure.columns),
                std::move(drawn), Check::trusted);
}

template Csr<float> matrix_with_random_values(Structure, std::uint64_t, Values);
template Csr<double> matrix_with_random_values(Structure, std::uint64_t, Values);

}  // namespace tessera::io
