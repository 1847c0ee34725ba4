/// The hierarchy of AMG against its definitions, recomputed in Eigen: strong entries, aggregates, prolongators,
/// Galerkin products, eigenvalues, the inverse of the coarsest matrix; new values on old aggregates.
#include "solvers/amg/galerkin_size.hpp"
#include "support/odd_structures.hpp"
#include "tessera/statistics.hpp"
#include "tests/solvers/amg_systems.hpp"
#include "tests/support/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <set>

namespace tessera::testing {
namespace {

template <class T>
using Built = detail::AmgSetup<T>;

std::vector<std::pair<std::string, Csr<double>>> symmetric_matrices() {
  std::vector<std::pair<std::string, Csr<double>>> result;
  result.emplace_back("poisson2d", poisson2d<double>(37, 29));
  result.emplace_back("poisson2d 9 points", poisson2d<double>(24, 31, Stencil2d::nine_point));
  result.emplace_back("poisson3d", poisson3d<double>(11, 10, 9));
  result.emplace_back("poisson3d 27 points", poisson3d<double>(9, 10, 8, Stencil3d::twentyseven_point));
  result.emplace_back("anisotropic", anisotropic2d<double>(40, 30, 0.01));
  result.emplace_back("jumps", jump3d<double>(11, 12, 10, {.block = 4}));
  result.emplace_back("shuffled", generated("poisson3d:10,shuffle=1"));
  result.emplace_back("neumann", generated("poisson2d:32,neumann=1"));
  result.emplace_back("positive off-diagonals", stretched_elements(30, 5.0));
  result.emplace_back("identity rows", with_identity_rows(33));
  result.emplace_back("star", star_matrix(300));
  return result;
}

/// |found - expected| <= factor ε bound, entry by entry.
void expect_within(const Sparse& found, const Sparse& expected, const Sparse& bound, double tolerance) {
  const Sparse difference = found - expected;
  ASSERT_EQ(difference.rows(), bound.rows());
  for (int i = 0; i < difference.rows(); ++i) {
    std::map<Eigen::Index, double> allowed;
    for (Sparse::InnerIterator entry(bound, i); entry; ++entry) allowed[entry.col()] = entry.value();
    for (Sparse::InnerIterator entry(difference, i); entry; ++entry) {
      ASSERT_LE(std::abs(entry.value()), tolerance * allowed[entry.col()]) << i << ' ' << entry.col();
    }
  }
}

/// A_{l+1} = Pᵀ A P. Sums of less than m terms err by m ε Σ |p| |a| |p| (Higham §3.1), twice.
template <class T>
void expect_galerkin(const AmgOptions& options, const Csr<T>& a) {
  const Built<T> setup(a.view(), options, Device{});
  const auto& levels = setup.hierarchy().levels;
  for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
    const Sparse fine = as_double(*levels[l].a);
    const Sparse p = as_double(*levels[l].p);
    const Sparse coarse = as_double(*levels[l + 1].a);
    const Sparse transposed = p.transpose();
    expect_identical(levels[l].r->view(), transpose(levels[l].p->view()).view());
    const Sparse magnitude = Sparse(transposed.cwiseAbs()) * Sparse(fine.cwiseAbs()) * Sparse(p.cwiseAbs());
    expect_within(coarse, transposed * fine * p, magnitude,
                  1000.0 * static_cast<double>(std::numeric_limits<T>::epsilon()));
  }
}

TEST(AmgSetup, CoarseMatricesAreGalerkinProducts) {
  for (const auto& [name, a] : symmetric_matrices()) {
    SCOPED_TRACE(name);
    expect_galerkin<double>({.coarsest_rows = 12}, a);
  }
  expect_galerkin<double>({.coarsest_rows = 12}, convection_diffusion<double>(12, 11, 10, {.x = 3, .y = -1}));
  expect_galerkin<float>({.coarsest_rows = 12}, poisson2d<float>(37, 29));
  expect_galerkin<float>({.coarsest_rows = 12}, jump3d<float>(11, 12, 10, {.block = 4}));
  AmgOptions blocks{.coarsest_rows = 12, .block_size = 3};
  expect_galerkin<double>(blocks, elasticity3d<double>(7));
  blocks.coordinates = generator_coordinates(parse_generator("elasticity3d:7"));
  expect_galerkin<double>(blocks, elasticity3d<double>(7));
}

/// A maximal independent set of distance 2: an aggregate has a root whose neighbours all belong to it (so roots are
/// more than two steps apart), and no member is further than two steps from it. Rows without strong entries stay out.
void expect_aggregates(const Sparse& strong, const std::vector<index_t>& of_row, index_t count) {
  const int n = static_cast<int>(strong.rows());
  std::vector<std::vector<int>> members(static_cast<std::size_t>(count));
  for (int i = 0; i < n; ++i) {
    const index_t aggregate = of_row[static_cast<std::size_t>(i)];
    ASSERT_GE(aggregate, -1);
    ASSERT_LT(aggregate, count);
    const bool alone = strong.row(i).nonZeros() == 1;
    ASSERT_EQ(aggregate < 0, alone) << "row " << i;
    if (aggregate >= 0) members[static_cast<std::size_t>(aggregate)].push_back(i);
  }
  const auto within = [&](int root, int steps) {
    std::set<int> reached{root};
    for (int step = 0; step < steps; ++step) {
      for (const int i : std::set<int>(reached)) {
        for (Sparse::InnerIterator entry(strong, i); entry; ++entry) reached.insert(static_cast<int>(entry.col()));
      }
    }
    return reached;
  };
  for (index_t aggregate = 0; aggregate < count; ++aggregate) {
    const auto& rows = members[static_cast<std::size_t>(aggregate)];
    ASSERT_GE(rows.size(), 2U) << "a root has a neighbour";
    const bool has_root = std::any_of(rows.begin(), rows.end(), [&](int root) {
      const std::set<int> near = within(root, 1);
      const std::set<int> reach = within(root, 2);
      return std::all_of(near.begin(), near.end(),
                         [&](int i) { return of_row[static_cast<std::size_t>(i)] == aggregate; }) &&
             std::all_of(rows.begin(), rows.end(), [&](int i) { return reach.contains(i); });
    });
    ASSERT_TRUE(has_root) << "aggregate " << aggregate;
  }
}

/// P = (I - ω D_f⁻¹ A_f) T entry by entry. ω is found from the entry that says most of it.
/// \returns ω
double expect_smoothed(const Sparse& p, const FilterOracle& filtered, const std::vector<index_t>& of_row) {
  Sparse t(p.rows(), p.cols());
  std::vector<Eigen::Triplet<double, int>> ones;
  for (std::size_t i = 0; i < of_row.size(); ++i) {
    if (of_row[i] >= 0) ones.emplace_back(static_cast<int>(i), of_row[i], 1.0);
  }
  t.setFromTriplets(ones.begin(), ones.end());
  const Sparse correction = filtered.diagonal.cwiseInverse().asDiagonal() * filtered.matrix * t;
  const Eigen::MatrixXd dense_p(p);
  const Eigen::MatrixXd dense_t(t);
  const Eigen::MatrixXd dense_c(correction);
  Eigen::Index i = 0;
  Eigen::Index j = 0;
  dense_c.cwiseAbs().maxCoeff(&i, &j);
  const double omega = (dense_t(i, j) - dense_p(i, j)) / dense_c(i, j);
  EXPECT_LE((dense_p - (dense_t - omega * dense_c)).cwiseAbs().maxCoeff(), 1e-12);
  return omega;
}

/// Strong entries, aggregates, P and its ω, level by level, each from the matrix of that level.
TEST(AmgSetup, ProlongatorsAreSmoothedAggregates) {
  const AmgOptions options{.coarsest_rows = 12};
  for (const auto& [name, a] : symmetric_matrices()) {
    SCOPED_TRACE(name);
    Built<double> setup(a.view(), options, Device{});
    const auto& levels = setup.hierarchy().levels;
    ASSERT_GE(levels.size(), 2U);
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      SCOPED_TRACE(l);
      const Sparse fine = as_double(*levels[l].a);
      if (fine.diagonal().minCoeff() <= 1e-10 * fine.diagonal().maxCoeff()) break;  // an empty row of a singular level
      const FilterOracle filtered(fine, options.strength_threshold);
      const std::vector<index_t> of_row = aggregates_of(setup, l);
      expect_aggregates(filtered.matrix, of_row, setup.structures()[l].aggregates.count);
      const double omega = expect_smoothed(as_double(*levels[l].p), filtered, of_row);
      const double used = options.prolongator_damping / omega;
      const double exact = spectral_radius(filtered.matrix);
      EXPECT_GE(used, 0.8 * exact);
      EXPECT_LE(used, filtered.gershgorin + 1e-10);
      if (l > 0) {
        EXPECT_LE(used, 1.25 * exact);
      } else if (filtered.gershgorin < 2.0 + 1e-10) {
        EXPECT_NEAR(used, filtered.gershgorin, 1e-10) << "the finest level takes a bound that is sharp";
      }
      const double strong = static_cast<double>(filtered.matrix.nonZeros()) / static_cast<double>(fine.nonZeros());
      EXPECT_NEAR(setup.info().levels[l].strong, strong, 1e-12);
    }
  }
}

