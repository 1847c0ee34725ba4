#include "io/stencil_matrix.hpp"

#include "core/parallel.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <limits>
#include <utility>

namespace tessera::io {

namespace {

std::int64_t checked_points(const char* what, const GridSize& grid) {
  constexpr std::int64_t max_rows = std::numeric_limits<index_t>::max();
  for (const std::int64_t size : {grid.x, grid.y, grid.z}) {
    if (size < 1) throw InvalidArgument(fmt::format("{}: grid sizes must be at least 1, got {}", what, size));
  }
  if (grid.x > max_rows / grid.y || grid.x * grid.y > max_rows / grid.z) {
    throw InvalidArgument(
        fmt::format("{}: a {} x {} x {} grid has more than {} points", what, grid.x, grid.y, grid.z, max_rows));
  }
  return grid.x * grid.y * grid.z;
}

/// Place of a row in the grid, moved on row by row.
class GridPoint {
 public:
  GridPoint(const GridSize& grid, std::int64_t row)
      : grid_(grid), x_(row % grid.x), y_(row / grid.x % grid.y), z_(row / (grid.x * grid.y)) {}

  [[nodiscard]] bool has(const StencilPoint& p) const {
    return inside(x_ + p.dx, grid_.x) && inside(y_ + p.dy, grid_.y) && inside(z_ + p.dz, grid_.z);
  }

  void advance() {
    if (++x_ < grid_.x) return;
    x_ = 0;
    if (++y_ < grid_.y) return;
    y_ = 0;
    ++z_;
  }

 private:
  static bool inside(std::int64_t i, std::int64_t n) { return i >= 0 && i < n; }

  GridSize grid_;
  std::int64_t x_;
  std::int64_t y_;
  std::int64_t z_;
};

Array<offset_t> stencil_offsets(const GridSize& grid, std::int64_t rows, std::span<const StencilPoint> stencil) {
  Array<offset_t> offsets(rows + 1, Init::none);
  offsets[0] = 0;
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    GridPoint point(grid, range.begin);
    for (std::int64_t row = range.begin; row < range.end; ++row, point.advance()) {
      offset_t count = 0;
      for (const StencilPoint& p : stencil) count += point.has(p) ? 1 : 0;
      offsets[row + 1] = count;
    }
  });
  for (std::int64_t row = 0; row < rows; ++row) offsets[row + 1] += offsets[row];
  return offsets;
}

/// Each stencil point contributes one entry for every position at which its neighbour exists.
offset_t stencil_nnz(const GridSize& grid, std::span<const StencilPoint> stencil) {
  offset_t nnz = 0;
  for (const StencilPoint& p : stencil) {
    nnz += (grid.x - std::abs(p.dx)) * (grid.y - std::abs(p.dy)) * (grid.z - std::abs(p.dz));
  }
  return nnz;
}

}  // namespace

template <class T>
Csr<T> stencil_matrix(const char* what, const GridSize& grid, std::span<const StencilPoint> stencil) {
  const std::int64_t rows = checked_points(what, grid);
  const offset_t nnz = stencil_nnz(grid, stencil);
  Array<index_t> columns(nnz, Init::none);
  Array<T> values(nnz, Init::none);
  Array<offset_t> offsets = stencil_offsets(grid, rows, stencil);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    GridPoint point(grid, range.begin);
    offset_t out = offsets[range.begin];
    for (std::int64_t row = range.begin; row < range.end; ++row, point.advance()) {
      for (const StencilPoint& p : stencil) {
        if (!point.has(p)) continue;
        columns[out] = static_cast<index_t>(row + p.dx + grid.x * (p.dy + grid.y * p.dz));
        values[out] = static_cast<T>(p.value);
        ++out;
      }
    }
  });
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

template Csr<float> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>);
template Csr<double> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>);

}  // namespace tessera::io
