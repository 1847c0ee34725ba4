// Diffusion with jumping coefficients on a cubic grid. Compiled without contraction of a * b + c.
#include "core/parallel.hpp"
#include "core/portable_math.hpp"
#include "io/jump_coefficients.hpp"
#include "io/recipe.hpp"
#include "tessera/error.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

namespace tessera {

namespace io {

JumpCoefficients jump_coefficients(const GridSize& grid, const JumpOptions& options) {
  const auto cubes = [&](std::int64_t points) { return (points + options.block - 1) / options.block; };
  JumpCoefficients result{{cubes(grid.x), cubes(grid.y), cubes(grid.z)}, options.block, {}};
  const std::int64_t count = result.cubes.x * result.cubes.y * result.cubes.z;
  const std::uint64_t seed = draw_seed(options.seed, Draw::coefficient);
  result.values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t cube = 0; cube < count; ++cube) {
    const double u = SplitMix64(seed, static_cast<std::uint64_t>(cube)).uniform();
    result.values.push_back(portable_pow(options.contrast, u - 0.5));
  }
  return result;
}

namespace {

constexpr double max_contrast = 1e100;

void check(const JumpOptions& options) {
  if (options.block < 1) {
    throw InvalidArgument(fmt::format("jump3d: block must be at least 1, got {}", options.block));
  }
  if (!(options.contrast >= 1.0 && options.contrast <= max_contrast)) {
    throw InvalidArgument(fmt::format("jump3d: contrast must be in [1, {}], got {}", max_contrast, options.contrast));
  }
}

double harmonic_mean(double a, double b) { return 2 * a * b / (a + b); }

/// One row: entries between points, then the diagonal, their sum with the coefficient for every neighbour that is not
/// there.
template <class T>
void fill_row(const GridSize& grid, const JumpCoefficients& medium, std::int64_t row, std::span<const index_t> columns,
              T* values) {
  const auto coefficient = [&](std::int64_t point) {
    return medium.at(point % grid.x, point / grid.x % grid.y, point / (grid.x * grid.y));
  };
  const double own = coefficient(row);
  double sum = 0.0;
  std::size_t diagonal = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (columns[k] == row) {
      diagonal = k;
      continue;
    }
    const double between = harmonic_mean(own, coefficient(columns[k]));
    values[k] = static_cast<T>(-between);
    sum += between;
  }
  for (std::size_t missing = columns.size(); missing < 7; ++missing) sum += own;
  values[diagonal] = static_cast<T>(sum);
}

}  // namespace

}  // namespace io

template <class T>
Csr<T> jump3d(std::int64_t nx, std::int64_t ny, std::int64_t nz, const JumpOptions& options) {
  io::check(options);
  const io::GridSize grid{nx, ny, nz};
  io::Structure positions = io::stencil_structure("jump3d", grid, io::star_stencil(3));
  const io::JumpCoefficients medium = io::jump_coefficients(grid, options);
  const std::int64_t rows = positions.rows;
  Array<T> values(positions.columns.size(), Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const offset_t begin = positions.offsets[row];
      const auto length = static_cast<std::size_t>(positions.offsets[row + 1] - begin);
      io::fill_row(grid, medium, row, {positions.columns.data() + begin, length}, values.data() + begin);
    }
  });
  return Csr<T>(rows, rows, std::move(positions.offsets), std::move(positions.columns), std::move(values),
                Check::trusted);
}

template Csr<float> jump3d(std::int64_t, std::int64_t, std::int64_t, const JumpOptions&);
template Csr<double> jump3d(std::int64_t, std::int64_t, std::int64_t, const JumpOptions&);

namespace io {

namespace {

template <class T>
Csr<T> make_jump3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  return jump3d<T>(n, n, n, {.block = recipe.whole("block"), .contrast = recipe["contrast"], .seed = recipe.seed()});
}

Expected expected_jump3d(const Recipe& recipe) {
  const std::int64_t n = recipe.size();
  const auto side = static_cast<double>(n);
  const double cubes = std::ceil(side / recipe["block"]);
  return {.rows = side * side * side,
          .drawn = stencil_entries({n, n, n}, star_stencil(3)),
          .scratch_bytes = sizeof(double) * cubes * cubes * cubes};
}

constexpr std::array<GeneratorParameter, 2> jump3d_parameters{
    {{"block", "points a side of the cubes of one coefficient", 8, 1, max_cube_side, true},
     {"contrast", "largest over smallest coefficient, at the most", 1e4, 1, max_contrast}}};

}  // namespace

GeneratorEntry jump3d_family() {
  return {.family = {.name = "jump3d",
                     .description = "-div(k grad u) on a cubic grid, k jumps at random between cubes of points",
                     .size_means = "points a side",
                     .default_size = 100,
                     .max_size = max_cube_side,
                     .symmetric = true,
                     .parameters = jump3d_parameters},
          .expected = expected_jump3d,
          .matrix_float = make_jump3d<float>,
          .matrix_double = make_jump3d<double>};
}

}  // namespace io

}  // namespace tessera