/// Weak entries are lumped, so constants are interpolated exactly wherever the rows of A sum to zero.
TEST(AmgSetup, ConstantsAreInterpolatedExactly) {
  for (const auto& [name, a] : symmetric_matrices()) {
    if (name == "star" || name == "identity rows" || name == "positive off-diagonals") continue;
    SCOPED_TRACE(name);
    const Built<double> setup(a.view(), {.coarsest_rows = 12}, Device{});
    const auto& finest = setup.hierarchy().levels.front();
    const Sparse fine = as_double(*finest.a);
    const Vector sums = fine * Vector::Ones(fine.cols());
    const Vector interpolated = as_double(*finest.p) * Vector::Ones(finest.p->cols());
    int inner = 0;
    for (int i = 0; i < sums.size(); ++i) {
      if (std::abs(sums[i]) > 1e-12 * fine.coeff(i, i)) continue;
      ++inner;
      ASSERT_NEAR(interpolated[i], 1.0, 1e-12) << i;
    }
    EXPECT_GT(inner, sums.size() / 4);
  }
}

/// Away from the clamped face P reproduces the rigid-body modes: the coarse level has modes whose images they are.
TEST(AmgSetup, RigidBodyModesAreInterpolatedExactly) {
  const GeneratorSpec spec = parse_generator("elasticity3d:7");
  const auto a = generate<double>(spec);
  AmgOptions options{.coarsest_rows = 12, .block_size = 3};
  options.coordinates = generator_coordinates(spec);
  const Built<double> setup(a.view(), options, Device{});
  const auto& levels = setup.hierarchy().levels;
  ASSERT_GE(levels.size(), 2U);
  EXPECT_EQ(levels[1].a->rows() % 6, 0) << "six modes per aggregate";
  const Sparse p = as_double(*levels[0].p);
  Eigen::MatrixXd modes = Eigen::MatrixXd::Zero(a.rows(), 6);
  std::vector<Eigen::Index> inner;
  for (Eigen::Index node = 0; node < a.rows() / 3; ++node) {
    const double* at = options.coordinates.data() + 3 * node;
    modes.block<3, 6>(3 * node, 0) << 1, 0, 0, 0, at[2], -at[1], 0, 1, 0, -at[2], 0, at[0], 0, 0, 1, at[1], -at[0], 0;
    for (int c = 0; at[0] > 1.0 && c < 3; ++c) inner.push_back(3 * node + c);
  }
  // Least squares over the inner rows alone: P must contain the modes there.
  const Eigen::MatrixXd dense(p);
  const Eigen::MatrixXd rows = dense(inner, Eigen::all);
  const Eigen::MatrixXd wanted = modes(inner, Eigen::all);
  const Eigen::MatrixXd coarse = rows.completeOrthogonalDecomposition().solve(wanted);
  EXPECT_LE((rows * coarse - wanted).cwiseAbs().maxCoeff(), 1e-10);
}

