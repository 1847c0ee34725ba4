/// \file
/// PageRank in long double, straight from the adjacency matrix and the definition.
#pragma once

#include "tessera/csr.hpp"
#include "tessera/pagerank.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tessera::testing {

using LongVector = std::vector<long double>;

[[nodiscard]] inline LongVector uniform_distribution(std::size_t n) {
  return LongVector(n, 1.0L / static_cast<long double>(n));
}

/// One iteration of the definition, by out-links.
template <class T>
[[nodiscard]] LongVector pagerank_step(const CsrView<T>& adjacency, const LongVector& x, const LongVector& teleport,
                                       long double damping, Dangling policy) {
  const auto n = static_cast<std::size_t>(adjacency.rows);
  LongVector next(n, 0.0L);
  long double lost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double weight = 0;
    for (offset_t k = adjacency.row_offsets[i]; k < adjacency.row_offsets[i + 1]; ++k) weight += adjacency.value(k);
    if (weight == 0.0L) {
      if (policy == Dangling::self) next[i] += damping * x[i];
      lost += x[i];
      continue;
    }
    const long double share = damping * x[i] / weight;
    for (offset_t k = adjacency.row_offsets[i]; k < adjacency.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(adjacency.columns[static_cast<std::size_t>(k)]);
      next[j] += share * static_cast<long double>(adjacency.value(k));
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (policy == Dangling::teleport) next[i] += damping * lost * teleport[i];
    if (policy == Dangling::uniform) next[i] += damping * lost / static_cast<long double>(n);
    next[i] += (1.0L - damping) * teleport[i];
  }
  if (policy == Dangling::drop) {
    long double sum = 0;
    for (const long double value : next) sum += value;
    for (long double& value : next) value /= sum;
  }
  return next;
}

/// Power method to a change of 1e-15 in L1, so to an error of 1e-15 d / (1 - d).
template <class T>
[[nodiscard]] LongVector pagerank_oracle(const CsrView<T>& adjacency, const LongVector& teleport, long double damping,
                                         Dangling policy) {
  LongVector x = teleport;
  for (int step = 0; step < 2000; ++step) {
    LongVector next = pagerank_step(adjacency, x, teleport, damping, policy);
    long double change = 0;
    for (std::size_t i = 0; i < x.size(); ++i) change += std::fabs(next[i] - x[i]);
    x = std::move(next);
    if (change <= 1e-15L) break;
  }
  return x;
}

template <class T>
[[nodiscard]] long double l1_distance(std::span<const T> x, const LongVector& y) {
  long double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += std::fabs(static_cast<long double>(x[i]) - y[i]);
  return sum;
}

template <class T>
[[nodiscard]] long double long_sum(std::span<const T> x) {
  long double sum = 0;
  for (const T value : x) sum += static_cast<long double>(value);
  return sum;
}

}  // namespace tessera::testing
