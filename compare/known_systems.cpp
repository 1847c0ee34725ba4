// Systems that try the claims beside a solution.
#include "compare/known_systems.hpp"

#include "tessera/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <utility>

namespace tessera::compare {

namespace {

constexpr std::array hard_classes{SystemClass::singular, SystemClass::penalty,   SystemClass::scaled,
                                  SystemClass::shift,    SystemClass::nonnormal, SystemClass::damaged};
constexpr std::array ordinary_classes{SystemClass::diffusion,  SystemClass::convection, SystemClass::dominant,
                                      SystemClass::random_spd, SystemClass::indefinite, SystemClass::elastic};

class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}
  [[nodiscard]] double uniform(double low, double high) { return low + (high - low) * unit(); }
  /// 10 to a power that is uniform.
  [[nodiscard]] double decades(double low, double high) { return std::pow(10.0, uniform(low, high)); }
  [[nodiscard]] std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(unit() * static_cast<double>(high - low + 1));
  }

 private:
  [[nodiscard]] double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  std::mt19937_64 engine_;
};

/// A matrix that is put together entry by entry.
class MatrixAssembly {
 public:
  explicit MatrixAssembly(std::int64_t n) : rows_(static_cast<std::size_t>(n)) {}
  explicit MatrixAssembly(const Csr<double>& matrix) : MatrixAssembly(matrix.rows()) {
    const CsrView<double> view = matrix.view();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (offset_t k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
        const auto at = static_cast<std::size_t>(k);
        rows_[i][view.columns[at]] = view.values[at];
      }
    }
  }
  void add(std::int64_t i, std::int64_t j, double value) {
    rows_[static_cast<std::size_t>(i)][static_cast<index_t>(j)] += value;
  }
  /// An edge of weight w: its Laplacian.
  void connect(std::int64_t i, std::int64_t j, double w) {
    add(i, i, w);
    add(j, j, w);
    add(i, j, -w);
    add(j, i, -w);
  }
  void scale_row(std::int64_t i, double factor) {
    for (auto& entry : rows_[static_cast<std::size_t>(i)]) entry.second *= factor;
  }
  void scale_column(std::int64_t j, double factor) {
    for (auto& row : rows_) {
      const auto found = row.find(static_cast<index_t>(j));
      if (found != row.end()) found->second *= factor;
    }
  }
  void clear_row(std::int64_t i) { rows_[static_cast<std::size_t>(i)].clear(); }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  [[nodiscard]] Csr<double> matrix() const {
    std::vector<offset_t> offsets{0};
    std::vector<index_t> columns;
    std::vector<double> values;
    for (const auto& row : rows_) {
      for (const auto& [column, value] : row) {
        columns.push_back(column);
        values.push_back(value);
      }
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
    const auto n = static_cast<std::int64_t>(rows_.size());
    return {n, n, Array<offset_t>::copy_of(offsets), Array<index_t>::copy_of(columns), Array<double>::copy_of(values)};
  }

 private:
  std::vector<std::map<index_t, double>> rows_;
};

struct DrawnMatrix {
  Csr<double> matrix;
  std::string what;
  bool symmetric = true;
  bool definite = true;
};

/// Grid of edges with weights from `weight`; boundary edges to zero where `grounded`.
template <class Weight>
MatrixAssembly grid(std::int64_t nx, std::int64_t ny, bool grounded, const Weight& weight) {
  MatrixAssembly sum(nx * ny);
  for (std::int64_t y = 0; y < ny; ++y) {
    for (std::int64_t x = 0; x < nx; ++x) {
      const std::int64_t i = x + nx * y;
      if (x + 1 < nx) sum.connect(i, i + 1, weight());
      if (y + 1 < ny) sum.connect(i, i + nx, weight());
      if (!grounded) continue;
      const int edges = (x == 0 ? 1 : 0) + (x + 1 == nx ? 1 : 0) + (y == 0 ? 1 : 0) + (y + 1 == ny ? 1 : 0);
      if (edges > 0) sum.add(i, i, edges * weight());
    }
  }
  return sum;
}

