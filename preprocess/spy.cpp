/// \file
/// Entries per cell of a coarse grid.
#include "core/parallel.hpp"
#include "tessera/error.hpp"
#include "tessera/statistics.hpp"

#include <fmt/format.h>

#include <vector>

namespace tessera {

using namespace detail;

namespace {

constexpr int largest_grid = 1024;

/// Adds one row of the matrix to the counts of its row of cells. \param bounds column at which each cell ends
template <class T>
void count_row(const CsrView<T>& a, std::int64_t i, const std::vector<std::int64_t>& bounds, offset_t* counts) {
  std::size_t cell = 0;
  const offset_t end = a.row_offsets[static_cast<std::size_t>(i) + 1];
  for (offset_t k = a.row_offsets[static_cast<std::size_t>(i)]; k < end; ++k) {
    while (a.columns[static_cast<std::size_t>(k)] >= bounds[cell]) ++cell;
    ++counts[cell];
  }
}

}  // namespace

double SpyGrid::density(int r, int c) const {
  const std::int64_t positions =
      host::part_of(matrix_rows, rows, r).size() * host::part_of(matrix_cols, cols, c).size();
  return positions == 0 ? 0.0 : static_cast<double>(count(r, c)) / static_cast<double>(positions);
}

template <class T>
SpyGrid spy(const CsrView<T>& matrix, int rows, int cols, const Device& device) {
  if (rows < 1 || rows > largest_grid || cols < 1 || cols > largest_grid) {
    throw InvalidArgument(
        fmt::format("spy: a grid of {} x {}, each side must be in [1, {}]", rows, cols, largest_grid));
  }
  SpyGrid grid{matrix.rows, matrix.cols, rows, cols, {}};
  grid.counts.resize(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  std::vector<std::int64_t> bounds;
  bounds.reserve(static_cast<std::size_t>(cols));
  for (int c = 0; c < cols; ++c) bounds.push_back(host::part_of(matrix.cols, cols, c).end);
  host::parallel_tasks(device, rows, [&](std::int64_t r) {
    offset_t* const counts = grid.counts.data() + r * cols;
    const host::Range range = host::part_of(matrix.rows, rows, r);
    for (std::int64_t i = range.begin; i < range.end; ++i) count_row(matrix, i, bounds, counts);
  });
  return grid;
}

template SpyGrid spy(const CsrView<float>&, int, int, const Device&);
template SpyGrid spy(const CsrView<double>&, int, int, const Device&);

}  // namespace tessera
