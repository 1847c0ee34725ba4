/// Elasticity: the matrix against assembly by quadrature, its rigid-body modes, and a known solution.
#include "tessera/error.hpp"
#include "tessera/generators.hpp"
#include "tests/support/compare.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <array>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

using testing::expect_identical;
using testing::to_eigen;

/// Stiffness of the brick [0, 1]³ as textbooks have it: Σ over 2 x 2 x 2 Gauss points of Bᵀ C B.
Eigen::Matrix<double, 24, 24> brick_by_quadrature(double nu) {
  Eigen::Matrix<double, 6, 6> c = Eigen::Matrix<double, 6, 6>::Zero();
  const double factor = 1 / ((1 + nu) * (1 - 2 * nu));
  c.topLeftCorner(3, 3).setConstant(factor * nu);
  c.diagonal() << 1 - nu, 1 - nu, 1 - nu, 0.5 - nu, 0.5 - nu, 0.5 - nu;
  c.diagonal() *= factor;
  Eigen::Matrix<double, 24, 24> k = Eigen::Matrix<double, 24, 24>::Zero();
  for (int point = 0; point < 8; ++point) {
    std::array<double, 3> at{};
    for (int axis = 0; axis < 3; ++axis)
      at[static_cast<std::size_t>(axis)] = 0.5 + ((point >> axis & 1) - 0.5) / std::sqrt(3.0);
    Eigen::Matrix<double, 6, 24> b = Eigen::Matrix<double, 6, 24>::Zero();
    for (int a = 0; a < 8; ++a) {
      std::array<double, 3> slope{};
      for (int axis = 0; axis < 3; ++axis) {
        double product = (a >> axis & 1) != 0 ? 1.0 : -1.0;
        for (int other = 0; other < 3; ++other) {
          const double x = at[static_cast<std::size_t>(other)];
          if (other != axis) product *= (a >> other & 1) != 0 ? x : 1 - x;
        }
        slope[static_cast<std::size_t>(axis)] = product;
      }
      const auto [dx, dy, dz] = slope;
      b.block<6, 3>(0, 3 * a) << dx, 0, 0, 0, dy, 0, 0, 0, dz, dy, dx, 0, 0, dz, dy, dz, 0, dx;
    }
    k += b.transpose() * c * b / 8;
  }
  return k;
}

/// Assembled over all bricks with all nodes, then without the nodes of the face x = 0.
Eigen::MatrixXd by_quadrature(std::int64_t side, double nu) {
  const auto brick = brick_by_quadrature(nu);
  const std::int64_t nodes = side * side * side;
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(3 * nodes, 3 * nodes);
  const auto node = [&](std::int64_t x, std::int64_t y, std::int64_t z) { return x + side * (y + side * z); };
  for (std::int64_t z = 0; z + 1 < side; ++z) {
    for (std::int64_t y = 0; y + 1 < side; ++y) {
      for (std::int64_t x = 0; x + 1 < side; ++x) {
        for (int a = 0; a < 8; ++a) {
          for (int b = 0; b < 8; ++b) {
            const std::int64_t i = node(x + (a & 1), y + (a >> 1 & 1), z + (a >> 2));
            const std::int64_t j = node(x + (b & 1), y + (b >> 1 & 1), z + (b >> 2));
            all.block<3, 3>(3 * i, 3 * j) += brick.block<3, 3>(3 * a, 3 * b);
          }
        }
      }
    }
  }
  std::vector<Eigen::Index> kept;
  for (std::int64_t i = 0; i < nodes; ++i) {
    for (std::int64_t c = 0; i % side > 0 && c < 3; ++c) kept.push_back(3 * i + c);
  }
  return all(kept, kept);
}

TEST(Elasticity3d, EqualsAssemblyByQuadrature) {
  for (const double nu : {0.3, 0.0, 0.45}) {
    for (const std::int64_t side : {2, 3, 4}) {
      const auto a = elasticity3d<double>(side, nu);
      validate(a.view());
      ASSERT_EQ(a.rows(), 3 * (side - 1) * side * side);
      const Eigen::MatrixXd found(to_eigen(a.view()));
      EXPECT_LE((found - by_quadrature(side, nu)).cwiseAbs().maxCoeff(), 1e-14) << side << ' ' << nu;
      EXPECT_TRUE((found.array() == found.transpose().array()).all()) << "to the last bit";
      EXPECT_EQ(Eigen::LLT<Eigen::MatrixXd>(found).info(), Eigen::Success);
    }
  }
}

