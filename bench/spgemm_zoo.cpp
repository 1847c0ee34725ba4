#include "bench/spgemm_zoo.hpp"

#include "bench/galerkin_problems.hpp"
#include "core/random.hpp"
#include "tessera/csr.hpp"
#include "tessera/generators.hpp"
#include "tessera/matrix_market.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

using Random = detail::SplitMix64;

/// A number in [0, count).
std::int64_t pick(Random& random, std::int64_t count) {
  return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(count)));
}

/// Seeded values of either sign, magnitudes in [0.5, 1.5).
Array<double> signed_values(std::int64_t count) {
  Random random(12345);
  Array<double> values(count, Init::none);
  for (double& value : values) {
    const double magnitude = 0.5 + random.uniform();
    value = random.next() % 2 == 0 ? magnitude : -magnitude;
  }
  return values;
}

/// Positions in any order, duplicates allowed.
class Positions {
 public:
  Positions(std::int64_t rows, std::int64_t cols) : rows_(rows), cols_(cols) {}

  void add(std::int64_t row, std::int64_t column) {
    list_.push_back(static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint64_t>(column));
  }
  [[nodiscard]] bool has_column(std::int64_t column) const noexcept { return column >= 0 && column < cols_; }

  [[nodiscard]] Csr<double> matrix() && {
    std::sort(list_.begin(), list_.end());
    list_.erase(std::unique(list_.begin(), list_.end()), list_.end());
    const auto nnz = static_cast<std::int64_t>(list_.size());
    Array<offset_t> offsets(rows_ + 1);
    Array<index_t> columns(nnz, Init::none);
    for (std::int64_t k = 0; k < nnz; ++k) {
      const std::uint64_t position = list_[static_cast<std::size_t>(k)];
      ++offsets[static_cast<std::int64_t>(position >> 32) + 1];
      columns[k] = static_cast<index_t>(position & 0xffffffffU);
    }
    for (std::int64_t i = 0; i < rows_; ++i) offsets[i + 1] += offsets[i];
    return Csr<double>(rows_, cols_, std::move(offsets), std::move(columns), signed_values(nnz));
  }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::vector<std::uint64_t> list_;
};

Csr<double> with_signed_values(const Csr<double>& structure) {
  return Csr<double>(structure.rows(), structure.cols(), structure.row_offsets().to(Device{}),
                     structure.columns().to(Device{}), signed_values(structure.nnz()));
}

Csr<double> grid27(std::int64_t side) {
  return with_signed_values(poisson3d<double>(side, side, side, Stencil3d::twentyseven_point));
}

/// Every entry a dense block of `dof` x `dof`.
Csr<double> blocks_of(const Csr<double>& nodes, index_t dof) {
  const std::int64_t rows = std::int64_t{nodes.rows()} * dof;
  Array<offset_t> offsets(rows + 1);
  Array<index_t> columns(nodes.nnz() * dof * dof, Init::none);
  offset_t next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t node = row / dof;
    for (offset_t k = nodes.row_offsets()[node]; k < nodes.row_offsets()[node + 1]; ++k) {
      for (index_t d = 0; d < dof; ++d) columns[next++] = nodes.columns()[k] * dof + d;
    }
    offsets[row + 1] = next;
  }
  return Csr<double>(rows, rows, std::move(offsets), std::move(columns), signed_values(next));
}

/// Without entries that are drawn with probability 1 - share.
Csr<double> thinned(const Csr<double>& matrix, double share) {
  Random random(13);
  Array<offset_t> offsets(matrix.rows() + std::int64_t{1});
  std::vector<index_t> columns;
  for (index_t i = 0; i < matrix.rows(); ++i) {
    for (offset_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      if (random.uniform() < share) columns.push_back(matrix.columns()[k]);
    }
    offsets[i + std::int64_t{1}] = static_cast<offset_t>(columns.size());
  }
  return Csr<double>(matrix.rows(), matrix.cols(), std::move(offsets), Array<index_t>::copy_of(columns),
                     signed_values(static_cast<std::int64_t>(columns.size())));
}

Csr<double> cage() {
  const std::int64_t n = 130000;
  Random random(10);
  Positions positions(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    positions.add(i, i);
    for (int k = 0; k < 15; ++k) {
      const double kind = random.uniform();
      std::int64_t j = kind < 0.7 ? i + pick(random, 401) - 200 : i + pick(random, 20001) - 10000;
      if (kind >= 0.95 || !positions.has_column(j)) j = pick(random, n);
      positions.add(i, j);
    }
  }
  return std::move(positions).matrix();
}

Csr<double> band() {
  const std::int64_t n = 60000;
  Positions positions(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = std::max<std::int64_t>(0, i - 60); j < std::min(n, i + 60); ++j) positions.add(i, j);
  }
  return std::move(positions).matrix();
}

