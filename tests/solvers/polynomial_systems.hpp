/// \file
/// Polynomials in D⁻¹ A by their definitions, in long double.
#pragma once

#include "tessera/polynomial.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <Eigen/Dense>

#include <cmath>
#include <numbers>
#include <random>
#include <span>
#include <vector>

namespace tessera::testing {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// p(D⁻¹ A) D⁻¹, by the definition that is not the recurrence of the library: sweeps M += (I - M A) D⁻¹ / ρ_j. With the
/// roots ρ_j of T_k((θ - λ)/δ) they make 1 - λ p(λ) = Π (1 - λ / ρ_j); with 1 / ρ_j = ω they make Neumann's series.
template <class T>
[[nodiscard]] LongMatrix polynomial_oracle(const CsrView<T>& a, const PolynomialOptions& options,
                                           const PolynomialInfo& info) {
  const LongMatrix dense = LongMatrix(to_eigen(a).template cast<long double>());
  const LongMatrix inverse = dense.diagonal().cwiseInverse().asDiagonal();
  const bool neumann = options.kind == PolynomialKind::neumann;
  const int sweeps = neumann ? options.degree + 1 : options.degree;
  LongMatrix m = LongMatrix::Zero(a.rows, a.rows);
  for (int j = 0; j < sweeps; ++j) {
    const long double high = info.interval_high;
    const long double low = info.interval_low;
    const long double angle = std::numbers::pi_v<long double> * (2 * j + 1) / (2 * sweeps);
    const long double root = (high + low) / 2 + (high - low) / 2 * std::cos(angle);
    const long double weight = neumann ? static_cast<long double>(info.damping) : 1 / root;
    m += weight * inverse * (LongMatrix::Identity(a.rows, a.rows) - dense * m);
  }
  return m;
}

template <class T>
[[nodiscard]] std::vector<T> applied(const LinearOperator<T>& m, const std::vector<T>& r) {
  const auto there = Array<T>::copy_of(r, m.device());
  Array<T> z(m.rows(), Init::none, m.device());
  m.apply(there.span(), z.span());
  const Array<T> found = z.to(Device{});
  return {found.begin(), found.end()};
}

/// Symmetric and diagonally dominant, with rows of very different lengths and a diagonal over four orders of magnitude.
template <class T>
[[nodiscard]] Csr<T> irregular_spd(index_t n, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
  for (index_t i = 1; i < n; ++i) {
    const auto linked = [&](index_t j) { dense(i, j) = dense(j, i) = uniform(generator); };
    linked(0);  // a hub
    linked(static_cast<index_t>(generator() % static_cast<std::uint64_t>(i)));
    if (i % 3 == 0) linked(i - 1);
  }
  for (index_t i = 0; i < n; ++i) dense(i, i) = 1.1 * dense.row(i).cwiseAbs().sum();
  for (index_t i = 0; i < n; ++i) {
    const double scale = std::pow(10.0, uniform(generator));
    dense.row(i) *= scale;
    dense.col(i) *= scale;
  }
  dense = (0.5 * (dense + dense.transpose())).eval();
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (dense(i, j) == 0.0) continue;
      columns.push_back(j);
      values.push_back(static_cast<T>(dense(i, j)));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return make_csr<T>(n, n, offsets, columns, values);
}

}  // namespace tessera::testing