DrawnMatrix singular(RandomNumbers& draw) {
  const std::int64_t kind = draw.integer(0, 3);
  if (kind == 0) {
    const std::int64_t n = draw.integer(6, 60);
    const double shift = draw.uniform(0.5, 3.0);
    MatrixAssembly sum(n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) sum.add(i, j, 1.0 / (static_cast<double>(i + j) + shift));
    }
    return {sum.matrix(), fmt::format("Hilbert of {}, shifted by {:.2g}", n, shift)};
  }
  if (kind == 1) {
    const std::int64_t n = draw.integer(20, 150);
    const double width = draw.uniform(0.05, 0.6);
    std::vector<std::pair<double, double>> points;
    for (std::int64_t i = 0; i < n; ++i) points.emplace_back(draw.uniform(0, 1), draw.uniform(0, 1));
    MatrixAssembly sum(n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        const auto [xi, yi] = points[static_cast<std::size_t>(i)];
        const auto [xj, yj] = points[static_cast<std::size_t>(j)];
        sum.add(i, j, std::exp(-((xi - xj) * (xi - xj) + (yi - yj) * (yi - yj)) / (width * width)));
      }
    }
    return {sum.matrix(), fmt::format("Gaussian kernel of {}, width {:.2g}", n, width)};
  }
  if (kind == 2) {
    const std::int64_t n = draw.integer(6, 24);
    MatrixAssembly sum(n);
    std::vector<double> at;
    constexpr int points = 80;
    at.reserve(points);
    for (int i = 0; i < points; ++i) at.push_back(draw.uniform(-1, 1));
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0.0;
        for (const double x : at) total += std::pow(x, static_cast<double>(i + j));
        sum.add(i, j, total);
      }
    }
    return {sum.matrix(), fmt::format("Gram matrix of {} monomials", n)};
  }
  const std::int64_t n = draw.integer(10, 60);
  MatrixAssembly sum(n);
  std::vector<double> nodes;
  for (std::int64_t i = 0; i < n; ++i) nodes.push_back(draw.uniform(0.1, 10.0));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      sum.add(i, j, 1.0 / (nodes[static_cast<std::size_t>(i)] + nodes[static_cast<std::size_t>(j)]));
    }
  }
  return {sum.matrix(), fmt::format("Cauchy of {}", n)};
}

DrawnMatrix penalty(RandomNumbers& draw) {
  const std::int64_t nx = draw.integer(5, 40);
  const std::int64_t ny = draw.integer(5, 40);
  const double size = draw.decades(4, 13);
  MatrixAssembly sum = grid(nx, ny, false, [&] { return draw.uniform(0.5, 2.0); });
  const bool rows_only = draw.integer(0, 2) == 0;
  for (std::int64_t i = 0; i < nx * ny; ++i) {
    const std::int64_t x = i % nx;
    const std::int64_t y = i / nx;
    if (x > 0 && y > 0 && x + 1 < nx && y + 1 < ny) continue;
    if (rows_only) {
      sum.clear_row(i);
      sum.add(i, i, draw.integer(0, 1) == 0 ? size : 1.0 / size);
    } else {
      sum.add(i, i, size);
    }
  }
  return {sum.matrix(), fmt::format("{} of {:.0e} on {} x {}", rows_only ? "boundary rows" : "penalty", size, nx, ny),
          !rows_only, !rows_only};
}

