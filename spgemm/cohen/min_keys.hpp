/// \file
/// Size of a set from the minima of random keys (E. Cohen, "Structure prediction and sparse matrix products", J. Comb.
/// Optim. 2(3), 1998; hypre sizes its products so).
///
/// K times over, every column draws an exponential variate; the minimum over n columns is exponential with rate n, so
/// (K - 1) / Σ minima estimates n with a relative error of 1 / sqrt(K - 2). The variate of a column is -ln u with u
/// from a hash, and its minimum the maximum of u: only the hashes are compared, and logarithms are taken of K numbers a
/// row.
#pragma once

#include "spgemm/hll/sketch.hpp"

namespace tessera {

/// Draw number k of a column.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t cohen_key(index_t column, int k) noexcept {
  return sketch_hash(static_cast<std::uint32_t>(column) * 0x9e3779b1U + static_cast<std::uint32_t>(k) * 0x7f4a7c15U +
                     0x2545f491U);
}

/// \param keys K entries, 0 for the empty set
template <int K>
TESSERA_HOST_DEVICE constexpr void cohen_insert(std::uint32_t* keys, index_t column) noexcept {
  for (int k = 0; k < K; ++k) {
    const std::uint32_t key = cohen_key(column, k);
    keys[k] = keys[k] < key ? key : keys[k];
  }
}

/// The keys of the union, into `keys`.
template <int K>
TESSERA_HOST_DEVICE constexpr void cohen_merge(std::uint32_t* keys, const std::uint32_t* other) noexcept {
  for (int k = 0; k < K; ++k) keys[k] = keys[k] < other[k] ? other[k] : keys[k];
}

/// The variate of a key.
[[nodiscard]] TESSERA_HOST_DEVICE inline double cohen_variate(std::uint32_t key) noexcept {
  return -std::log((static_cast<double>(key) + 0.5) * 0x1p-32);
}

/// \param keys of a set that is not empty
template <int K>
[[nodiscard]] TESSERA_HOST_DEVICE double cohen_estimate(const std::uint32_t* keys) noexcept {
  double sum = 0.0;
  for (int k = 0; k < K; ++k) sum += cohen_variate(keys[k]);
  return (K - 1) / sum;
}

/// Standard error of an estimate, relative.
[[nodiscard]] inline double cohen_error(int keys) noexcept { return 1.0 / std::sqrt(keys - 2.0); }

}  // namespace tessera
