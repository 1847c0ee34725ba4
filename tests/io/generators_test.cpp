#include "tessera/generators.hpp"
#include "tessera/device.hpp"
#include "tessera/error.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::to_eigen;

struct Grid {
  std::int64_t x;
  std::int64_t y;
  std::int64_t z;
};

constexpr Grid grids[] = {{1, 1, 1}, {5, 1, 1}, {1, 4, 1}, {1, 1, 3}, {2, 2, 2}, {7, 5, 1}, {4, 3, 5}, {3, 1, 6}};

/// The matrix by its definition: every pair of grid points, coefficient(dx, dy, dz).
template <class Coefficient>
Eigen::MatrixXd by_definition(const Grid& g, Coefficient&& coefficient) {
  const std::int64_t n = g.x * g.y * g.z;
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n, n);
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      a(i, j) = coefficient(j % g.x - i % g.x, j / g.x % g.y - i / g.x % g.y, j / (g.x * g.y) - i / (g.x * g.y));
    }
  }
  return a;
}

template <class T>
void expect_matrix(const Csr<T>& matrix, const Eigen::MatrixXd& expected) {
  validate(matrix.view());
  ASSERT_EQ(matrix.rows(), expected.rows());
  EXPECT_EQ(matrix.nnz(), (expected.array() != 0).count());
  EXPECT_TRUE((Eigen::MatrixXd(to_eigen(matrix.view()).template cast<double>()).array() == expected.array()).all());
}

double star(std::int64_t dx, std::int64_t dy, std::int64_t dz, double diagonal) {
  const std::int64_t distance = std::abs(dx) + std::abs(dy) + std::abs(dz);
  return distance == 0 ? diagonal : (distance == 1 ? -1.0 : 0.0);
}

double box(std::int64_t dx, std::int64_t dy, std::int64_t dz, double diagonal) {
  const std::int64_t distance = std::max({std::abs(dx), std::abs(dy), std::abs(dz)});
  return distance == 0 ? diagonal : (distance == 1 ? -1.0 : 0.0);
}

TEST(Poisson, EqualsTheDefinition) {
  using Offset = std::int64_t;
  for (const Grid& g : grids) {
    expect_matrix(poisson3d<double>(g.x, g.y, g.z),
                  by_definition(g, [](Offset x, Offset y, Offset z) { return star(x, y, z, 6); }));
    expect_matrix(poisson3d<float>(g.x, g.y, g.z, Stencil3d::twentyseven_point),
                  by_definition(g, [](Offset x, Offset y, Offset z) { return box(x, y, z, 26); }));
    if (g.z > 1) continue;
    expect_matrix(poisson2d<float>(g.x, g.y),
                  by_definition(g, [](Offset x, Offset y, Offset z) { return star(x, y, z, 4); }));
    expect_matrix(poisson2d<double>(g.x, g.y, Stencil2d::nine_point),
                  by_definition(g, [](Offset x, Offset y, Offset z) { return box(x, y, z, 8); }));
  }
}

TEST(Poisson, NumberOfNonzeros) {
  const std::int64_t n = 60;
  EXPECT_EQ(poisson2d<double>(n, n).nnz(), 5 * n * n - 4 * n);
  EXPECT_EQ(poisson2d<double>(n, n, Stencil2d::nine_point).nnz(), (3 * n - 2) * (3 * n - 2));
  EXPECT_EQ(poisson3d<double>(n, n, n).nnz(), 7 * n * n * n - 6 * n * n);
  EXPECT_EQ(poisson3d<double>(n, n, n, Stencil3d::twentyseven_point).nnz(), (3 * n - 2) * (3 * n - 2) * (3 * n - 2));
}

/// sin(π p x / (nx + 1)) sin(π q y / (ny + 1)) sin(π r z / (nz + 1)) at the grid points.
Eigen::VectorXd sine(const Grid& g, int p, int q, int r) {
  Eigen::VectorXd v(g.x * g.y * g.z);
  const auto factor = [](int mode, std::int64_t i, std::int64_t n) {
    return std::sin(std::numbers::pi * mode * static_cast<double>(i + 1) / static_cast<double>(n + 1));
  };
  for (std::int64_t k = 0; k < v.size(); ++k) {
    v[k] = factor(p, k % g.x, g.x) * factor(q, k / g.x % g.y, g.y) * factor(r, k / (g.x * g.y), g.z);
  }
  return v;
}

double sine_eigenvalue(int mode, std::int64_t n) {
  const double s = std::sin(std::numbers::pi * mode / (2.0 * static_cast<double>(n + 1)));
  return 4.0 * s * s;
}