/// Out-degrees by a power law of mean 6.4, most links near, the others to hubs all over the graph.
Csr<double> web() {
  const std::int64_t n = 1000000;
  Random random(8);
  Positions positions(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const int degree = static_cast<int>(std::min(4000.0, 2.6 * std::pow(1.0 - random.uniform(), -1.0 / 1.5)));
    for (int k = 0; k < degree; ++k) {
      const bool near = random.uniform() < 0.8;
      const double place = random.uniform();
      std::int64_t j = std::min(n - 1, static_cast<std::int64_t>(static_cast<double>(n) * std::pow(place, 4.0)));
      j = j * 7919 % n;
      if (near) {
        const auto distance = static_cast<std::int64_t>(1.0 + 200.0 * place * place * place);
        j = random.next() % 2 == 0 ? i + distance : i - distance;
        if (!positions.has_column(j)) j = i;
      }
      positions.add(i, j);
    }
  }
  return std::move(positions).matrix();
}

Csr<double> uniform_rows() {
  const std::int64_t n = 500000;
  Random random(9);
  Positions positions(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (int k = 0; k < 16; ++k) positions.add(i, pick(random, n));
  }
  return std::move(positions).matrix();
}

Csr<double> recursive(int scale) {
  RmatOptions options;
  options.scale = scale;
  options.edge_factor = 8;
  options.seed = 100 + static_cast<std::uint64_t>(scale);
  options.scramble_ids = false;
  return with_signed_values(rmat<double>(options));
}

/// A grid with gaps and a few short cuts, both ways.
Csr<double> road() {
  const std::int64_t width = 2828;
  const std::int64_t height = 2829;
  const std::int64_t n = width * height;
  Random random(7);
  Positions positions(n, n);
  const auto link = [&](std::int64_t i, std::int64_t j) {
    positions.add(i, j);
    positions.add(j, i);
  };
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % width + 1 < width && random.uniform() < 0.62) link(i, i + 1);
    if (i + width < n && random.uniform() < 0.56) link(i, i + width);
    if (random.uniform() >= 0.02) continue;
    const std::int64_t j = i + (pick(random, 41) - 20) * width + pick(random, 41) - 20;
    if (positions.has_column(j) && j != i) link(i, j);
  }
  return std::move(positions).matrix();
}

/// Hubs by the cube of a uniform number; nine of ten links go both ways.
Csr<double> circuit() {
  const std::int64_t n = 170000;
  Random random(13);
  Positions positions(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    positions.add(i, i);
    const int degree = 1 + static_cast<int>(std::min(350.0, 1.7 * std::pow(1.0 - random.uniform(), -1.0 / 1.8)));
    for (int k = 0; k < degree; ++k) {
      const bool near = random.uniform() < 0.75;
      std::int64_t j = near ? i + pick(random, 101) - 50
                            : static_cast<std::int64_t>(static_cast<double>(n) * std::pow(random.uniform(), 3.0));
      if (!positions.has_column(j)) j = pick(random, n);
      positions.add(i, j);
      if (random.uniform() < 0.9) positions.add(j, i);
    }
  }
  return std::move(positions).matrix();
}

/// Columns of a few entries: half near a base row, half in rows that are denser the lower they are.
Csr<double> constraints() {
  const std::int64_t rows = 30000;
  const std::int64_t cols = 300000;
  Random random(11);
  Positions positions(rows, cols);
  for (std::int64_t j = 0; j < cols; ++j) {
    const int length = 2 + static_cast<int>(std::min(38.0, 3.0 * std::pow(1.0 - random.uniform(), -0.6)));
    const std::int64_t base = pick(random, rows);
    for (int k = 0; k < length; ++k) {
      const double place = random.uniform();
      const bool near = random.uniform() < 0.5;
      positions.add(near ? (base + pick(random, 300)) % rows
                         : static_cast<std::int64_t>(static_cast<double>(rows) * place * place),
                    j);
    }
  }
  return std::move(positions).matrix();
}

Csr<double> tall() {
  const std::int64_t rows = 200000;
  const std::int64_t cols = 100000;
  Random random(12);
  Positions positions(rows, cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (int k = 0; k < 8; ++k) {
      const bool near = random.uniform() < 0.6;
      positions.add(i, near ? (i / 2 + pick(random, 64)) % cols : pick(random, cols));
    }
  }
  return std::move(positions).matrix();
}

/// A grid of 1000 x 1000 points with 5, as sparse as a road network, and dense blocks of `size` rows on its diagonal:
/// one in every `distance` rows, beside the borders of tiles, at most `most` of them.
Csr<double> grid_with_blocks(index_t size, index_t distance, index_t most) {
  const Csr<double> grid = poisson2d<double>(1000, 1000);
  Positions positions(grid.rows(), grid.cols());
  for (index_t i = 0; i < grid.rows(); ++i) {
    for (offset_t k = grid.row_offsets()[i]; k < grid.row_offsets()[i + std::int64_t{1}]; ++k) {
      positions.add(i, grid.columns()[k]);
    }
    const index_t number = i / distance;
    const index_t begin = number * distance + 13;
    if (number >= most || i < begin || i >= begin + size || begin + size > grid.rows()) continue;
    for (index_t j = begin; j < begin + size; ++j) positions.add(i, j);
  }
  return std::move(positions).matrix();
}

