/// \file
/// Random square systems of the kinds on which solvers go wrong, each a function of its seed.
#pragma once

#include "tessera/assemble.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tessera::testing {

enum class SystemKind { definite, nonsymmetric, indefinite, singular, zero_rows, duplicates, skew, tiny, hub };
inline constexpr int system_kinds = 9;

template <class T>
struct RandomSystem {
  std::string name;
  Csr<T> matrix;
  std::vector<T> b;
  std::vector<T> x0;
};

/// Entries of a matrix before it is assembled; entries at one place are added.
template <class T>
class Entries {
 public:
  explicit Entries(index_t n) : n_(n) {}
  void add(index_t row, index_t column, double value) {
    rows_.push_back(row);
    columns_.push_back(column);
    values_.push_back(static_cast<T>(value));
  }
  void scale(double factor) {
    for (T& value : values_) value = static_cast<T>(static_cast<double>(value) * factor);
  }
  [[nodiscard]] Csr<T> assembled() const {
    return assemble<T>(n_, n_, rows_, columns_, std::span<const T>(values_)).matrix;
  }

 private:
  index_t n_;
  std::vector<index_t> rows_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
};

/// \param half_exponent the scales of A and b are powers of two with exponents up to twice this
template <class T>
[[nodiscard]] RandomSystem<T> random_system(std::uint64_t seed, int half_exponent) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto kind = static_cast<SystemKind>(random() % system_kinds);
  const auto n = static_cast<index_t>(kind == SystemKind::tiny ? 1 + random() % 5 : 6 + random() % 150);
  const auto vertex = [&] { return static_cast<index_t>(random() % static_cast<std::uint64_t>(n)); };
  Entries<T> entries(n);
  for (index_t k = 0; k < 2 * n; ++k) {
    const index_t i = vertex();
    const index_t j = vertex();
    const double value = uniform(random);
    if (kind == SystemKind::zero_rows && i % 7 == 0) continue;
    if (kind == SystemKind::skew && i == j) continue;
    if (kind == SystemKind::singular && j == n - 1) continue;
    entries.add(i, j, value);
    if (kind == SystemKind::definite) entries.add(j, i, value);
    if (kind == SystemKind::indefinite) entries.add(j, i, value);
    if (kind == SystemKind::skew) entries.add(j, i, -value);
    if (kind == SystemKind::duplicates) entries.add(i, j, -value * (k % 3 == 0 ? 1.0 : 0.5));
  }
  for (index_t i = 0; i < n; ++i) {
    if (kind == SystemKind::skew) break;
    if (kind == SystemKind::zero_rows && i % 7 == 0) continue;
    if (kind == SystemKind::singular && i == n - 1) continue;
    const double sign = kind == SystemKind::indefinite && i % 2 == 0 ? -1.0 : 1.0;
    entries.add(i, i, sign * (kind == SystemKind::definite ? 4.0 * n : 4.0 + uniform(random)));
    if (kind == SystemKind::hub) entries.add(n / 2, i, uniform(random));
  }
  const auto power = [&] { return std::ldexp(1.0, 2 * half_exponent * (static_cast<int>(random() % 3) - 1)); };
  const double scale = power();
  const double b_scale = power();
  entries.scale(scale);
  RandomSystem<T> system{
      "seed " + std::to_string(seed) + ", kind " + std::to_string(static_cast<int>(kind)) + ", n " + std::to_string(n) +
          ", scales " + std::to_string(std::ilogb(scale)) + " and " + std::to_string(std::ilogb(b_scale)),
      entries.assembled(), std::vector<T>(static_cast<std::size_t>(n)), std::vector<T>(static_cast<std::size_t>(n))};
  for (T& value : system.b) value = static_cast<T>(b_scale * uniform(random));
  if (random() % 3 == 0) {
    for (T& value : system.x0) value = static_cast<T>(b_scale / scale * uniform(random));
  }
  return system;
}

}  // namespace tessera::testing
