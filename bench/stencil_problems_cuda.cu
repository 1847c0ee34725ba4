/// Stencil matrices made on a GPU, one thread per row: counts, their sums, entries.
#include "bench/stencil_problems.hpp"

#include "core/cuda/reduce.cuh"
#include "core/cuda/scan.hpp"

#include <utility>

namespace tessera::bench {

namespace {

constexpr int most_points = 27;

/// The problem as a kernel argument.
struct DeviceStencil {
  std::int64_t nx, ny, nz;
  int points;
  int middle;
  bool closed;           ///< rows sum to zero
  const double* medium;  ///< null: constant values
  std::int64_t block, cubes_x, cubes_y;
  signed char dx[most_points], dy[most_points], dz[most_points];
  double value[most_points];

  __device__ bool has(std::int64_t x, std::int64_t y, std::int64_t z, int p) const {
    const std::int64_t i = x + dx[p];
    const std::int64_t j = y + dy[p];
    const std::int64_t k = z + dz[p];
    return i >= 0 && i < nx && j >= 0 && j < ny && k >= 0 && k < nz;
  }
  __device__ double coefficient(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return medium[x / block + cubes_x * (y / block + cubes_y * (z / block))];
  }
};

DeviceStencil device_stencil(const StencilProblem& problem, const Array<double>& medium) {
  DeviceStencil result{};
  result.nx = problem.grid.x;
  result.ny = problem.grid.y;
  result.nz = problem.grid.z;
  result.points = static_cast<int>(problem.stencil.size());
  result.middle = result.points / 2;
  result.closed = problem.boundary == Boundary::neumann;
  result.medium = medium.empty() ? nullptr : medium.data();
  result.block = problem.medium.block;
  result.cubes_x = problem.medium.cubes.x;
  result.cubes_y = problem.medium.cubes.y;
  for (int p = 0; p < result.points; ++p) {
    const io::StencilPoint& point = problem.stencil[static_cast<std::size_t>(p)];
    result.dx[p] = static_cast<signed char>(point.dx);
    result.dy[p] = static_cast<signed char>(point.dy);
    result.dz[p] = static_cast<signed char>(point.dz);
    result.value[p] = point.value;
  }
  return result;
}

void count_entries(const Device& device, const DeviceStencil& s, std::int64_t rows, offset_t* counts) {
  cuda::for_each(device, rows + 1, [=] __device__(std::int64_t row) {
    offset_t count = 0;
    for (int p = 0; row < rows && p < s.points; ++p) {
      count += s.has(row % s.nx, row / s.nx % s.ny, row / (s.nx * s.ny), p) ? 1 : 0;
    }
    counts[row] = count;
  });
}

/// Sums run in the order of the columns, as on the host.
void fill_entries(const Device& device, const DeviceStencil& s, std::int64_t rows, const offset_t* offsets,
                  index_t* columns, double* values) {
  cuda::for_each(device, rows, [=] __device__(std::int64_t row) {
    const std::int64_t x = row % s.nx;
    const std::int64_t y = row / s.nx % s.ny;
    const std::int64_t z = row / (s.nx * s.ny);
    const double own = s.medium != nullptr ? s.coefficient(x, y, z) : 0.0;
    double sum = 0.0;
    offset_t k = offsets[row];
    offset_t diagonal = k;
    for (int p = 0; p < s.points; ++p) {
      if (!s.has(x, y, z, p)) continue;
      columns[k] = static_cast<index_t>(row + s.dx[p] + s.nx * (s.dy[p] + s.ny * s.dz[p]));
      double value = s.value[p];
      if (p == s.middle) {
        diagonal = k;
      } else if (s.medium != nullptr) {
        const double other = s.coefficient(x + s.dx[p], y + s.dy[p], z + s.dz[p]);
        value = -(2 * own * other / (own + other));
      }
      if (p != s.middle) sum += value;
      values[k++] = value;
    }
    if (s.closed) values[diagonal] = 0.0 - sum;
    if (s.medium != nullptr) {
      double total = -sum;
      for (auto missing = static_cast<int>(k - offsets[row]); missing < s.points; ++missing) total += own;
      values[diagonal] = total;
    }
  });
}

}  // namespace

Csr<double> stencil_matrix_on(const Device& device, const StencilProblem& problem) {
  const std::int64_t rows = problem.grid.x * problem.grid.y * problem.grid.z;
  const Array<double> medium = Array<double>::copy_of(problem.medium.values, device);
  const DeviceStencil s = device_stencil(problem, medium);
  Array<offset_t> offsets(rows + 1, Init::none, device);
  count_entries(device, s, rows, offsets.data());
  const offset_t nnz = cuda::exclusive_sum(device, offsets.span());
  Array<index_t> columns(nnz, Init::none, device);
  Array<double> values(nnz, Init::none, device);
  fill_entries(device, s, rows, offsets.data(), columns.data(), values.data());
  synchronize(device);
  return Csr<double>(rows, rows, std::move(offsets), std::move(columns), std::move(values), Check::trusted);
}

Csr<double> with_new_values_on_gpu(const Csr<double>& a) {
  const Device& device = a.device();
  Array<double> values(a.nnz(), Init::none, device);
  const CsrView<double> old = a.view();
  const offset_t* const offsets = old.row_offsets.data();
  const index_t* const columns = old.columns.data();
  const double* const from = old.values.data();
  double* const to = values.data();
  cuda::for_each(device, a.rows(), [=] __device__(std::int64_t row) {
    for (offset_t k = offsets[row]; k < offsets[row + 1]; ++k) {
      // The product of the two factors first: symmetric to the last bit.
      to[k] = (scale_of_row(row) * scale_of_row(columns[k])) * from[k];
    }
  });
  synchronize(device);
  return Csr<double>(a.rows(), a.cols(), a.row_offsets().to(device), a.columns().to(device), std::move(values),
                     Check::trusted);
}

}  // namespace tessera::bench