/// Several unknowns per node of a cube with 27 points: tiles of 8 x 8 from sparse to full.
Csr<double> unknowns_per_node(index_t edge, index_t dof) {
  return blocks_of(poisson3d<double>(edge, edge, edge, Stencil3d::twentyseven_point), dof);
}

const std::map<std::string, std::function<Csr<double>()>>& makers() {
  static const std::map<std::string, std::function<Csr<double>()>> all{
      {"cage", cage},
      {"fem27", [] { return grid27(64); }},
      {"band", band},
      {"web", web},
      {"lap2d", [] { return with_signed_values(poisson2d<double>(2000, 2000)); }},
      {"er", uniform_rows},
      {"rmat16", [] { return recursive(16); }},
      {"rmat18", [] { return recursive(18); }},
      {"road", road},
      {"elast3", [] { return unknowns_per_node(40, 3); }},
      {"block2", [] { return unknowns_per_node(46, 2); }},
      {"block4", [] { return unknowns_per_node(32, 4); }},
      {"block6", [] { return unknowns_per_node(25, 6); }},
      {"star3", [] { return blocks_of(poisson3d<double>(40, 40, 40), 3); }},
      {"plane2", [] { return blocks_of(poisson2d<double>(400, 400, Stencil2d::nine_point), 2); }},
      {"thin-block2", [] { return thinned(unknowns_per_node(46, 2), 0.6); }},
      {"thin-elast3", [] { return thinned(unknowns_per_node(40, 3), 0.5); }},
      {"grid-block", [] { return grid_with_blocks(2000, 500000, 1); }},
      {"grid-blocks", [] { return grid_with_blocks(48, 240, 1000000); }},
      {"circuit", circuit},
      {"lprect", constraints},
      {"tallrect", tall},
      {"small27", [] { return grid27(20); }}};
  return all;
}

/// The structured matrices of Dalton, Olson & Bell, TOMS 2015, table 3, by points of the stencil; each is multiplied by
/// its interpolation.
const std::map<std::string, std::function<Csr<double>()>>& interpolated() {
  static const std::map<std::string, std::function<Csr<double>()>> all{
      {"ap5", [] { return poisson2d<double>(1024, 1024); }},
      {"ap9", [] { return poisson2d<double>(1024, 1024, Stencil2d::nine_point); }},
      {"ap7", [] { return poisson3d<double>(101, 101, 101); }},
      {"ap27", [] { return poisson3d<double>(101, 101, 101, Stencil3d::twentyseven_point); }}};
  return all;
}

/// Patterns get ones, as the vendor needs values.
Csr<double> weighted(Csr<double> matrix) {
  if (!matrix.is_pattern()) return matrix;
  Array<double> ones(matrix.nnz(), Init::none);
  std::fill(ones.begin(), ones.end(), 1.0);
  return Csr<double>(matrix.rows(), matrix.cols(), matrix.row_offsets().to(Device{}), matrix.columns().to(Device{}),
                     std::move(ones), Check::trusted);
}

}  // namespace

const std::vector<std::string>& spgemm_families() {
  static const std::vector<std::string> names{"cage",   "fem27", "band",   "web",     "lap2d",  "er",       "rmat16",
                                              "rmat18", "road",  "elast3", "circuit", "lprect", "tallrect", "small27"};
  return names;
}

SpgemmProblem make_spgemm_problem(const std::string& name) {
  SpgemmProblem problem;
  problem.name = name;
  const auto maker = makers().find(name);
  const bool transposed = name.ends_with(":t");
  const std::string path = transposed ? name.substr(0, name.size() - 2) : name;
  if (maker != makers().end()) {
    problem.a = maker->second();
  } else if (const auto setting = interpolated().find(name); setting != interpolated().end()) {
    problem.a = setting->second();
    problem.b = aggregated_interpolation(problem.a);
    return problem;
  } else if (is_galerkin_problem(name)) {
    return make_galerkin_problem(name);
  } else if (std::filesystem::exists(path)) {
    problem.a = weighted(read_matrix_market<double>(path).matrix);
    problem.name = std::filesystem::path(path).filename().string();
    problem.name = problem.name.substr(0, problem.name.find('.')) + (transposed ? "·ᵀ" : "");
  } else {
    throw std::runtime_error("no family and no file: " + name);
  }
  if (transposed || problem.a.rows() != problem.a.cols()) problem.b = transpose(problem.a.view());
  return problem;
}

}  // namespace tessera::bench