DrawnMatrix scaled(RandomNumbers& draw) {
  const std::int64_t kind = draw.integer(0, 4);
  const double range = draw.uniform(2.0, 6.0);
  const std::int64_t nx = draw.integer(5, 35);
  const std::int64_t ny = draw.integer(5, 35);
  const bool symmetric = kind == 0 || kind == 1;
  MatrixAssembly sum = grid(nx, ny, true, [&] { return draw.uniform(0.5, 2.0); });
  const std::int64_t n = sum.size();
  if (!symmetric) {
    for (std::int64_t i = 0; i + 1 < n; ++i) sum.add(i, i + 1, draw.uniform(0.0, 0.5));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const double graded = std::pow(10.0, range * (2.0 * static_cast<double>(i) / static_cast<double>(n) - 1.0));
    const double row = kind == 1 ? graded : draw.decades(-range, range);
    const double column = symmetric ? row : draw.decades(-range, range);
    if (kind != 3) sum.scale_row(i, row);
    if (kind != 2) sum.scale_column(i, column);
  }
  constexpr std::array names{"symmetric", "graded", "rows", "columns", "both"};
  return {sum.matrix(),
          fmt::format("{} scaled by 1e±{:.1f}, {} x {}", names.at(static_cast<std::size_t>(kind)), range, nx, ny),
          symmetric, symmetric};
}

/// Laplacian of a random graph with power-law weights of its vertices, components joined.
MatrixAssembly power_law_graph(RandomNumbers& draw, std::int64_t n) {
  MatrixAssembly sum(n);
  for (std::int64_t i = 1; i < n; ++i) {
    const auto to = static_cast<std::int64_t>(static_cast<double>(i) * std::pow(draw.uniform(0, 1), 2.5));
    sum.connect(i, std::min(to, i - 1), 1.0);
    const auto other = static_cast<std::int64_t>(static_cast<double>(n) * std::pow(draw.uniform(0, 1), 2.5));
    if (other != i && other < n) sum.connect(i, other, 1.0);
  }
  return sum;
}

DrawnMatrix shift(RandomNumbers& draw) {
  const std::int64_t kind = draw.integer(0, 3);
  const double gap = draw.decades(-12, -3);
  if (kind == 0) {
    const std::int64_t n = draw.integer(50, 1500);
    MatrixAssembly sum = power_law_graph(draw, n);
    for (std::int64_t i = 0; i < n; ++i) sum.add(i, i, gap);
    return {sum.matrix(), fmt::format("graph of {}, {:.0e}", n, gap)};
  }
  if (kind == 1) {
    const std::int64_t nx = draw.integer(6, 40);
    const std::int64_t ny = draw.integer(6, 40);
    MatrixAssembly sum = grid(nx, ny, false, [&] { return draw.uniform(0.5, 2.0); });
    for (std::int64_t i = 0; i < nx * ny; ++i) sum.add(i, i, gap);
    return {sum.matrix(), fmt::format("Neumann grid {} x {}, {:.0e}", nx, ny, gap)};
  }
  const std::int64_t nx = draw.integer(6, 40);
  const std::int64_t ny = draw.integer(6, 40);
  const bool inner = kind == 3;
  const std::int64_t p = inner ? draw.integer(1, nx / 2) : 1;
  const std::int64_t q = inner ? draw.integer(1, ny / 2) : 1;
  const auto eigenvalue = [](std::int64_t k, std::int64_t m) {
    const double s = std::sin(std::numbers::pi * static_cast<double>(k) / (2.0 * static_cast<double>(m + 1)));
    return 4.0 * s * s;
  };
  MatrixAssembly sum = grid(nx, ny, true, [] { return 1.0; });
  const double lambda = eigenvalue(p, nx) + eigenvalue(q, ny);
  const double sign = inner && draw.integer(0, 1) == 0 ? -1.0 : 1.0;
  for (std::int64_t i = 0; i < nx * ny; ++i) sum.add(i, i, -lambda + sign * gap);
  return {sum.matrix(), fmt::format("grid {} x {} at mode ({}, {}), {:.0e}", nx, ny, p, q, sign * gap), true, !inner};
}

