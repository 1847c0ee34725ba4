/// \file
/// Matrices for the tests of AMG, and what set-up is held against: strength, aggregates and prolongators by their
/// definitions, in Eigen.
#pragma once

#include "solvers/amg/setup.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

using Vector = Eigen::VectorXd;
using Sparse = EigenSparse<double>;

template <class T>
[[nodiscard]] Sparse as_double(const Csr<T>& a) {
  return to_eigen(a.to(Device{}).view()).template cast<double>();
}

/// A_f by its definition.
struct FilterOracle {
  Sparse matrix;
  Vector diagonal;
  double gershgorin = 0.0;

  FilterOracle(const Sparse& a, double theta) : diagonal(a.diagonal()) {
    const Vector largest = largest_neighbours(a);
    std::vector<Eigen::Triplet<double, int>> strong;
    Vector sums = Vector::Zero(a.rows());
    for (int i = 0; i < a.rows(); ++i) {
      double weak = 0.0;
      for (Sparse::InnerIterator entry(a, i); entry; ++entry) {
        const int j = static_cast<int>(entry.col());
        if (j == i) continue;
        if (entry.value() != 0.0 && std::abs(entry.value()) >= theta * std::min(largest[i], largest[j])) {
          strong.emplace_back(i, j, entry.value());
          sums[i] += std::abs(entry.value());
        } else {
          weak += entry.value();
        }
      }
      if (diagonal[i] + weak > 0.05 * diagonal[i]) diagonal[i] += weak;
      strong.emplace_back(i, i, diagonal[i]);
      gershgorin = std::max(gershgorin, (sums[i] + diagonal[i]) / diagonal[i]);
    }
    matrix = Sparse(a.rows(), a.cols());
    matrix.setFromTriplets(strong.begin(), strong.end());
  }

 private:
  static Vector largest_neighbours(const Sparse& a) {
    Vector largest = Vector::Zero(a.rows());
    for (int i = 0; i < a.rows(); ++i) {
      for (Sparse::InnerIterator entry(a, i); entry; ++entry) {
        if (entry.col() != i) largest[i] = std::max(largest[i], std::abs(entry.value()));
      }
    }
    return largest;
  }
};

/// Largest eigenvalue of D⁻¹ A for symmetric A.
[[nodiscard]] inline double spectral_radius(const Sparse& a) {
  const Vector scale = a.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd scaled = scale.asDiagonal() * Eigen::MatrixXd(a) * scale.asDiagonal();
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(scaled, Eigen::EigenvaluesOnly).eigenvalues().maxCoeff();
}

/// Aggregates as a vector per row, on the host.
template <class T>
[[nodiscard]] std::vector<index_t> aggregates_of(const detail::AmgSetup<T>& setup, std::size_t level) {
  const Array<index_t> of_row = setup.structures()[level].aggregates.of_row.to(Device{});
  return {of_row.begin(), of_row.end()};
}

/// Arrow: one row that meets all others.
[[nodiscard]] inline Csr<double> star_matrix(index_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (i != 0 && j != 0 && i != j) continue;
      columns.push_back(j);
      values.push_back(i == j ? (i == 0 ? static_cast<double>(n) : 1.5) : -1.0);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n, n, offsets, columns, values);
}

/// -Δ by bilinear elements on stretched cells: positive entries off the diagonal.
[[nodiscard]] inline Csr<double> stretched_elements(std::int64_t n, double ratio) {
  const double r2 = ratio * ratio;
  // Stiffness of a cell 1 x 1/ratio, corners (0,0), (1,0), (0,1), (1,1), times 6 ratio.
  const auto element = [&](int a, int b) {
    const int dx = (a & 1) ^ (b & 1);
    const int dy = (a >> 1) ^ (b >> 1);
    const double in_x = (dx == 0 ? 1.0 : -1.0) * (dy == 0 ? 2.0 : 1.0);
    const double in_y = (dy == 0 ? 1.0 : -1.0) * (dx == 0 ? 2.0 : 1.0);
    return in_x + r2 * in_y;
  };
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          if (x + dx < 0 || x + dx >= n || y + dy < 0 || y + dy >= n) continue;
          double sum = 0.0;
          for (int a = 0; a < 4; ++a) {  // the point's corner in the cell
            const int bx = (a & 1) + dx;
            const int by = (a >> 1) + dy;
            if (bx >= 0 && bx <= 1 && by >= 0 && by <= 1) sum += element(a, bx + 2 * by);
          }
          columns.push_back(static_cast<index_t>(x + dx + n * (y + dy)));
          values.push_back(sum);
        }
      }
      offsets.push_back(static_cast<offset_t>(columns.size()));
    }
  }
  return make_csr<double>(n * n, n * n, offsets, columns, values);
}

/// Poisson's matrix whose boundary points have rows of the identity, as codes write that do not eliminate them.
[[nodiscard]] inline Csr<double> with_identity_rows(std::int64_t n) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<double> values;
  const auto inside = [&](std::int64_t x, std::int64_t y) { return x > 0 && x + 1 < n && y > 0 && y + 1 < n; };
  for (std::int64_t i = 0; i < n * n; ++i) {
    const std::int64_t x = i % n;
    const std::int64_t y = i / n;
    for (const auto& [dx, dy] : {std::pair{0, -1}, {-1, 0}, {0, 0}, {1, 0}, {0, 1}}) {
      const bool diagonal = dx == 0 && dy == 0;
      if (!diagonal && !(inside(x, y) && inside(x + dx, y + dy))) continue;
      columns.push_back(static_cast<index_t>(i + dx + n * dy));
      values.push_back(!diagonal ? -1.0 : inside(x, y) ? 4.0 : 1.0);
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<double>(n * n, n * n, offsets, columns, values);
}

/// A x* with x* = 1, or scattered where A maps that to 0.
[[nodiscard]] inline std::vector<double> right_side(const Csr<double>& a) {
  const auto n = static_cast<std::size_t>(a.rows());
  std::vector<double> b = product(a.view(), std::vector<double>(n, 1.0));
  double largest = 0.0;
  for (const double value : a.values()) largest = std::max(largest, std::abs(value));
  const auto is_zero = [&](double value) { return std::abs(value) <= 1e-12 * largest; };
  if (std::all_of(b.begin(), b.end(), is_zero)) b = product(a.view(), random_values<double>(n, 29));
  return b;
}

/// cg, bicgstab, richardson.
using KrylovMethod = SolveReport (*)(const LinearOperator<double>&, const LinearOperator<double>&,
                                     std::span<const double>, std::span<double>, const SolverOptions&);

[[nodiscard]] inline Csr<double> generated(const std::string& spec) { return generate<double>(parse_generator(spec)); }

}  // namespace tessera::testing
