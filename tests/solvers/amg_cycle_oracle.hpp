/// \file
/// Small hierarchies made by Eigen, and the multigrid cycle as textbooks write it, by dense matrices in long double (W.
/// L. Briggs, V. E. Henson, S. F. McCormick, A Multigrid Tutorial, 2nd ed., chapter 3).
#pragma once

#include "solvers/amg/cycle.hpp"
#include "solvers/amg/hierarchy.hpp"
#include "tests/solvers/systems.hpp"
#include "tests/support/eigen_bridge.hpp"

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

namespace tessera::testing {

using LongMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using LongVector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

template <class T>
[[nodiscard]] std::shared_ptr<const Csr<T>> to_csr(const EigenSparse<double>& a) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (int i = 0; i < a.rows(); ++i) {
    for (EigenSparse<double>::InnerIterator entry(a, i); entry; ++entry) {
      columns.push_back(static_cast<index_t>(entry.col()));
      values.push_back(static_cast<T>(entry.value()));
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return std::make_shared<const Csr<T>>(make_csr<T>(a.rows(), a.cols(), offsets, columns, values));
}

/// Linear interpolation from every other point of a line.
[[nodiscard]] inline EigenSparse<double> linear_interpolation(int fine) {
  const int coarse = (fine + 1) / 2;
  std::vector<Eigen::Triplet<double, int>> entries;
  for (int i = 0; i < fine; ++i) {
    if (i % 2 == 0) {
      entries.emplace_back(i, i / 2, 1.0);
    } else {
      entries.emplace_back(i, i / 2, 0.5);
      if (i / 2 + 1 < coarse) entries.emplace_back(i, i / 2 + 1, 0.5);
    }
  }
  EigenSparse<double> p(fine, coarse);
  p.setFromTriplets(entries.begin(), entries.end());
  return p;
}

/// Smoothed aggregates of `size` consecutive rows: P = (I - ω D⁻¹ A) T.
[[nodiscard]] inline EigenSparse<double> smoothed_aggregates(const EigenSparse<double>& a, int size) {
  const auto n = static_cast<int>(a.rows());
  std::vector<Eigen::Triplet<double, int>> entries;
  for (int i = 0; i < n; ++i) entries.emplace_back(i, i / size, 1.0);
  EigenSparse<double> tentative(n, (n + size - 1) / size);
  tentative.setFromTriplets(entries.begin(), entries.end());
  EigenSparse<double> scaled = a;
  for (int i = 0; i < n; ++i) {
    for (EigenSparse<double>::InnerIterator entry(scaled, i); entry; ++entry) entry.valueRef() /= -1.5 * a.coeff(i, i);
  }
  const EigenSparse<double> correction = scaled * tentative;
  return EigenSparse<double>(tentative + correction);
}

/// What a hierarchy is made of.
struct CycleCase {
  std::string name;
  std::vector<EigenSparse<double>> a;  ///< of the levels
  std::vector<EigenSparse<double>> p;
  AmgOptions options;
  bool has_inverse = true;
  std::vector<std::size_t> left_alone;  ///< rows of the finest level that the smoother leaves alone

  CycleCase(std::string title, EigenSparse<double> finest) : name(std::move(title)) { a.push_back(std::move(finest)); }

  CycleCase& coarsen(EigenSparse<double> prolongator) {
    const EigenSparse<double> restriction = prolongator.transpose();
    const EigenSparse<double> product = a.back() * prolongator;
    a.push_back(EigenSparse<double>(restriction * product));
    p.push_back(std::move(prolongator));
    return *this;
  }
};

/// 2D Poisson, shifted so that its condition, and the error bound with it, stays small.
[[nodiscard]] inline EigenSparse<double> shifted_poisson(index_t nx, index_t ny) {
  EigenSparse<double> a = to_eigen(poisson2d<double>(nx, ny).view());
  for (int i = 0; i < a.rows(); ++i) a.coeffRef(i, i) += 0.25;
  return a;
}

[[nodiscard]] inline CycleCase aggregated(index_t nx, index_t ny, const std::vector<int>& sizes) {
  CycleCase result("poisson " + std::to_string(nx) + "x" + std::to_string(ny) + " on " +
                       std::to_string(sizes.size() + 1) + " levels",
                   shifted_poisson(nx, ny));
  for (const int size : sizes) result.coarsen(smoothed_aggregates(result.a.back(), size));
  return result;
}

/// Some rows and columns full, in a chain. Diagonally dominant.
[[nodiscard]] inline CycleCase with_hubs(int n, const std::vector<int>& hubs) {
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
  for (int i = 0; i + 1 < n; ++i) dense(i, i + 1) = dense(i + 1, i) = -0.5;
  for (const int hub : hubs) {
    dense.row(hub).setConstant(-1.0);
    dense.col(hub).setConstant(-1.0);
  }
  dense.diagonal().setZero();
  dense.diagonal() = 1.0 - dense.rowwise().sum().array();
  const EigenSparse<double> a = dense.sparseView();
  CycleCase result("hubs among " + std::to_string(n), a);
  return result.coarsen(smoothed_aggregates(a, 40));
}

/// The first row and column full: no sliced ELL.
[[nodiscard]] inline CycleCase with_hub(int n) { return with_hubs(n, {0}); }

[[nodiscard]] inline double spectral_bound(const EigenSparse<double>& a) {
  double rho = 0.0;
  for (int i = 0; i < a.rows(); ++i) {
    double sum = 0.0;
    for (EigenSparse<double>::InnerIterator entry(a, i); entry; ++entry) sum += std::abs(entry.value());
    rho = std::max(rho, sum / a.coeff(i, i));
  }
  return rho;
}

[[nodiscard]] inline std::vector<double> smoother_entries(const CycleCase& task, std::size_t level) {
  const EigenSparse<double>& a = task.a[level];
  std::vector<double> m;
  for (int i = 0; i < a.rows(); ++i) {
    double magnitudes = 0.0;
    double squares = 0.0;
    for (EigenSparse<double>::InnerIterator entry(a, i); entry; ++entry) {
      magnitudes += std::abs(entry.value());
      squares += entry.value() * entry.value();
    }
    const double diagonal = a.coeff(i, i);
    m.push_back(task.options.smoother == AmgSmoother::l1_jacobi ? 1.0 / magnitudes
                : task.options.smoother == AmgSmoother::spai0   ? diagonal / squares
                                                                : 1.0 / diagonal);
  }
  if (level == 0) {
    for (const std::size_t row : task.left_alone) m[row] = 0.0;
  }
  return m;
}

/// On the host.
template <class T>
[[nodiscard]] detail::AmgHierarchy<T> make_hierarchy(const CycleCase& task) {
  detail::AmgHierarchy<T> result;
  for (std::size_t l = 0; l < task.a.size(); ++l) {
    detail::AmgLevel<T> level;
    level.a = to_csr<T>(task.a[l]);
    if (l < task.p.size()) {
      level.p = to_csr<T>(task.p[l]);
      level.r = to_csr<T>(EigenSparse<double>(task.p[l].transpose()));
    }
    const std::vector<double> m = smoother_entries(task, l);
    level.smoother = Array<T>::copy_of(std::vector<T>(m.begin(), m.end()));
    level.rho = spectral_bound(task.a[l]);
    result.levels.push_back(std::move(level));
  }
  if (!task.has_inverse) return result;
  const Eigen::MatrixXd inverse = Eigen::MatrixXd(task.a.back()).inverse();
  result.coarsest_inverse = Array<T>(inverse.size(), Init::none);
  for (Eigen::Index i = 0; i < inverse.rows(); ++i) {
    for (Eigen::Index j = 0; j < inverse.cols(); ++j) {
      result.coarsest_inverse[i * inverse.cols() + j] = static_cast<T>(inverse(i, j));
    }
  }
  return result;
}

template <class T>
[[nodiscard]] detail::AmgHierarchy<T> on_device(const detail::AmgHierarchy<T>& hierarchy, const Device& device) {
  detail::AmgHierarchy<T> result;
  result.device = device;
  const auto moved = [&](const std::shared_ptr<const Csr<T>>& a) {
    return a ? std::make_shared<const Csr<T>>(a->to(device)) : nullptr;
  };
  for (const detail::AmgLevel<T>& level : hierarchy.levels) {
    result.levels.push_back({moved(level.a), moved(level.p), moved(level.r), level.smoother.to(device), level.rho});
  }
  result.coarsest_inverse = hierarchy.coarsest_inverse.to(device);
  return result;
}

/// Dense matrices of a hierarchy, rounded to V as the cycle rounds them, and the cycle.
template <class T, class V>
class CycleOracle {
 public:
  CycleOracle(const CycleCase& task, const detail::AmgHierarchy<T>& hierarchy) : options_(task.options) {
    for (std::size_t l = 0; l < task.a.size(); ++l) {
      const detail::AmgLevel<T>& level = hierarchy.levels[l];
      a_.push_back(rounded(*level.a));
      if (level.p) p_.push_back(rounded(*level.p));
      LongVector m(level.smoother.size());
      for (Eigen::Index i = 0; i < m.size(); ++i) m(i) = static_cast<long double>(static_cast<V>(level.smoother[i]));
      m_.push_back(m);
      rho_.push_back(level.rho);
    }
    if (hierarchy.coarsest_inverse.empty()) return;
    const Eigen::Index n = a_.back().rows();
    inverse_.resize(n, n);
    for (Eigen::Index k = 0; k < n * n; ++k) {
      inverse_(k / n, k % n) = static_cast<long double>(static_cast<V>(hierarchy.coarsest_inverse[k]));
    }
  }

  /// z = M r
  [[nodiscard]] LongVector apply(const std::vector<T>& r) const {
    LongVector b(static_cast<Eigen::Index>(r.size()));
    for (std::size_t i = 0; i < r.size(); ++i) {
      b(static_cast<Eigen::Index>(i)) = static_cast<long double>(static_cast<V>(r[i]));
    }
    return cycle(0, b, LongVector::Zero(b.size()));
  }

  /// Of the finest matrix, which is symmetric and positive definite.
  [[nodiscard]] long double condition() const {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(a_[0].template cast<double>(), Eigen::EigenvaluesOnly);
    return static_cast<long double>(solver.eigenvalues().maxCoeff() / solver.eigenvalues().minCoeff());
  }

 private:
  [[nodiscard]] static LongMatrix rounded(const Csr<T>& a) {
    const Eigen::MatrixXd dense =
        Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>(to_eigen(a.view())).template cast<V>().template cast<double>();
    return dense.cast<long double>();
  }

  [[nodiscard]] std::vector<double> weights(std::size_t l) const {
    std::vector<double> sweep{1.0};
    if (options_.smoother == AmgSmoother::jacobi) sweep = {options_.smoother_damping / rho_[l]};
    if (options_.smoother == AmgSmoother::chebyshev) {
      const double high = 1.05 * rho_[l];
      const double low = rho_[l] / options_.chebyshev_ratio;
      sweep.clear();
      for (int k = 1; k <= options_.chebyshev_degree; ++k) {
        const double root = std::cos((2 * k - 1) * std::numbers::pi / (2 * options_.chebyshev_degree));
        sweep.push_back(1.0 / (0.5 * (low + high) + 0.5 * (high - low) * root));
      }
    }
    const bool is_smoothed_coarsest = l + 1 == a_.size();
    std::vector<double> all;
    for (int s = 0; s < (is_smoothed_coarsest ? 4 : options_.sweeps); ++s) {
      all.insert(all.end(), sweep.begin(), sweep.end());
    }
    return all;
  }

  void smooth(std::size_t l, double weight, const LongVector& b, LongVector& x) const {
    x += static_cast<long double>(static_cast<V>(weight)) * m_[l].cwiseProduct(b - a_[l] * x);
  }

  [[nodiscard]] LongVector cycle(std::size_t l, const LongVector& b, LongVector x) const {
    const bool is_coarsest = l + 1 == a_.size();
    if (is_coarsest && inverse_.size() > 0) return inverse_ * b;
    const std::vector<double> w = weights(l);
    for (const double weight : w) smooth(l, weight, b, x);
    if (!is_coarsest) x += p_[l] * coarse(l + 1, p_[l].transpose() * (b - a_[l] * x));
    for (std::size_t k = w.size(); k-- > 0;) smooth(l, w[k], b, x);
    return x;
  }

  [[nodiscard]] LongVector coarse(std::size_t l, const LongVector& b) const {
    const LongVector first = cycle(l, b, LongVector::Zero(b.size()));
    if (options_.cycle == AmgCycle::v || l + 1 == a_.size()) return first;
    if (options_.cycle == AmgCycle::w) return cycle(l, b, first);
    return two_steps(l, b, first);
  }

  /// Flexible CG: each direction made A-orthogonal to the one before.
  [[nodiscard]] LongVector two_steps(std::size_t l, const LongVector& b, const LongVector& p0) const {
    const LongVector ap0 = a_[l] * p0;
    const long double alpha0 = p0.dot(b) / p0.dot(ap0);
    const LongVector r = b - alpha0 * ap0;
    const LongVector z = cycle(l, r, LongVector::Zero(b.size()));
    const LongVector p1 = z - z.dot(ap0) / p0.dot(ap0) * p0;
    const long double alpha1 = p1.dot(r) / p1.dot(a_[l] * p1);
    return alpha0 * p0 + alpha1 * p1;
  }

  AmgOptions options_;
  std::vector<LongMatrix> a_;
  std::vector<LongMatrix> p_;
  std::vector<LongVector> m_;
  std::vector<double> rho_;
  LongMatrix inverse_;
};

/// Every step is backward stable, and M is close to A⁻¹: so the error is a small multiple of ε κ(A) ‖z‖.
template <class T, class V>
void expect_cycle(const CycleOracle<T, V>& oracle, const std::vector<T>& r, const std::vector<T>& z) {
  const LongVector expected = oracle.apply(r);
  ASSERT_EQ(expected.size(), static_cast<Eigen::Index>(z.size()));
  constexpr long double steps = 8;
  const long double bound =
      steps * oracle.condition() * static_cast<long double>(std::numeric_limits<V>::epsilon()) * expected.norm();
  LongVector error = expected;
  for (std::size_t i = 0; i < z.size(); ++i) {
    error(static_cast<Eigen::Index>(i)) -= static_cast<long double>(z[i]);
  }
  EXPECT_LE(error.norm(), bound) << "‖z‖ = " << expected.norm();
}

/// Hierarchies for every path of the schedule, the first with every path of its steps.
[[nodiscard]] inline std::vector<CycleCase> cycle_hierarchies() {
  std::vector<CycleCase> all;
  all.push_back(aggregated(9, 7, {3, 3}));
  all.push_back(aggregated(9, 7, {4}));
  CycleCase line("line by linear interpolation", shifted_poisson(100, 1));
  line.coarsen(linear_interpolation(100)).coarsen(linear_interpolation(50)).coarsen(linear_interpolation(25));
  all.push_back(line);
  all.push_back(with_hub(70));
  all.push_back(aggregated(6, 5, {}));
  all.push_back(aggregated(1, 1, {}));
  for (const std::vector<int>& sizes : {std::vector<int>{}, {3}, {3, 2}}) {
    CycleCase smoothed = aggregated(8, 5, sizes);
    smoothed.name += " without an inverse";
    smoothed.has_inverse = false;
    all.push_back(smoothed);
  }
  CycleCase partly = aggregated(8, 8, {4});
  partly.name += " with rows left alone";
  partly.left_alone = {0, 5, 63};
  all.push_back(partly);
  return all;
}

/// Smoothers, numbers of sweeps and cycles.
[[nodiscard]] inline std::vector<AmgOptions> cycle_options() {
  std::vector<AmgOptions> all;
  for (const AmgSmoother smoother :
       {AmgSmoother::jacobi, AmgSmoother::l1_jacobi, AmgSmoother::spai0, AmgSmoother::chebyshev}) {
    for (int sweeps = 1; sweeps <= 3; ++sweeps) {
      for (const AmgCycle cycle : {AmgCycle::v, AmgCycle::w, AmgCycle::k}) {
        AmgOptions options;
        options.smoother = smoother;
        options.sweeps = sweeps;
        options.cycle = cycle;
        options.chebyshev_degree = sweeps == 3 ? 3 : 2;
        all.push_back(options);
      }
    }
  }
  return all;
}

/// The first hierarchy with all options; of the others, every option with some and each with some options.
[[nodiscard]] inline std::vector<CycleCase> cycle_cases() {
  constexpr std::size_t apart = 5;
  std::vector<CycleCase> all;
  const std::vector<CycleCase> hierarchies = cycle_hierarchies();
  const std::vector<AmgOptions> options = cycle_options();
  for (std::size_t i = 0; i < hierarchies.size(); ++i) {
    for (std::size_t k = 0; k < options.size(); ++k) {
      if (i > 0 && (i + k) % apart != 0) continue;
      all.push_back(hierarchies[i]);
      all.back().options = options[k];
    }
  }
  return all;
}

[[nodiscard]] inline std::string describe(const CycleCase& task) {
  const AmgOptions& options = task.options;
  return task.name + ", cycle " + std::to_string(static_cast<int>(options.cycle)) + ", smoother " +
         std::to_string(static_cast<int>(options.smoother)) + ", " + std::to_string(options.sweeps) + " sweeps";
}

}  // namespace tessera::testing