DrawnMatrix nonnormal(RandomNumbers& draw) {
  const std::int64_t kind = draw.integer(0, 3);
  const std::int64_t n = draw.integer(20, 400);
  if (kind == 0) {
    const std::int64_t k = draw.integer(1, 5);
    MatrixAssembly sum(n);
    for (std::int64_t i = 0; i < n; ++i) {
      if (i > 0) sum.add(i, i - 1, -1.0);
      for (std::int64_t j = i; j <= std::min(n - 1, i + k); ++j) sum.add(i, j, 1.0);
    }
    return {sum.matrix(), fmt::format("Grcar of {}, {}", n, k), false, false};
  }
  if (kind == 1) {
    const std::int64_t m = draw.integer(10, 100);
    const double theta = draw.uniform(0.6, 1.5);
    MatrixAssembly sum(m);
    for (std::int64_t i = 0; i < m; ++i) {
      const double s = std::pow(std::sin(theta), static_cast<double>(i));
      sum.add(i, i, s);
      for (std::int64_t j = i + 1; j < m; ++j) sum.add(i, j, -std::cos(theta) * s);
    }
    return {sum.matrix(), fmt::format("Kahan of {}, {:.2f}", m, theta), false, false};
  }
  if (kind == 2) {
    const double off = draw.uniform(0.9, 2.5);
    MatrixAssembly sum(n);
    for (std::int64_t i = 0; i < n; ++i) {
      sum.add(i, i, 1.0);
      if (i + 1 < n) sum.add(i, i + 1, -off);
      if (i + 7 < n) sum.add(i, i + 7, draw.uniform(-0.1, 0.1));
    }
    return {sum.matrix(), fmt::format("bidiagonal of {}, {:.2f}", n, off), false, false};
  }
  const std::int64_t nx = draw.integer(6, 40);
  const std::int64_t ny = draw.integer(6, 40);
  const double peclet = draw.decades(0, 3);
  MatrixAssembly sum = grid(nx, ny, true, [] { return 1.0; });
  for (std::int64_t i = 0; i < nx * ny; ++i) {
    if (i % nx + 1 < nx) sum.add(i, i + 1, peclet);
    if (i % nx > 0) sum.add(i, i - 1, -peclet);
  }
  return {sum.matrix(), fmt::format("central convection {:.0f} on {} x {}", peclet, nx, ny), false, false};
}

DrawnMatrix damaged(RandomNumbers& draw) {
  const std::int64_t nx = draw.integer(6, 40);
  const std::int64_t ny = draw.integer(6, 40);
  const std::int64_t kind = draw.integer(0, 2);
  if (kind == 0) {
    const double size = draw.decades(-10, 10);
    const double share = draw.uniform(0.01, 0.2);
    MatrixAssembly sum = grid(nx, ny, true, [&] { return draw.uniform(0, 1) < share ? size : draw.uniform(0.5, 2.0); });
    return {sum.matrix(), fmt::format("{:.0f} % of {} x {} with {:.0e}", 100 * share, nx, ny, size)};
  }
  if (kind == 1) {
    // A block that is held by weak links alone.
    const double link = draw.decades(-10, -4);
    const std::int64_t left = draw.integer(1, nx - 2);
    MatrixAssembly sum(nx * ny);
    for (std::int64_t i = 0; i < nx * ny; ++i) {
      const std::int64_t x = i % nx;
      if (x + 1 < nx) sum.connect(i, i + 1, x == left ? link : draw.uniform(0.5, 2.0));
      if (i + nx < nx * ny) sum.connect(i, i + nx, draw.uniform(0.5, 2.0));
      if (x == 0) sum.add(i, i, 1.0);
    }
    return {sum.matrix(), fmt::format("weak links {:.0e} in {} x {}", link, nx, ny)};
  }
  // Springs in series, some of which have lost their stiffness or are of negative one.
  const std::int64_t n = draw.integer(30, 1000);
  const double lost = draw.decades(-9, -3) * (draw.integer(0, 2) == 0 ? -1.0 : 1.0);
  MatrixAssembly sum(n);
  sum.add(0, 0, 1.0);
  sum.add(n - 1, n - 1, 1.0);
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    sum.connect(i, i + 1, draw.uniform(0, 1) < 0.01 ? lost : draw.uniform(0.5, 2.0));
    if (i + 5 < n && draw.uniform(0, 1) < 0.1) sum.connect(i, i + 5, 1.0);
  }
  return {sum.matrix(), fmt::format("springs of {}, {:.0e} lost", n, lost), true, lost > 0.0};
}

