/// Discretised systems on grids (rotaniso2d, helmholtz2d, stokes2d, recirc3d), each against an assembly by another way
/// or a closed form.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

namespace tessera {
namespace {

using testing::to_eigen;

constexpr double pi = std::numbers::pi;

Csr<double> make(const std::string& text) {
  Csr<double> a = generate<double>(parse_generator(text));
  validate(a.view());
  return a;
}

Eigen::MatrixXd dense(const std::string& text) { return Eigen::MatrixXd(to_eigen(make(text).view())); }

bool is_symmetric(const Eigen::MatrixXd& a) { return (a.array() == a.transpose().array()).all(); }

/// Bilinear elements of -div(K grad u) over all (side + 1)^2 squares by 2 x 2 Gauss points, without the boundary.
Eigen::MatrixXd rotated_by_quadrature(std::int64_t side, double eps) {
  Eigen::Matrix2d turn;
  turn << 1, -1, 1, 1;
  turn /= std::sqrt(2.0);
  const Eigen::Matrix2d diffusion = turn * Eigen::Vector2d(1, eps).asDiagonal() * turn.transpose();
  Eigen::Matrix4d square = Eigen::Matrix4d::Zero();  // corner a is (a & 1, a >> 1)
  for (int point = 0; point < 4; ++point) {
    const double x = 0.5 + ((point & 1) - 0.5) / std::sqrt(3.0);
    const double y = 0.5 + ((point >> 1) - 0.5) / std::sqrt(3.0);
    Eigen::Matrix<double, 4, 2> slopes;
    slopes << -(1 - y), -(1 - x), 1 - y, -x, -y, 1 - x, y, x;
    square += slopes * diffusion * slopes.transpose() / 4;
  }
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(side * side, side * side);
  const auto inside = [&](std::int64_t i) { return i >= 0 && i < side; };
  for (std::int64_t y = -1; y < side; ++y) {
    for (std::int64_t x = -1; x < side; ++x) {
      for (int i = 0; i < 16; ++i) {
        const std::array<std::int64_t, 4> at{x + (i & 1), y + (i >> 1 & 1), x + (i >> 2 & 1), y + (i >> 3)};
        if (!std::all_of(at.begin(), at.end(), inside)) continue;
        a(at[0] + side * at[1], at[2] + side * at[3]) += square(i & 3, i >> 2);
      }
    }
  }
  return a;
}

TEST(Rotaniso2d, EqualsAssemblyByQuadrature) {
  for (const double eps : {1e-3, 0.3, 1.0, 50.0}) {
    for (const std::int64_t side : {1, 2, 6}) {
      const Eigen::MatrixXd a = dense("rotaniso2d:" + std::to_string(side) + ",eps=" + std::to_string(eps));
      EXPECT_LE((a - rotated_by_quadrature(side, eps)).cwiseAbs().maxCoeff(), 1e-15 * (1 + eps) * 4) << eps;
      EXPECT_TRUE(is_symmetric(a));
      EXPECT_EQ(Eigen::LLT<Eigen::MatrixXd>(a).info(), Eigen::Success);
    }
  }
}

/// Products of sines are eigenvectors of the 5-point stencil; the shift moves their eigenvalues.
TEST(Helmholtz2d, EigenvaluesAreKnown) {
  const std::int64_t n = 12;
  const double kh = 0.7;
  const Eigen::MatrixXd a = dense("helmholtz2d:12,kh=0.7");
  const double h = 1.0 / (n + 1);
  std::int64_t negative = 0;
  for (int p = 1; p <= n; ++p) {
    for (int q = 1; q <= n; ++q) {
      Eigen::VectorXd v(n * n);
      for (std::int64_t i = 0; i < n * n; ++i) {
        const std::int64_t x = i % n + 1;
        const std::int64_t y = i / n + 1;
        v[i] = std::sin(pi * p * h * static_cast<double>(x)) * std::sin(pi * q * h * static_cast<double>(y));
      }
      const double eigenvalue = 4 - kh * kh - 2 * std::cos(pi * p * h) - 2 * std::cos(pi * q * h);
      EXPECT_LE((a * v - eigenvalue * v).cwiseAbs().maxCoeff(), 1e-13) << p << ' ' << q;
      negative += eigenvalue < 0.0 ? 1 : 0;
    }
  }
  EXPECT_GT(negative, 1) << "indefinite";
  EXPECT_LT(negative, n * n / 2);
  EXPECT_EQ((dense("helmholtz2d:5,kh=0") - dense("poisson2d:5")).cwiseAbs().maxCoeff(), 0.0);
}

/// Component (i, j) of the 3 x 3 couplings of the points.
Eigen::MatrixXd component(const Eigen::MatrixXd& a, Eigen::Index i, Eigen::Index j) {
  const Eigen::Index points = a.rows() / 3;
  return a(Eigen::seqN(i, points, 3), Eigen::seqN(j, points, 3));
}

/// I (x) `along_x` + `along_y` (x) I for points numbered x fastest.
Eigen::MatrixXd tensor_sum(const Eigen::MatrixXd& along_x, const Eigen::MatrixXd& along_y) {
  const Eigen::Index n = along_x.rows();
  Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(n * n, n * n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) {
      sum.block(i * n, j * n, n, n) += along_y(i, j) * Eigen::MatrixXd::Identity(n, n);
      if (i == j) sum.block(i * n, i * n, n, n) += along_x;
    }
  }
  return sum;
}

TEST(Stokes2d, EqualsItsTensorProducts) {
  for (const Eigen::Index n : {1, 2, 5}) {
    const Eigen::MatrixXd a = dense("stokes2d:" + std::to_string(n) + ",beta=0.25");
    ASSERT_EQ(a.rows(), 3 * n * n);
    Eigen::MatrixXd open = 2 * Eigen::MatrixXd::Identity(n, n);
    Eigen::MatrixXd closed = Eigen::MatrixXd::Zero(n, n);
    Eigen::MatrixXd difference = Eigen::MatrixXd::Zero(n, n);
    for (Eigen::Index i = 0; i + 1 < n; ++i) {
      open(i, i + 1) = open(i + 1, i) = -1;
      closed.block<2, 2>(i, i) += Eigen::Matrix2d{{1, -1}, {-1, 1}};
      difference(i, i + 1) = 0.5;
      difference(i + 1, i) = -0.5;
    }
    const Eigen::MatrixXd none = Eigen::MatrixXd::Zero(n, n);
    const std::array<Eigen::MatrixXd, 2> gradient{tensor_sum(difference, none), tensor_sum(none, difference)};
    Eigen::MatrixXd pressure = -0.25 * tensor_sum(closed, closed);
    pressure(0, 0) -= 1;
    EXPECT_EQ(component(a, 2, 2), pressure);
    EXPECT_EQ(component(a, 0, 1).cwiseAbs().maxCoeff(), 0.0);
    for (const Eigen::Index c : {0, 1}) {
      EXPECT_EQ(component(a, c, c), tensor_sum(open, open));
      EXPECT_EQ(component(a, c, 2), gradient[static_cast<std::size_t>(c)]);
    }
    EXPECT_TRUE(is_symmetric(a));
    // L is positive definite and the block of the pressure is negative definite.
    const Eigen::VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(a).eigenvalues();
    EXPECT_EQ((eigenvalues.array() > 1e-6).count(), 2 * n * n);
    EXPECT_EQ((eigenvalues.array() < -1e-6).count(), n * n);
  }
}

/// The flow of docs/generators.md.
std::array<double, 3> flow(double x, double y, double z) {
  const auto s = [](double t) { return std::sin(pi * t); };
  return {0.3 * s(x) * s(x) * s(2 * y) * s(2 * z), -s(x) * (1 - 0.5 * s(2 * x)) * s(y) * s(y) * s(2 * z),
          s(x) * s(2 * y) * s(z) * s(z)};
}

/// Assembled face by face: what flows through a face enters one of its two rows.
Eigen::MatrixXd recirculation_by_faces(std::int64_t n, double pe) {
  const double h = 1.0 / static_cast<double>(n + 1);
  const std::array<std::int64_t, 3> stride{1, n, n * n};
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(n * n * n, n * n * n);
  for (std::int64_t i = 0; i < n * n * n; ++i) {
    const std::array<std::int64_t, 3> at{i % n, i / n % n, i / (n * n)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      a(i, i) += (at[axis] == 0 ? 1 : 0) + (at[axis] == n - 1 ? 1 : 0);
      if (at[axis] == n - 1) continue;
      std::array<double, 3> place{};
      for (std::size_t c = 0; c < 3; ++c) place[c] = h * (static_cast<double>(at[c]) + (c == axis ? 1.5 : 1.0));
      const double peclet = pe * h * flow(place[0], place[1], place[2])[axis];
      const std::int64_t j = i + stride[axis];
      for (const auto& [row, column, inflow] : {std::tuple{i, j, -peclet}, std::tuple{j, i, peclet}}) {
        const double link = 1 + (inflow > 0 ? inflow : 0);
        a(row, column) -= link;
        a(row, row) += link;
      }
    }
  }
  return a;
}

TEST(Recirc3d, EqualsAssemblyByFaces) {
  for (const std::int64_t n : {1, 2, 7}) {
    for (const double pe : {0.0, 1000.0, 1e6}) {
      const Eigen::MatrixXd a = dense("recirc3d:" + std::to_string(n) + ",pe=" + std::to_string(pe));
      EXPECT_LE((a - recirculation_by_faces(n, pe)).cwiseAbs().maxCoeff(), 1e-15 * (10 + pe)) << n << ' ' << pe;
    }
  }
  EXPECT_EQ((dense("recirc3d:5,pe=0") - dense("poisson3d:5")).cwiseAbs().maxCoeff(), 0.0);
}

/// A row sums to the number of its links to the boundary. A column of an inner point sums to what flows in less what
/// flows out: to minus the divergence of the flow, times h^2 pe.
TEST(Recirc3d, RowAndColumnSums) {
  const std::int64_t n = 24;
  const double h = 1.0 / (n + 1);
  for (const double pe : {1000.0, 1e4, 1e7}) {
    const auto a = make("recirc3d:24,pe=" + std::to_string(pe));
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(a.rows());
    const Eigen::VectorXd rows = to_eigen(a.view()) * ones;
    const Eigen::VectorXd columns = to_eigen(a.view()).transpose() * ones;
    double most = 0.0;
    for (std::int64_t i = 0; i < a.rows(); ++i) {
      const std::array<std::int64_t, 3> at{i % n, i / n % n, i / (n * n)};
      const auto at_boundary =
          static_cast<double>(std::count(at.begin(), at.end(), 0) + std::count(at.begin(), at.end(), n - 1));
      ASSERT_NEAR(rows[i], at_boundary, 1e-15 * pe) << i;
      for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
        ASSERT_TRUE(a.columns()[k] == i ? a.values()[k] >= 6 : a.values()[k] <= -1);
      }
      if (at_boundary > 0) continue;
      const auto s = [&](double t) { return std::sin(pi * h * t); };
      const auto x = static_cast<double>(at[0] + 1);
      const auto y = static_cast<double>(at[1] + 1);
      const auto z = static_cast<double>(at[2] + 1);
      const double divergence = pi * s(2 * x) * s(2 * y) * s(2 * z) * (0.3 + 0.5 * s(x));
      // The central difference errs by h^2 / 24 of third derivatives, which are 4 pi^3 (1 + 1.5 + 0.3) at most.
      const double error = h * h / 24 * 4 * pi * pi * pi * 2.8;
      ASSERT_NEAR(columns[i], -h * h * pe * divergence, h * h * pe * error) << i;
      most = std::max(most, std::fabs(columns[i]));
    }
    EXPECT_GT(most, h * h * pe);
  }
}

