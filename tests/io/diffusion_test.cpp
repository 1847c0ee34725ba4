/// Diffusion problems beyond Poisson's: no flow across the boundary, jumping coefficients, two anisotropies, and points
/// numbered at random, each by its definition.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::to_eigen;

template <class T = double>
Eigen::MatrixXd dense(const Csr<T>& a) {
  validate(a.view());
  return Eigen::MatrixXd(to_eigen(a.view()).template cast<double>());
}

Csr<double> make(const std::string& text) { return generate<double>(parse_generator(text)); }

/// A Laplacian of the graph of the stencil: the same off-diagonal entries, rows that sum to zero, and semidefinite with
/// the constants alone in the null space.
template <class T>
void expect_closed(const Csr<T>& closed, const Csr<T>& open) {
  const Eigen::MatrixXd a = dense(closed);
  Eigen::MatrixXd expected = dense(open);
  expected.diagonal().setZero();
  expected.diagonal() = -expected.rowwise().sum();
  EXPECT_TRUE((a.array() == expected.array()).all());
  EXPECT_EQ(closed.nnz(), open.nnz());
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
  EXPECT_NEAR(eigenvalues[0], 0.0, 1e-13);
  EXPECT_GT(eigenvalues[1], 1e-3);
}

TEST(Neumann, RowsSumToZero) {
  for (const auto stencil : {Stencil2d::five_point, Stencil2d::nine_point}) {
    expect_closed(poisson2d<double>(9, 7, stencil, Boundary::neumann), poisson2d<double>(9, 7, stencil));
  }
  for (const auto stencil : {Stencil3d::seven_point, Stencil3d::twentyseven_point}) {
    expect_closed(poisson3d<float>(5, 4, 3, stencil, Boundary::neumann), poisson3d<float>(5, 4, 3, stencil));
  }
  expect_identical(make("poisson2d:8,neumann=1").view(),
                   poisson2d<double>(8, 8, Stencil2d::five_point, Boundary::neumann).view());
  EXPECT_EQ(dense(poisson2d<double>(1, 1, Stencil2d::five_point, Boundary::neumann))(0, 0), 0.0);
}

/// The second smallest eigenvalue of the path of n points is 2 - 2 cos(π / n), which the cube inherits.
TEST(Neumann, SmallestEigenvalueOfTheCube) {
  const Eigen::MatrixXd a = dense(make("poisson3d:6,neumann=1"));
  const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
  EXPECT_NEAR(eigenvalues[1], 2 - 2 * std::cos(std::numbers::pi / 6), 1e-13);
}

TEST(Anisotropic3d, EqualsTheDefinition) {
  const std::int64_t nx = 4;
  const std::int64_t ny = 3;
  const std::int64_t nz = 5;
  const Eigen::MatrixXd a = dense(anisotropic3d<double>(nx, ny, nz, 0.25, 1e-3));
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < a.cols(); ++j) {
      const std::int64_t dx = std::abs(j % nx - i % nx);
      const std::int64_t dy = std::abs(j / nx % ny - i / nx % ny);
      const std::int64_t dz = std::abs(j / (nx * ny) - i / (nx * ny));
      const double expected = dx + dy + dz > 1 ? 0.0
                              : dx == 1        ? -1.0
                              : dy == 1        ? -0.25
                              : dz == 1        ? -1e-3
                                               : 2 * (1 + 0.25 + 1e-3);
      ASSERT_EQ(a(i, j), expected) << i << ' ' << j;
    }
  }
  EXPECT_THROW((void)anisotropic3d<double>(3, 3, 3, 0.0, 1.0), InvalidArgument);
  EXPECT_THROW((void)anisotropic3d<float>(3, 3, 3, 1.0, 1e39), InvalidArgument);
  EXPECT_THROW((void)anisotropic3d<double>(3, 3, 3, std::numeric_limits<double>::quiet_NaN(), 1.0), InvalidArgument);
}