/// Sketches of 32 registers err by 18 % for a row, and by less in the sum.
TEST(AmgSetup, SizesOfGalerkinProductsArePredicted) {
  for (const auto& [name, a] : symmetric_matrices()) {
    SCOPED_TRACE(name);
    const Built<double> setup(a.view(), {.coarsest_rows = 40}, Device{});
    const auto& levels = setup.hierarchy().levels;
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      const detail::AmgLevel<double>& here = levels[l];
      const auto size = [&](const detail::RowRange& rows) {
        return detail::galerkin_size(Device::host(2), here.r->view(), here.a->view(), here.p->view(), rows);
      };
      const index_t rows = here.r->rows();
      const offset_t whole = size({0, rows});
      EXPECT_NEAR(static_cast<double>(whole), static_cast<double>(levels[l + 1].a->nnz()),
                  0.25 * static_cast<double>(levels[l + 1].a->nnz()))
          << l;
      EXPECT_EQ(size({0, rows / 3}) + size({rows / 3, rows}), whole);
    }
  }
}

/// Two steps in a graph with hubs reach most of it: the second level would be nearly full.
TEST(AmgSetup, EndsWhereTheNextLevelWouldBeFull) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Csr<double> a = support::odd_matrix("powerlaw", 20000, seed);
    Built<double> setup(a.view(), {}, Device{});
    EXPECT_FALSE(setup.info().coarsens);
    EXPECT_EQ(setup.info().operator_complexity, 1.0);
    EXPECT_EQ(setup.hierarchy().levels.size(), 1U);
    EXPECT_EQ(setup.hierarchy().levels[0].p, nullptr);
    EXPECT_TRUE(setup.structures().empty());
    EXPECT_NE(setup.info().reason.find("more than 3"), std::string::npos) << setup.info().reason;
    const std::string reason = setup.info().reason;
    setup.refresh(a.view());
    EXPECT_EQ(setup.info().reason, reason);
  }
}

