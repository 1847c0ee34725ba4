// Structures of matrices that are drawn by a seed, for products that nobody tuned a kernel for. Their parameters
// (offsets of diagonals, widths, exponents, sizes of blocks and windows) are drawn too.
#include "bench/end_to_end.hpp"
#include "core/parallel.hpp"
#include "core/random.hpp"
#include "tessera/error.hpp"
#include "tessera/generators.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace tessera::bench {

namespace {

using Random = detail::SplitMix64;

/// The columns of a row, in any order and perhaps twice.
using RowOfColumns = std::function<void(std::int64_t row, Random& random, std::vector<index_t>& columns)>;

/// A number in [low, high].
[[nodiscard]] std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

/// Every row draws from a stream of its own, once to count and once to fill.
[[nodiscard]] Csr<double> matrix_of_rows(std::int64_t rows, std::int64_t cols, std::uint64_t seed,
                                         const RowOfColumns& columns_of) {
  const auto sorted_row = [&](std::int64_t row, std::vector<index_t>& columns) {
    columns.clear();
    Random random(seed, static_cast<std::uint64_t>(row));
    columns_of(row, random, columns);
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  };
  Array<offset_t> offsets(rows + 1);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    std::vector<index_t> columns;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      sorted_row(row, columns);
      offsets[row + 1] = static_cast<offset_t>(columns.size());
    }
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  Array<index_t> columns(offsets[rows], Init::none);
  Array<double> values(offsets[rows], Init::none);
  host::parallel_for(Device{}, rows, [&](host::Range range) {
    std::vector<index_t> row_columns;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      sorted_row(row, row_columns);
      std::copy(row_columns.begin(), row_columns.end(), columns.begin() + offsets[row]);
      Random random(~seed, static_cast<std::uint64_t>(row));
      for (offset_t k = offsets[row]; k < offsets[row + 1]; ++k) values[k] = 2.0 * random.uniform() - 1.0;
    }
  });
  return {rows, cols, std::move(offsets), std::move(columns), std::move(values), Check::trusted};
}

void add_in_range(std::int64_t column, std::int64_t cols, std::vector<index_t>& columns) {
  if (column >= 0 && column < cols) columns.push_back(static_cast<index_t>(column));
}

/// Six to twenty diagonals, close to the main one or anywhere in half the matrix.
[[nodiscard]] Csr<double> diagonals(std::int64_t nnz, std::uint64_t seed, bool far) {
  Random random(seed);
  const std::int64_t count = between(random, 6, 20);
  const std::int64_t rows = nnz / count;
  std::vector<std::int64_t> offsets{0};
  const std::int64_t reach = far ? rows / 2 : 2 * count;
  while (static_cast<std::int64_t>(offsets.size()) < count) offsets.push_back(between(random, -reach, reach));
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t row, Random& /*random*/, std::vector<index_t>& columns) {
    for (const std::int64_t offset : offsets) add_in_range(row + offset, rows, columns);
  });
}

/// Columns at random within a band around the diagonal.
[[nodiscard]] Csr<double> local_columns(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t length = between(random, 8, 30);
  const std::int64_t width = between(random, 200, 20000);
  const std::int64_t rows = nnz / length;
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t row, Random& each, std::vector<index_t>& columns) {
    for (std::int64_t k = 0; k < length; ++k) add_in_range(row + between(each, -width, width), rows, columns);
  });
}

[[nodiscard]] Csr<double> scattered_columns(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t most = between(random, 6, 24);
  const std::int64_t rows = 2 * nnz / most;
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t /*row*/, Random& each, std::vector<index_t>& columns) {
    const std::int64_t length = between(each, 1, most);
    for (std::int64_t k = 0; k < length; ++k) add_in_range(between(each, 0, rows - 1), rows, columns);
  });
}

/// Dense blocks at random places near the diagonal, rows of a block alike.
[[nodiscard]] Csr<double> blocks(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t size = between(random, 2, 7);
  const std::int64_t per_row = between(random, 5, 15);
  const std::int64_t nodes = nnz / (size * size * per_row);
  const std::int64_t width = between(random, 50, 5000);
  return matrix_of_rows(nodes * size, nodes * size, seed,
                        [=](std::int64_t row, Random& /*random*/, std::vector<index_t>& columns) {
                          const std::int64_t node = row / size;
                          Random each(seed + 1, static_cast<std::uint64_t>(node));
                          for (std::int64_t k = 0; k < per_row; ++k) {
                            const std::int64_t other = node + (k == 0 ? 0 : between(each, -width, width));
                            for (std::int64_t c = 0; c < size; ++c) {
                              add_in_range(other * size + c, nodes * size, columns);
                            }
                          }
                        });
}

/// Lengths and columns by power laws; popular columns lie anywhere.
[[nodiscard]] Csr<double> power_law(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const double exponent = 0.5 + 0.3 * random.uniform();
  const std::int64_t rows = nnz / 12;
  const auto cap = static_cast<double>(rows) / 50.0;
  const std::uint64_t stride = 0x9e3779b1U;
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t /*row*/, Random& each, std::vector<index_t>& columns) {
    const double length = std::min(cap, 3.0 * std::pow(1.0 - each.uniform(), -exponent));
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(length); ++k) {
      const auto rank = static_cast<std::uint64_t>(static_cast<double>(rows) * std::pow(each.uniform(), 3.0));
      columns.push_back(static_cast<index_t>(rank * stride % static_cast<std::uint64_t>(rows)));
    }
  });
}