TEST(Poisson, SineModesAreEigenvectors) {
  const Grid flat{13, 9, 1};
  const Grid cube{6, 7, 8};
  for (int p = 1; p <= 6; ++p) {
    for (int q = 1; q <= 6; ++q) {
      const double l2 = sine_eigenvalue(p, flat.x) + sine_eigenvalue(q, flat.y);
      const Eigen::VectorXd v2 = sine(flat, p, q, 1) / sine(flat, 1, 1, 1).cwiseAbs().maxCoeff();
      EXPECT_LE((to_eigen(poisson2d<double>(flat.x, flat.y).view()) * v2 - l2 * v2).cwiseAbs().maxCoeff(), 1e-14);
      const double l3 = sine_eigenvalue(p, cube.x) + sine_eigenvalue(q, cube.y) + sine_eigenvalue(3, cube.z);
      const Eigen::VectorXd v3 = sine(cube, p, q, 3);
      EXPECT_LE((to_eigen(poisson3d<double>(cube.x, cube.y, cube.z).view()) * v3 - l3 * v3).cwiseAbs().maxCoeff(),
                1e-14);
      const double epsilon = 0.01;
      const double la = sine_eigenvalue(p, flat.x) + epsilon * sine_eigenvalue(q, flat.y);
      const auto a = to_eigen(anisotropic2d<double>(flat.x, flat.y, epsilon).view());
      EXPECT_LE((a * v2 - la * v2).cwiseAbs().maxCoeff(), 1e-14);
    }
  }
}

TEST(Anisotropic, EqualsTheDefinition) {
  for (const double epsilon : {1.0, 1e-3, 250.0}) {
    expect_matrix(anisotropic2d<double>(6, 5, epsilon),
                  by_definition({6, 5, 1}, [&](std::int64_t dx, std::int64_t dy, std::int64_t) {
                    if (dx == 0 && dy == 0) return 2 + 2 * epsilon;
                    if (dy == 0 && std::abs(dx) == 1) return -1.0;
                    return dx == 0 && std::abs(dy) == 1 ? -epsilon : 0.0;
                  }));
  }
}

TEST(ConvectionDiffusion, EqualsUpwindDefinition) {
  for (const Peclet& p : {Peclet{}, Peclet{2, -3, 0.5}, Peclet{-1e3, 0, 7}}) {
    for (const Grid& g : grids) {
      const bool flat = g.z == 1;
      const double diagonal =
          flat ? 4 + std::abs(p.x) + std::abs(p.y) : 6 + (std::abs(p.x) + std::abs(p.y)) + std::abs(p.z);
      const auto entry = [](double flow, std::int64_t side) {
        const bool upwind = flow * static_cast<double>(side) < 0;
        return upwind ? -(1 + std::abs(flow)) : -1.0;
      };
      expect_matrix(convection_diffusion<double>(g.x, g.y, g.z, p),
                    by_definition(g, [&](std::int64_t dx, std::int64_t dy, std::int64_t dz) {
                      const std::int64_t distance = std::abs(dx) + std::abs(dy) + std::abs(dz);
                      if (distance == 0) return diagonal;
                      if (distance > 1) return 0.0;
                      return dx != 0 ? entry(p.x, dx) : (dy != 0 ? entry(p.y, dy) : entry(p.z, dz));
                    }));
    }
  }
}

TEST(ConvectionDiffusion, IsAnMMatrix) {
  // Weakly diagonally dominant by rows and columns, strictly somewhere, irreducible, nonpositive off the diagonal.
  const auto a = to_eigen(convection_diffusion<double>(9, 8, 7, {8, -4, 2}).view());
  const Eigen::MatrixXd dense(a);
  EXPECT_TRUE(((dense.array() <= 0) || Eigen::MatrixXd::Identity(a.rows(), a.cols()).array().cast<bool>()).all());
  EXPECT_GE(dense.rowwise().sum().minCoeff(), 0.0);
  EXPECT_GT(dense.rowwise().sum().maxCoeff(), 0.0);
  EXPECT_GE(dense.inverse().minCoeff(), 0.0);
}

TEST(ConvectionDiffusion, WithoutFlowIsPoisson) {
  expect_identical(convection_diffusion<double>(5, 6, 7, {}).view(), poisson3d<double>(5, 6, 7).view());
  expect_identical(convection_diffusion<float>(5, 6, 1, {}).view(), poisson2d<float>(5, 6).view());
}

TEST(Generators, SameForEveryNumberOfThreads) {
  const auto with = [&](int count, auto&& make) {
    set_default_host_threads(count);
    auto matrix = make();
    set_default_host_threads(0);
    return matrix;
  };
  const auto make = [] { return convection_diffusion<double>(33, 31, 29, {1, 2, 3}); };
  const auto one = with(1, make);
  expect_identical(with(3, make).view(), one.view());
  expect_identical(with(16, make).view(), one.view());
}

TEST(Generators, SizesAreChecked) {
  EXPECT_THROW(static_cast<void>(poisson2d<double>(0, 5)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(poisson2d<double>(5, -1)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(poisson2d<float>(65536, 32768)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(poisson3d<double>(1 << 30, 1 << 30, 1 << 30)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(poisson3d<double>(std::numeric_limits<std::int64_t>::max(), 2, 1)), InvalidArgument);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double epsilon : {0.0, -1.0, nan, infinity, 1e308}) {
    EXPECT_THROW(static_cast<void>(anisotropic2d<double>(3, 3, epsilon)), InvalidArgument) << epsilon;
  }
  EXPECT_THROW(static_cast<void>(anisotropic2d<float>(3, 3, 1e39)), InvalidArgument);
  for (const Peclet& p : {Peclet{nan, 0, 0}, Peclet{0, infinity, 0}, Peclet{0, 0, nan}}) {
    EXPECT_THROW(static_cast<void>(convection_diffusion<double>(3, 3, 3, p)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(convection_diffusion<double>(3, 3, 1, p)), InvalidArgument);
  }
}

}  // namespace
}  // namespace tessera