/// A level may be full where it is small: complexity counts, not density.
TEST(AmgSetup, SmallFullLevelsStay) {
  Built<double> setup(star_matrix(3000).view(), {.coarsest_rows = 1}, Device{});
  EXPECT_TRUE(setup.info().coarsens);
  Built<double> grid(poisson2d<double>(60, 60).view(), {.coarsest_rows = 1}, Device{});
  EXPECT_EQ(grid.info().levels.back().rows, 1);
}

TEST(AmgSetup, CoarsestInverse) {
  for (const auto& [name, a] : symmetric_matrices()) {
    SCOPED_TRACE(name);
    const Built<double> setup(a.view(), {.coarsest_rows = 40}, Device{});
    const auto& hierarchy = setup.hierarchy();
    const Eigen::MatrixXd coarse(as_double(*hierarchy.levels.back().a));
    const auto n = coarse.rows();
    ASSERT_EQ(hierarchy.coarsest_inverse.size(), n * n);
    using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    const Eigen::MatrixXd inverse = Eigen::Map<const RowMajor>(hierarchy.coarsest_inverse.data(), n, n);
    // A generalised inverse where A is singular.
    EXPECT_LE((coarse * inverse * coarse - coarse).norm(), 1e-9 * coarse.norm());
    if (name != "neumann") {
      EXPECT_LE((coarse * inverse - Eigen::MatrixXd::Identity(n, n)).norm(), 1e-9 * static_cast<double>(n));
    }
  }
}

template <class T>
void expect_same_hierarchy(const detail::AmgHierarchy<T>& a, const detail::AmgHierarchy<T>& b) {
  ASSERT_EQ(a.levels.size(), b.levels.size());
  for (std::size_t l = 0; l < a.levels.size(); ++l) {
    SCOPED_TRACE(l);
    expect_identical(a.levels[l].a->view(), b.levels[l].a->view());
    EXPECT_EQ(a.levels[l].rho, b.levels[l].rho);
    EXPECT_TRUE(same_bytes(a.levels[l].smoother.span(), b.levels[l].smoother.span()));
    if (l + 1 == a.levels.size()) continue;
    expect_identical(a.levels[l].p->view(), b.levels[l].p->view());
    expect_identical(a.levels[l].r->view(), b.levels[l].r->view());
  }
  EXPECT_TRUE(same_bytes(a.coarsest_inverse.span(), b.coarsest_inverse.span()));
}