/// Coefficients follow from the entries inside the cubes, and all entries from the coefficients.
TEST(Jump3d, EqualsTheDefinition) {
  const std::int64_t nx = 7;
  const std::int64_t ny = 5;
  const std::int64_t nz = 6;
  const std::int64_t block = 3;
  const Eigen::MatrixXd a = dense(jump3d<double>(nx, ny, nz, {.block = block, .contrast = 1e4, .seed = 5}));
  const std::int64_t cubes[] = {3, 2, 2};
  const auto cube_of = [&](std::int64_t i) {
    return i % nx / block + cubes[0] * (i / nx % ny / block + cubes[1] * (i / (nx * ny) / block));
  };
  std::vector<double> k(12, 0.0);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      if (a(i, j) != 0.0 && cube_of(i) == cube_of(j)) k[static_cast<std::size_t>(cube_of(i))] = -a(i, j);
    }
  }
  // A cube of one layer in x still has neighbours along y.
  for (const double coefficient : k) EXPECT_GT(coefficient, 0.0);
  const auto at = [&](std::int64_t i) { return k[static_cast<std::size_t>(cube_of(i))]; };
  const std::int64_t sizes[] = {nx, ny, nz};
  Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(a.rows(), a.cols());
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const std::int64_t where[] = {i % nx, i / nx % ny, i / (nx * ny)};
    const std::int64_t strides[] = {1, nx, nx * ny};
    for (int axis = 0; axis < 3; ++axis) {
      for (const std::int64_t step : {-1, 1}) {
        const bool inside = where[axis] + step >= 0 && where[axis] + step < sizes[axis];
        const std::int64_t j = i + step * strides[axis];
        const double link = inside ? 2 / (1 / at(i) + 1 / at(j)) : at(i);
        if (inside) expected(i, j) = -link;
        expected(i, i) += link;
      }
    }
  }
  EXPECT_LE(
      ((a - expected).array() / (expected.array().abs() + (expected.array() == 0).cast<double>())).abs().maxCoeff(),
      1e-14);
  EXPECT_TRUE((a.array() == a.transpose().array()).all());
  EXPECT_EQ(Eigen::LLT<Eigen::MatrixXd>(a).info(), Eigen::Success);
}

/// 125 cubes, log10 k uniform in [-2, 2): mean 0, variance 16 / 12.
TEST(Jump3d, CoefficientsAreLogUniform) {
  const auto a = make("jump3d:40");
  std::vector<double> logarithms;
  for (std::int64_t cube = 0; cube < 125; ++cube) {
    const std::int64_t point = 8 * (cube % 5) + 40 * (8 * (cube / 5 % 5) + 40 * (8 * (cube / 25)));
    for (offset_t k = a.row_offsets()[point]; k < a.row_offsets()[point + 1]; ++k) {
      if (a.columns()[k] == point + 1) logarithms.push_back(std::log10(-a.values()[k]));
    }
  }
  ASSERT_EQ(logarithms.size(), 125U);
  EXPECT_GE(*std::min_element(logarithms.begin(), logarithms.end()), -2.0);
  EXPECT_LT(*std::max_element(logarithms.begin(), logarithms.end()), 2.0);
  EXPECT_GT(
      *std::max_element(logarithms.begin(), logarithms.end()) - *std::min_element(logarithms.begin(), logarithms.end()),
      3.5);
  double mean = 0.0;
  for (const double value : logarithms) mean += value / 125;
  EXPECT_NEAR(mean, 0.0, 5 * std::sqrt(16.0 / 12 / 125));
  EXPECT_EQ(a.nnz(), 7 * 64000 - 6 * 1600);
}

TEST(Jump3d, OneCoefficientIsPoisson) {
  expect_identical(jump3d<double>(6, 5, 4, {.contrast = 1.0}).view(), poisson3d<double>(6, 5, 4).view());
}

TEST(Jump3d, RefusesOptionsOutOfRange) {
  EXPECT_THROW((void)jump3d<double>(3, 3, 3, {.block = 0}), InvalidArgument);
  EXPECT_THROW((void)jump3d<double>(3, 3, 3, {.contrast = 0.5}), InvalidArgument);
  EXPECT_THROW((void)jump3d<double>(3, 3, 3, {.contrast = std::numeric_limits<double>::infinity()}), InvalidArgument);
  EXPECT_THROW((void)jump3d<double>(0, 3, 3), InvalidArgument);
}

/// The same matrix but for its numbering: the same eigenvalues, and the same row lengths in another order.
TEST(Shuffle, IsASymmetricRenumbering) {
  const auto plain = make("poisson3d:5");
  const auto shuffled = make("poisson3d:5,shuffle=1");
  const Eigen::MatrixXd a = dense(shuffled);
  EXPECT_TRUE((a.array() == a.transpose().array()).all());
  const auto spectrum = [](const Eigen::MatrixXd& m) {
    return Eigen::VectorXd(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(m).eigenvalues());
  };
  EXPECT_LE((spectrum(a) - spectrum(dense(plain))).cwiseAbs().maxCoeff(), 1e-12);
  // Of neighbours in the grid next to none stay neighbours in number.
  offset_t beside = 0;
  for (index_t i = 0; i + 1 < shuffled.rows(); ++i) beside += a(i, i + 1) != 0.0 ? 1 : 0;
  EXPECT_LT(beside, 20);
  EXPECT_FALSE((dense(make("poisson3d:5,shuffle=1,seed=43")).array() == a.array()).all());
}

}  // namespace
}  // namespace tessera