DrawnMatrix diffusion(RandomNumbers& draw) {
  const std::int64_t kind = draw.integer(0, 2);
  const double spread = draw.uniform(0.0, 1.0);
  if (kind == 0) {
    const std::int64_t side = draw.integer(6, 24);
    return {poisson3d<double>(side, side, draw.integer(6, 24)), fmt::format("Poisson, 3-D, side {}", side)};
  }
  const std::int64_t nx = draw.integer(10, 120);
  const std::int64_t ny = draw.integer(10, 120);
  MatrixAssembly sum = grid(nx, ny, true, [&] { return draw.decades(-spread, spread); });
  const double mass = kind == 1 ? 0.0 : draw.decades(-4, 0);
  for (std::int64_t i = 0; i < nx * ny; ++i) sum.add(i, i, mass);
  return {sum.matrix(), fmt::format("diffusion of 1e±{:.1f} on {} x {}, mass {:.0e}", spread, nx, ny, mass)};
}

DrawnMatrix convection(RandomNumbers& draw) {
  const std::int64_t nx = draw.integer(10, 100);
  const std::int64_t ny = draw.integer(10, 100);
  const double wind = draw.decades(-2, 1);
  MatrixAssembly sum = grid(nx, ny, true, [&] { return draw.uniform(0.5, 2.0); });
  for (std::int64_t i = 0; i < nx * ny; ++i) {
    sum.add(i, i, wind);
    if (i % nx > 0) sum.add(i, i - 1, -wind);
  }
  return {sum.matrix(), fmt::format("upwind convection {:.2g} on {} x {}", wind, nx, ny), false, false};
}

DrawnMatrix dominant(RandomNumbers& draw) {
  const std::int64_t n = draw.integer(100, 6000);
  const std::int64_t per_row = draw.integer(3, 10);
  const double slack = draw.decades(-3, 0);
  const bool symmetric = draw.integer(0, 1) == 0;
  MatrixAssembly sum(n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < per_row; ++k) {
      const std::int64_t j = draw.integer(0, n - 1);
      if (j == i) continue;
      const double value = draw.uniform(-1.0, 1.0);
      sum.add(i, j, value);
      sum.add(i, i, std::abs(value));
      if (symmetric) {
        sum.add(j, i, value);
        sum.add(j, j, std::abs(value));
      }
    }
    sum.add(i, i, slack);
  }
  return {sum.matrix(), fmt::format("dominant by {:.0e}, {} rows", slack, n), symmetric, symmetric};
}