TEST(AmgSetup, TheSameForEveryNumberOfThreadsAndFromRunToRun) {
  const Csr<double> a = poisson2d<double>(150, 140);
  const Built<double> one(a.view(), {}, Device::host(1));
  const Built<double> two(a.view(), {}, Device::host(2));
  const Built<double> again(a.view(), {}, Device::host(2));
  expect_same_hierarchy(one.hierarchy(), two.hierarchy());
  expect_same_hierarchy(two.hierarchy(), again.hierarchy());
}

/// Twice the values: the same P, and twice every level, to the bit.
TEST(AmgSetup, RefreshWithTwiceTheValues) {
  for (const bool prepared : {false, true}) {
    for (const auto& [name, a] : symmetric_matrices()) {
      SCOPED_TRACE(name + (prepared ? ", prepared" : ""));
      const AmgOptions options{.coarsest_rows = 12, .prepare_refresh = prepared};
      const Csr<double> twice = scaled(a, 2.0);
      const Built<double> fresh(twice.view(), options, Device{});
      Built<double> refreshed(a.view(), options, Device{});
      refreshed.refresh(twice.view());
      expect_same_hierarchy(refreshed.hierarchy(), fresh.hierarchy());
    }
  }
}

/// Refreshing with the first values again gives the first hierarchy.
TEST(AmgSetup, RefreshForthAndBack) {
  for (const bool prepared : {false, true}) {
    const AmgOptions options{.coarsest_rows = 12, .prepare_refresh = prepared};
    const Csr<double> a = jump3d<double>(11, 12, 10, {.block = 4, .seed = 1});
    const Csr<double> b = jump3d<double>(11, 12, 10, {.block = 4, .seed = 2});
    const Built<double> fresh(a.view(), options, Device{});
    Built<double> refreshed(a.view(), options, Device{});
    refreshed.refresh(b.view());
    // New values, old aggregates: still Galerkin products.
    const auto& levels = refreshed.hierarchy().levels;
    EXPECT_EQ(levels.size(), fresh.hierarchy().levels.size());
    for (std::size_t l = 0; l + 1 < levels.size(); ++l) {
      const Sparse p = as_double(*levels[l].p);
      const Sparse fine = as_double(*levels[l].a);
      const Sparse magnitude = Sparse(p.cwiseAbs().transpose()) * Sparse(fine.cwiseAbs()) * Sparse(p.cwiseAbs());
      expect_within(as_double(*levels[l + 1].a), Sparse(p.transpose()) * fine * p, magnitude, 1e-12);
    }
    refreshed.refresh(a.view());
    expect_same_hierarchy(refreshed.hierarchy(), fresh.hierarchy());
  }
}

TEST(AmgSetup, SmallestMatrices) {
  const Built<double> empty(Csr<double>{}.view(), {}, Device{});
  EXPECT_EQ(empty.hierarchy().levels.size(), 1U);
  const Csr<double> one = diagonal_matrix<double>({4.0});
  const Built<double> single(one.view(), {}, Device{});
  ASSERT_EQ(single.hierarchy().coarsest_inverse.size(), 1);
  EXPECT_EQ(single.hierarchy().coarsest_inverse[0], 0.25);
}

TEST(AmgSetup, AnisotropyCoarsensAlongTheStrongDirection) {
  const Csr<double> a = anisotropic2d<double>(40, 40, 0.01);
  Built<double> setup(a.view(), {}, Device{});
  EXPECT_NEAR(setup.info().levels[0].strong, 3.0 / 5.0, 0.01);
  const std::vector<index_t> of_row = aggregates_of(setup, 0);
  std::map<index_t, std::set<std::size_t>> lines;
  for (std::size_t i = 0; i < of_row.size(); ++i) lines[of_row[i]].insert(i / 40);
  for (const auto& [aggregate, of] : lines) EXPECT_EQ(of.size(), 1U) << "aggregate " << aggregate;
}

}  // namespace
}  // namespace tessera::testing