TEST(Elasticity3d, NumberOfNonzeros) {
  for (const std::int64_t side : {2, 5, 9}) {
    const std::int64_t along_x = 3 * (side - 1) - 2;
    EXPECT_EQ(elasticity3d<float>(side).nnz(), 9 * along_x * (3 * side - 2) * (3 * side - 2));
  }
}

/// Nothing strains a body that moves as a whole: A maps translations and rotations to 0, but beside the clamped face.
TEST(Elasticity3d, RigidBodyModesAreFree) {
  const GeneratorSpec spec = parse_generator("elasticity3d:6");
  const auto a = generate<double>(spec);
  const std::vector<double> at = generator_coordinates(spec);
  const std::int64_t nodes = a.rows() / 3;
  ASSERT_EQ(static_cast<std::int64_t>(at.size()), a.rows());
  Eigen::MatrixXd modes = Eigen::MatrixXd::Zero(a.rows(), 6);
  for (std::int64_t i = 0; i < nodes; ++i) {
    const double x = at[static_cast<std::size_t>(3 * i)];
    const double y = at[static_cast<std::size_t>(3 * i + 1)];
    const double z = at[static_cast<std::size_t>(3 * i + 2)];
    modes.block<3, 6>(3 * i, 0) << 1, 0, 0, 0, z, -y, 0, 1, 0, -z, 0, x, 0, 0, 1, y, -x, 0;
  }
  const Eigen::MatrixXd force = to_eigen(a.view()) * modes;
  for (std::int64_t i = 0; i < nodes; ++i) {
    const double largest = force.middleRows<3>(3 * i).cwiseAbs().maxCoeff();
    if (at[static_cast<std::size_t>(3 * i)] > 1.0) {
      EXPECT_LE(largest, 1e-13) << i;
    } else {
      EXPECT_GT(largest, 1e-3) << "the clamp holds node " << i;
    }
  }
}

/// A beam without lateral contraction (nu = 0) that is pulled at its end: u_x = x, exact for trilinear bricks. Every
/// node of the end face bears its share of the unit traction.
TEST(Elasticity3d, PulledBarIsStretchedEvenly) {
  const std::int64_t side = 5;
  const auto a = elasticity3d<double>(side, 0.0);
  const std::vector<double> at = generator_coordinates({.family = "elasticity3d", .size = side});
  Eigen::VectorXd u = Eigen::VectorXd::Zero(a.rows());
  Eigen::VectorXd f = Eigen::VectorXd::Zero(a.rows());
  const auto share = [&](double x) { return x == 0.0 || x == static_cast<double>(side - 1) ? 0.5 : 1.0; };
  for (std::int64_t i = 0; i < a.rows() / 3; ++i) {
    const auto k = static_cast<std::size_t>(3 * i);
    u[3 * i] = at[k];
    if (at[k] == static_cast<double>(side - 1)) f[3 * i] = share(at[k + 1]) * share(at[k + 2]);
  }
  EXPECT_LE((to_eigen(a.view()) * u - f).cwiseAbs().maxCoeff(), 1e-13);
}

TEST(Elasticity3d, IsAFamily) {
  expect_identical(generate<double>(parse_generator("elasticity3d:4,nu=0.2")).view(),
                   elasticity3d<double>(4, 0.2).view());
  EXPECT_THROW((void)elasticity3d<double>(1), InvalidArgument);
  EXPECT_THROW((void)elasticity3d<double>(895), InvalidArgument);
  EXPECT_THROW((void)elasticity3d<double>(4, 0.5), InvalidArgument);
  EXPECT_THROW((void)elasticity3d<double>(4, -0.1), InvalidArgument);
}

}  // namespace
}  // namespace tessera