TEST(SystemFamilies, MemoryIsForeseenExactly) {
  for (const char* text : {"rotaniso2d:70", "helmholtz2d:70", "stokes2d:40", "stokes2d:1", "recirc3d:20"}) {
    const GeneratorSpec spec = parse_generator(text);
    const double sines = spec.family == "recirc3d" ? 8 * (4 * 20 - 2) : 0;
    EXPECT_EQ(static_cast<double>(generated_bytes<double>(spec)),
              static_cast<double>(generate<double>(spec).bytes()) + sines)
        << text;
  }
  // The longest side that an index can count: 3 n^2 rows and 23 n^2 - 20 n entries.
  const double n = 26754;
  EXPECT_EQ(static_cast<double>(generated_bytes<double>(parse_generator("stokes2d:26754"))),
            8 * (3 * n * n + 1) + 12 * (23 * n * n - 20 * n));
}

TEST(SystemFamilies, RefuseSizesAndParametersOutOfRange) {
  for (const char* text : {"rotaniso2d:46341", "helmholtz2d:46341", "stokes2d:26755", "recirc3d:1291", "stokes2d:0",
                           "rotaniso2d:5,eps=0", "helmholtz2d:5,kh=-1", "stokes2d:5,beta=-0.1", "recirc3d:5,pe=-1"}) {
    EXPECT_THROW((void)parse_generator(text), InvalidArgument) << text;
  }
}

TEST(SystemFamilies, ValuesAreFiniteInSinglePrecision) {
  for (const char* text :
       {"rotaniso2d:5,eps=1e30", "helmholtz2d:5,kh=1e10", "stokes2d:5,beta=1e30", "recirc3d:5,pe=1e30"}) {
    const Csr<float> a = generate<float>(parse_generator(text));
    EXPECT_TRUE(std::all_of(a.values().begin(), a.values().end(), [](float v) { return std::isfinite(v); })) << text;
  }
}

}  // namespace
}  // namespace tessera
