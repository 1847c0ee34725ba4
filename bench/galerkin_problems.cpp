#include "bench/galerkin_problems.hpp"

#include "tessera/generators.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/statistics.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tessera::bench {

namespace {

constexpr index_t none = -1;

/// Aggregate of every point, and how many there are.
struct Aggregates {
  std::vector<index_t> of;
  index_t count = 0;
};

std::span<const index_t> neighbours(const Csr<double>& a, std::size_t i) {
  const auto row = static_cast<std::int64_t>(i);
  return a.view().columns.subspan(static_cast<std::size_t>(a.row_offsets()[row]),
                                  static_cast<std::size_t>(a.row_offsets()[row + 1] - a.row_offsets()[row]));
}

/// The roots are a maximal set of points that are more than two edges apart (MIS-2), taken in the order of the rows. A
/// neighbour of a root joins its aggregate, a point between roots that of its first neighbour in one.
Aggregates aggregate(const Csr<double>& a) {
  Aggregates result;
  result.of.assign(static_cast<std::size_t>(a.rows()), none);
  const auto of = [&](index_t j) -> index_t& { return result.of[static_cast<std::size_t>(j)]; };
  for (std::size_t i = 0; i < result.of.size(); ++i) {
    const auto near = neighbours(a, i);
    // A neighbour in an aggregate is a root or next to one.
    if (std::any_of(near.begin(), near.end(), [&](index_t j) { return of(j) != none; })) continue;
    for (const index_t j : near) of(j) = result.count;
    ++result.count;
  }
  const std::vector<index_t> by_roots = result.of;
  for (std::size_t i = 0; i < result.of.size(); ++i) {
    if (by_roots[i] != none) continue;
    for (const index_t j : neighbours(a, i)) {
      if (result.of[i] == none) result.of[i] = by_roots[static_cast<std::size_t>(j)];
    }
  }
  return result;
}

/// Ones, one entry per row.
Csr<double> tentative(const Aggregates& aggregates) {
  const auto rows = static_cast<std::int64_t>(aggregates.of.size());
  Array<offset_t> offsets(rows + 1);
  Array<double> ones(rows, Init::none);
  for (std::int64_t i = 0; i < rows; ++i) offsets[i + 1] = i + 1;
  std::fill(ones.begin(), ones.end(), 1.0);
  return {rows, aggregates.count, std::move(offsets), Array<index_t>::copy_of(aggregates.of), std::move(ones)};
}

double diagonal(const Csr<double>& a, std::int64_t i) {
  for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
    if (a.columns()[k] == i) return a.values()[k];
  }
  return 0.0;
}

/// Interpolation of a smoothed aggregation (Dalton, Olson & Bell, TOMS 2015, section 4): P = (I - ω D⁻¹ A) T, ω = 2/3,
/// for an A without empty rows and with a diagonal. T has a column per aggregate.
Csr<double> smoothed_interpolation(const Csr<double>& a, const Aggregates& aggregates) {
  Csr<double> p = spgemm(a, tentative(aggregates)).matrix;
  Array<double> values(p.nnz(), Init::none);
  for (std::int64_t i = 0; i < p.rows(); ++i) {
    const double scale = 2.0 / 3.0 / diagonal(a, i);
    const index_t own = aggregates.of[static_cast<std::size_t>(i)];
    for (offset_t k = p.row_offsets()[i]; k < p.row_offsets()[i + 1]; ++k) {
      values[k] = (p.columns()[k] == own ? 1.0 : 0.0) - scale * p.values()[k];
    }
  }
  return {p.rows(), p.cols(), p.row_offsets().to(Device{}), p.columns().to(Device{}), std::move(values)};
}

/// Points of a grid, and the boxes of three in each direction that they are joined to.
struct Grid {
  std::int64_t side = 0;
  int dimensions = 2;

  [[nodiscard]] std::int64_t points() const { return dimensions == 2 ? side * side : side * side * side; }
  [[nodiscard]] Grid coarse() const { return {(side + 2) / 3, dimensions}; }
  [[nodiscard]] Aggregates boxes() const {
    const std::int64_t coarse_side = coarse().side;
    Aggregates result;
    result.count = static_cast<index_t>(coarse().points());
    result.of.reserve(static_cast<std::size_t>(points()));
    for (std::int64_t i = 0; i < points(); ++i) {
      const std::int64_t z = i / (side * side) / 3;
      const std::int64_t y = i / side % side / 3;
      const std::int64_t x = i % side / 3;
      result.of.push_back(static_cast<index_t>((z * coarse_side + y) * coarse_side + x));
    }
    return result;
  }
};

/// Products of the set-up of a multigrid hierarchy on a grid: "mg7-200:a0p0".
struct GalerkinStep {
  std::string stencil;  ///< "mg5", "mg7", "mg27"
  std::int64_t side = 0;
  std::string step;  ///< "a0p0", "r0ap", "a1p1", "r1ap"
};

GalerkinStep parse_galerkin(const std::string& name) {
  const auto dash = name.find('-');
  const auto colon = name.find(':');
  return {name.substr(0, dash), std::stoll(name.substr(dash + 1, colon - dash - 1)), name.substr(colon + 1)};
}

}  // namespace

Csr<double> aggregated_interpolation(const Csr<double>& a) { return smoothed_interpolation(a, aggregate(a)); }

bool is_galerkin_problem(const std::string& name) {
  const auto dash = name.find('-');
  const auto colon = name.find(':');
  return name.starts_with("mg") && dash != std::string::npos && colon != std::string::npos && dash < colon;
}

SpgemmProblem make_galerkin_problem(const std::string& name) {
  const GalerkinStep wanted = parse_galerkin(name);
  Grid grid{wanted.side, wanted.stencil == "mg5" ? 2 : 3};
  const auto n = wanted.side;
  Csr<double> a = wanted.stencil == "mg5"   ? poisson2d<double>(n, n)
                  : wanted.stencil == "mg7" ? poisson3d<double>(n, n, n)
                                            : poisson3d<double>(n, n, n, Stencil3d::twentyseven_point);
  SpgemmProblem problem;
  problem.name = name;
  for (const char level : {'0', '1'}) {
    Csr<double> p = smoothed_interpolation(a, grid.boxes());
    const bool here = wanted.step.find(level) != std::string::npos;
    if (here && wanted.step.starts_with('a')) {
      problem.a = std::move(a);
      problem.b = std::move(p);
      return problem;
    }
    Csr<double> a_p = spgemm(a, p).matrix;
    Csr<double> r = transpose(p.view());
    if (here) {
      problem.a = std::move(r);
      problem.b = std::move(a_p);
      return problem;
    }
    a = spgemm(r, a_p).matrix;
    grid = grid.coarse();
  }
  throw std::runtime_error("no step of a hierarchy: " + name);
}

}  // namespace tessera::bench
