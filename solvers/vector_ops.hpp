/// \file
/// Fused passes over vectors: one trip through memory that updates and sums at once. Sums run in double whatever the
/// element type and in an order that depends on the length alone, so they are bitwise the same for every number of
/// threads.
#pragma once

#include "core/parallel.hpp"
#include "tessera/error.hpp"
#include "tessera/linear_operator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <variant>

namespace tessera::host {

/// Two sums of one pass.
struct TwoSums {
  double first = 0.0;
  double second = 0.0;
  TwoSums& operator+=(const TwoSums& other) noexcept {
    first += other.first;
    second += other.second;
    return *this;
  }
};

/// Largest absolute value; NaN as soon as one element is NaN.
struct Largest {
  double value = 0.0;
  Largest& operator+=(const Largest& other) noexcept {
    if (!(other.value <= value) && !std::isnan(value)) value = other.value;
    return *this;
  }
};

/// Whether a scalar converts to T without overflow; false for NaN.
template <class T>
[[nodiscard]] bool fits(double scalar) noexcept {
  return std::abs(scalar) <= static_cast<double>(std::numeric_limits<T>::max());
}

/// step(i, sums) for i in `range`. Four interleaved partial sums: a single chain of additions would wait for each other
/// longer than for memory.
template <class Sums, class Step>
[[nodiscard]] Sums accumulate(Range range, const Step& step) {
  std::array<Sums, 4> lane{};
  auto i = static_cast<std::size_t>(range.begin);
  const auto end = static_cast<std::size_t>(range.end);
  for (; i + 4 <= end; i += 4) {
    step(i, lane[0]);
    step(i + 1, lane[1]);
    step(i + 2, lane[2]);
    step(i + 3, lane[3]);
  }
  for (; i < end; ++i) step(i, lane[0]);
  lane[0] += lane[1];
  lane[2] += lane[3];
  lane[0] += lane[2];
  return lane[0];
}

/// The sums of step(i, sums) over [0, n). step may write to element i of its vectors.
template <class Sums, class Step>
[[nodiscard]] Sums fused_sum(const Device& device, std::size_t n, const Step& step) {
  return parallel_sum<Sums>(device, static_cast<std::int64_t>(n),
                            [&](Range range) { return accumulate<Sums>(range, step); });
}

/// max |x_i|, NaN if any element is.
template <class T>
[[nodiscard]] double largest_magnitude(const Device& device, std::span<const T> x) {
  return fused_sum<Largest>(
             device, x.size(),
             [=](std::size_t i, Largest& largest) { largest += Largest{std::abs(static_cast<double>(x[i]))}; })
      .value;
}

/// <x, y>
template <class T>
[[nodiscard]] double dot(const Device& device, std::span<const T> x, std::span<const T> y) {
  return fused_sum<double>(device, x.size(), [=](std::size_t i, double& sum) {
    sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  });
}

/// y += a x
template <class T>
void add_multiple(const Device& device, T a, std::span<const T> x, std::span<T> y) {
  parallel_for(device, static_cast<std::int64_t>(x.size()), [=](Range range) {
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) y[i] += a * x[i];
  });
}

/// Entry i of z = M r inside a fused pass, for each kind of M.
template <class T>
struct IdentityEntry {
  T operator()(std::size_t /*i*/, T r) const noexcept { return r; }
};
template <class T>
struct DiagonalEntry {
  std::span<const T> diagonal;
  T operator()(std::size_t i, T r) const noexcept { return diagonal[i] * r; }
};

/// Preconditioner that needs no pass of its own.
template <class T>
using FoldedEntry = std::variant<IdentityEntry<T>, DiagonalEntry<T>>;

/// How an operator folds into vector passes; `folds` is false for one that must be applied.
template <class T>
struct Folding {
  FoldedEntry<T> entry;
  bool folds = false;
  bool identity = false;

  explicit Folding(const LinearOperator<T>& m) {
    identity = m.is_identity();
    folds = identity;
    if (const auto diagonal = m.diagonal(); diagonal && !identity) {
      if (static_cast<std::int64_t>(diagonal->size()) != m.rows()) {
        throw DimensionError("the diagonal of an operator with " + std::to_string(m.rows()) + " rows has " +
                             std::to_string(diagonal->size()) + " entries");
      }
      entry = DiagonalEntry<T>{*diagonal};
      folds = true;
    }
  }
};

}  // namespace tessera::host