/// B Bᵀ + δ I of a sparse random B.
DrawnMatrix random_spd(RandomNumbers& draw) {
  const std::int64_t n = draw.integer(60, 2500);
  const std::int64_t per_column = draw.integer(2, 4);
  const double delta = draw.decades(-5, -1);
  MatrixAssembly sum(n);
  for (std::int64_t column = 0; column < n + n / 2; ++column) {
    std::vector<std::pair<std::int64_t, double>> entries;
    for (std::int64_t k = 0; k < per_column; ++k) {
      const std::int64_t near = std::min(n - 1, std::max<std::int64_t>(0, column * 2 / 3 + draw.integer(-8, 8)));
      entries.emplace_back(near, draw.uniform(-1, 1));
    }
    for (const auto& [i, u] : entries) {
      for (const auto& [j, v] : entries) sum.add(i, j, u * v);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) sum.add(i, i, delta);
  return {sum.matrix(), fmt::format("B Bt + {:.0e} of {}", delta, n)};
}

DrawnMatrix indefinite(RandomNumbers& draw) {
  const std::int64_t nx = draw.integer(8, 60);
  const std::int64_t ny = draw.integer(8, 60);
  const double shift = draw.uniform(0.02, 0.6);
  MatrixAssembly sum = grid(nx, ny, true, [&] { return draw.uniform(0.8, 1.25); });
  for (std::int64_t i = 0; i < nx * ny; ++i) sum.add(i, i, -shift);
  return {sum.matrix(), fmt::format("grid {} x {} less {:.2f}", nx, ny, shift), true, false};
}

DrawnMatrix elastic(RandomNumbers& draw) {
  const std::int64_t side = draw.integer(3, 9);
  const double nu = draw.uniform(0.1, 0.45);
  return {elasticity3d<double>(side, nu), fmt::format("elasticity, side {}, nu {:.2f}", side, nu)};
}

DrawnMatrix drawn(SystemClass kind, RandomNumbers& draw) {
  switch (kind) {
    case SystemClass::singular:
      return singular(draw);
    case SystemClass::penalty:
      return penalty(draw);
    case SystemClass::scaled:
      return scaled(draw);
    case SystemClass::shift:
      return shift(draw);
    case SystemClass::nonnormal:
      return nonnormal(draw);
    case SystemClass::damaged:
      return damaged(draw);
    case SystemClass::diffusion:
      return diffusion(draw);
    case SystemClass::convection:
      return convection(draw);
    case SystemClass::dominant:
      return dominant(draw);
    case SystemClass::random_spd:
      return random_spd(draw);
    case SystemClass::indefinite:
      return indefinite(draw);
    case SystemClass::elastic:
      break;
  }
  return elastic(draw);
}

std::vector<double> product(const CsrView<double>& a, const std::vector<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < y.size(); ++i) {
    long double total = 0.0L;
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      total +=
          static_cast<long double>(a.values[at]) * static_cast<long double>(x[static_cast<std::size_t>(a.columns[at])]);
    }
    y[i] = static_cast<double>(total);
  }
  return y;
}

template <std::size_t count>
std::vector<KnownSystem> systems_of(const std::array<SystemClass, count>& classes, std::uint64_t per_class,
                                    std::uint64_t first_seed) {
  std::vector<KnownSystem> systems;
  for (const SystemClass kind : classes) {
    for (std::uint64_t seed = first_seed; seed < first_seed + per_class; ++seed) {
      systems.push_back(known_system(kind, seed));
    }
  }
  return systems;
}

}  // namespace

std::string_view to_string(SystemClass kind) {
  constexpr std::array names{"singular",  "penalty",    "scaled",   "shift",      "nonnormal",  "damaged",
                             "diffusion", "convection", "dominant", "random_spd", "indefinite", "elastic"};
  return names.at(static_cast<std::size_t>(kind));
}

KnownSystem known_system(SystemClass kind, std::uint64_t seed) {
  RandomNumbers draw(1000 * (static_cast<std::uint64_t>(kind) + 1) + seed);
  DrawnMatrix result = drawn(kind, draw);
  KnownSystem system;
  system.kind = kind;
  system.seed = seed;
  system.name = fmt::format("{}/{}: {}", to_string(kind), seed, result.what);
  system.matrix = std::move(result.matrix);
  system.symmetric = result.symmetric;
  system.definite = result.definite;
  for (index_t i = 0; i < system.matrix.rows(); ++i) system.exact.push_back(draw.uniform(-1.0, 1.0));
  system.b = product(system.matrix.view(), system.exact);
  return system;
}

std::vector<KnownSystem> hard_systems(std::uint64_t per_class, std::uint64_t first_seed) {
  return systems_of(hard_classes, per_class, first_seed);
}

std::vector<KnownSystem> ordinary_systems(std::uint64_t per_class, std::uint64_t first_seed) {
  return systems_of(ordinary_classes, per_class, first_seed);
}

}  // namespace tessera::compare
