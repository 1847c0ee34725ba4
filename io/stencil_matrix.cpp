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

/// Grid point of a row; advance() moves to the next row.
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

/// body(k, row, point) for every entry k of the matrix.
template <class Body>
void for_stencil_entries(const GridSize& grid, std::span<const StencilPoint> stencil, const Array<offset_t>& offsets,
                         Body&& body) {
  host::parallel_for(Device{}, offsets.size() - 1, [&](host::Range range) {
    GridPoint point(grid, range.begin);
    offset_t k = offsets[range.begin];
    for (std::int64_t row = range.begin; row < range.end; ++row, point.advance()) {
      for (const StencilPoint& p : stencil) {
        if (point.has(p)) body(k++, row, p);
      }
    }
  });
}

index_t neighbour(const GridSize& grid, std::int64_t row, const StencilPoint& p) {
  return static_cast<index_t>(row + p.dx + grid.x * (p.dy + grid.y * p.dz));
}

/// Lets every row sum to zero, as nothing flows across the boundary.
template <class T>
void close_boundary(const Array<offset_t>& offsets, const Array<index_t>& columns, Array<T>& values) {
  host::parallel_for(Device{}, offsets.size() - 1, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      T sum{0};
      offset_t diagonal = offsets[row];
      for (offset_t k = offsets[row]; k < offsets[row + 1]; ++k) {
        if (columns[k] == row) {
          diagonal = k;
        } else {
          sum += values[k];
        }
      }
      values[diagonal] = T{0} - sum;
    }
  });
}

}  // namespace

template <class T>
Csr<T> stencil_matrix(const char* what, const GridSize& grid, std::span<const StencilPoint> stencil,
                      Boundary boundary) {
  const std::int64_t rows = checked_points(what, grid);
  Array<offset_t> offsets = stencil_offsets(grid, rows, stencil);
  Array<index_t> columns(offsets[rows], Init::none);
  Array<T> values(offsets[rows], Init::none);
  for_stencil_entries(grid, stencil, offsets, [&](offset_t k, std::int64_t row, const StencilPoint& p) {
    columns[k] = neighbour(grid, row, p);
    values[k] = static_cast<T>(p.value);
  });
  if (boundary == Boundary::neumann) close_boundary(offsets, columns, values);
  return Csr<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

Structure stencil_structure(const char* what, const GridSize& grid, std::span<const StencilPoint> stencil) {
  const std::int64_t rows = checked_points(what, grid);
  Structure result{rows, rows, stencil_offsets(grid, rows, stencil), {}};
  result.columns = Array<index_t>(result.offsets[rows], Init::none);
  for_stencil_entries(grid, stencil, result.offsets, [&](offset_t k, std::int64_t row, const StencilPoint& p) {
    result.columns[k] = neighbour(grid, row, p);
  });
  return result;
}

std::vector<StencilPoint> box_stencil(int dimensions) {
  std::vector<StencilPoint> stencil;
  const int reach_z = dimensions > 2 ? 1 : 0;
  for (int dz = -reach_z; dz <= reach_z; ++dz) {
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) stencil.push_back({dx, dy, dz, -1.0});
    }
  }
  stencil[stencil.size() / 2].value = static_cast<double>(stencil.size() - 1);
  return stencil;
}

std::vector<StencilPoint> star_stencil(int dimensions) {
  std::vector<StencilPoint> stencil;
  for (const StencilPoint& p : box_stencil(dimensions)) {
    if (std::abs(p.dx) + std::abs(p.dy) + std::abs(p.dz) <= 1) stencil.push_back(p);
  }
  stencil[stencil.size() / 2].value = static_cast<double>(stencil.size() - 1);
  return stencil;
}

/// Each stencil point contributes one entry for every position at which its neighbour exists.
double stencil_entries(const GridSize& grid, std::span<const StencilPoint> stencil) {
  double entries = 0;
  for (const StencilPoint& p : stencil) {
    entries += static_cast<double>(grid.x - std::abs(p.dx)) * static_cast<double>(grid.y - std::abs(p.dy)) *
               static_cast<double>(grid.z - std::abs(p.dz));
  }
  return entries;
}

template Csr<float> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>, Boundary);
template Csr<double> stencil_matrix(const char*, const GridSize&, std::span<const StencilPoint>, Boundary);

}  // namespace tessera::io