/// Sixty columns hold a third of the entries, and a few rows a twentieth of all columns.
[[nodiscard]] Csr<double> hubs(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t rows = nnz / 10;
  std::vector<index_t> popular;
  for (int k = 0; k < 60; ++k) popular.push_back(static_cast<index_t>(between(random, 0, rows - 1)));
  const std::int64_t full = between(random, 3, 9);
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t row, Random& each, std::vector<index_t>& columns) {
    const bool is_hub = row % (rows / full) == rows / (2 * full);
    const std::int64_t length = is_hub ? rows / 20 : between(each, 3, 12);
    for (std::int64_t k = 0; k < length; ++k) {
      const bool to_hub = !is_hub && k % 3 == 0;
      columns.push_back(to_hub ? popular[static_cast<std::size_t>(between(each, 0, 59))]
                               : static_cast<index_t>(between(each, 0, rows - 1)));
    }
  });
}

/// Nine rows of ten are empty.
[[nodiscard]] Csr<double> empty_rows(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t length = between(random, 4, 30);
  const std::int64_t rows = 10 * nnz / length;
  return matrix_of_rows(rows, rows, seed, [=](std::int64_t row, Random& each, std::vector<index_t>& columns) {
    if (each.uniform() < 0.9) return;
    for (std::int64_t k = 0; k < length; ++k) add_in_range(row + between(each, -100000, 100000), rows, columns);
  });
}

/// Rows and columns of a symmetric structure, numbered anew at random within windows.
[[nodiscard]] Csr<double> shuffled_in_windows(const Csr<double>& mesh, std::int64_t window, std::uint64_t seed) {
  const std::int64_t rows = mesh.rows();
  std::vector<index_t> old_of(static_cast<std::size_t>(rows));
  std::iota(old_of.begin(), old_of.end(), 0);
  Random random(seed);
  for (std::int64_t begin = 0; begin < rows; begin += window) {
    for (std::int64_t i = std::min(begin + window, rows) - 1; i > begin; --i) {
      std::swap(old_of[static_cast<std::size_t>(i)], old_of[static_cast<std::size_t>(between(random, begin, i))]);
    }
  }
  std::vector<index_t> new_of(old_of.size());
  for (std::size_t i = 0; i < old_of.size(); ++i) {
    new_of[static_cast<std::size_t>(old_of[i])] = static_cast<index_t>(i);
  }
  const auto view = mesh.view();
  return matrix_of_rows(rows, rows, seed, [&](std::int64_t row, Random& /*random*/, std::vector<index_t>& columns) {
    const auto old = static_cast<std::size_t>(old_of[static_cast<std::size_t>(row)]);
    for (offset_t k = view.row_offsets[old]; k < view.row_offsets[old + 1]; ++k) {
      columns.push_back(new_of[static_cast<std::size_t>(view.columns[static_cast<std::size_t>(k)])]);
    }
  });
}

[[nodiscard]] Csr<double> mesh2d(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(nnz) / 5.0));
  return shuffled_in_windows(poisson2d<double>(side, side), between(random, 100, 20000), seed);
}

[[nodiscard]] Csr<double> mesh3d(std::int64_t nnz, std::uint64_t seed) {
  Random random(seed);
  const auto side = static_cast<std::int64_t>(std::cbrt(static_cast<double>(nnz) / 27.0));
  return shuffled_in_windows(poisson3d<double>(side, side, side, Stencil3d::twentyseven_point),
                             between(random, 1000, 50000), seed);
}

/// `shape` columns per row, or rows per column where it is below 1.
[[nodiscard]] Csr<double> rectangular(std::int64_t nnz, std::uint64_t seed, double shape) {
  Random random(seed);
  const std::int64_t length = between(random, 5, 20) * (shape > 1.0 ? 4 : 1);
  const std::int64_t rows = nnz / length;
  const auto cols = std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(rows) * shape));
  return matrix_of_rows(rows, cols, seed, [=](std::int64_t row, Random& each, std::vector<index_t>& columns) {
    const auto middle = static_cast<std::int64_t>(static_cast<double>(row) * shape);
    for (std::int64_t k = 0; k < length; ++k) {
      const bool near = each.uniform() < 0.5;
      add_in_range(near ? middle + between(each, -300, 300) : between(each, 0, cols - 1), cols, columns);
    }
  });
}

using Maker = std::function<Csr<double>(std::int64_t, std::uint64_t)>;

[[nodiscard]] const std::vector<std::pair<std::string, Maker>>& makers() {
  static const std::vector<std::pair<std::string, Maker>> all{
      {"diagonals-near", [](std::int64_t nnz, std::uint64_t seed) { return diagonals(nnz, seed, false); }},
      {"diagonals-far", [](std::int64_t nnz, std::uint64_t seed) { return diagonals(nnz, seed, true); }},
      {"local-columns", local_columns},
      {"scattered-columns", scattered_columns},
      {"blocks", blocks},
      {"power-law", power_law},
      {"hubs", hubs},
      {"empty-rows", empty_rows},
      {"mesh2d-shuffled", mesh2d},
      {"mesh3d-shuffled", mesh3d},
      {"rectangular-tall", [](std::int64_t nnz, std::uint64_t seed) { return rectangular(nnz, seed, 0.1); }},
      {"rectangular-wide", [](std::int64_t nnz, std::uint64_t seed) { return rectangular(nnz, seed, 8.0); }}};
  return all;
}

}  // namespace

const std::vector<std::string>& drawn_structures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const auto& [name, maker] : makers()) result.push_back(name);
    return result;
  }();
  return names;
}

Csr<double> drawn_structure(const std::string& name, std::int64_t nnz, std::uint64_t seed) {
  std::uint64_t number = 0;
  for (const auto& [known, maker] : makers()) {
    ++number;
    // Structures share no draws.
    if (known == name) return maker(nnz, Random(seed, number).next());
  }
  throw InvalidArgument("no drawn structure is named " + name);
}

}  // namespace tessera::bench
