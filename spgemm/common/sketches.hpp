/// \file
/// Sketches that estimate the size of sets of column indices: HyperLogLog and minima of random keys.
///
/// HyperLogLog (P. Flajolet et al., AofA 2007; Ocean, §3).
///
/// A sketch is M registers of one byte, M a power of two. An index is hashed to 32 bits; the low log2 M bits name a
/// register, which keeps the largest rank: one more than the leading zeros of the other bits. The sketch of a union is
/// the element-wise maximum.
#pragma once

#include "core/host_device.hpp"
#include "tessera/spgemm.hpp"
#include "tessera/types.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace tessera::detail {

/// A bijection of 32-bit words in which every bit of x reaches every bit of the result (finaliser of MurmurHash3).
[[nodiscard]] TESSERA_HOST_DEVICE constexpr std::uint32_t sketch_hash(std::uint32_t x) noexcept {
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  x ^= x >> 16;
  return x;
}

/// \param x not needed to be nonzero: 32 for 0
[[nodiscard]] TESSERA_HOST_DEVICE constexpr int leading_zeros(std::uint32_t x) noexcept {
#ifdef __CUDA_ARCH__
  return __clz(static_cast<int>(x));
#else
  return std::countl_zero(x);
#endif
}

/// Registers of a sketch as a type: a power of two. The workflows take 32, 64 or 128.
template <int M>
struct SketchSize {
  static_assert(M >= 8 && M <= 1024 && (M & (M - 1)) == 0);
  static constexpr int registers = M;
  static constexpr int index_bits = std::countr_zero(static_cast<unsigned>(M));
};

/// Register and rank of an index.
struct SketchMark {
  int slot = 0;
  std::uint8_t rank = 0;  ///< 1 ... 33 - log2 M
  friend constexpr bool operator==(const SketchMark&, const SketchMark&) = default;
};

template <int M>
[[nodiscard]] TESSERA_HOST_DEVICE constexpr SketchMark sketch_mark(std::uint32_t hash) noexcept {
  constexpr int bits = SketchSize<M>::index_bits;
  // The bits above the register's number, followed by a one that ends the count of zeros.
  const std::uint32_t rest = (hash & ~std::uint32_t{M - 1}) | (std::uint32_t{1} << (bits - 1));
  return {static_cast<int>(hash & std::uint32_t{M - 1}), static_cast<std::uint8_t>(leading_zeros(rest) + 1)};
}

template <int M>
TESSERA_HOST_DEVICE constexpr void sketch_insert(std::uint8_t* registers, index_t column) noexcept {
  const SketchMark mark = sketch_mark<M>(sketch_hash(static_cast<std::uint32_t>(column)));
  if (registers[mark.slot] < mark.rank) registers[mark.slot] = mark.rank;
}

/// The sketch of the union, into `registers`.
template <int M>
TESSERA_HOST_DEVICE constexpr void sketch_merge(std::uint8_t* registers, const std::uint8_t* other) noexcept {
  for (int r = 0; r < M; ++r) registers[r] = registers[r] < other[r] ? other[r] : registers[r];
}

/// The constant that corrects the bias of the harmonic mean.
[[nodiscard]] TESSERA_HOST_DEVICE constexpr double sketch_alpha(int registers) noexcept {
  return registers == 32 ? 0.697 : registers == 64 ? 0.709 : 0.7213 / (1.0 + 1.079 / registers);
}

/// Standard error of an estimate, relative.
[[nodiscard]] inline double sketch_error(int registers) noexcept { return 1.04 / std::sqrt(registers); }

/// Sums over registers from which the estimate follows; they add up over parts of a sketch.
struct SketchSums {
  std::uint64_t powers = 0;  ///< Σ 2^(32 - rank): exact
  int empty = 0;             ///< registers without a mark

  TESSERA_HOST_DEVICE constexpr void add(unsigned rank) noexcept {
    powers += std::uint64_t{1} << (32 - rank);
    empty += rank == 0 ? 1 : 0;
  }
};

/// Number of distinct indices in a sketch: α M² / Σ 2^-rank, and for few M ln(M / empty registers).
template <int M>
[[nodiscard]] TESSERA_HOST_DEVICE double sketch_estimate(const SketchSums& sums) noexcept {
  const double estimate = sketch_alpha(M) * M * M * 4294967296.0 / static_cast<double>(sums.powers);
  if (estimate > 2.5 * M || sums.empty == 0) return estimate;
  return M * std::log(static_cast<double>(M) / sums.empty);
}

template <int M>
[[nodiscard]] TESSERA_HOST_DEVICE double sketch_estimate(const std::uint8_t* registers) noexcept {
  SketchSums sums;
  for (int r = 0; r < M; ++r) sums.add(registers[r]);
  return sketch_estimate<M>(sums);
}

/// Number of distinct indices without the bias of sketch_estimate() between its two ranges: M^2 / (2 ln 2 Z), Z = Σ
/// 2^-rank over the registers with a mark + M σ(share of empty registers), σ(x) = x + Σ_k 2^(k-1) x^(2^k) (O. Ertl,
/// arXiv 1702.01284, §4). With few registers that is too large by 1 / 2M for few indices and by 1.08 / M for many; with
/// the share w of registers that have a mark, 0.5 + 0.58 w³ is within 0.2 % of what was measured for M = 64. Ranks are
/// not taken to be cut off, so indices must be far fewer than 2^32.
template <int M>
[[nodiscard]] TESSERA_HOST_DEVICE double corrected_estimate(const SketchSums& sums) noexcept {
  if (sums.empty == M) return 0.0;
  const std::uint64_t of_marks = sums.powers - (static_cast<std::uint64_t>(sums.empty) << 32);
  const double empty_share = static_cast<double>(sums.empty) / M;
  double x = empty_share;
  double sigma = x;
  for (double weight = 1.0; x > 1e-9; weight *= 2.0) {
    x *= x;
    sigma += weight * x;
  }
  constexpr double alpha = 0.72134752044448170368;  // 1 / (2 ln 2)
  const double marked = 1.0 - empty_share;
  const double bias = 1.0 + (0.5 + 0.58 * marked * marked * marked) / M;
  return alpha * M * M / ((static_cast<double>(of_marks) * 0x1p-32 + M * sigma) * bias);
}

/// Size of a set from the minima of random keys (E. Cohen, "Structure prediction and sparse matrix products", J. Comb.
/// Optim. 2(3), 1998; hypre sizes its products so). K times over, every column draws an exponential variate. The
/// minimum over n columns is exponential with rate n, so (K - 1) / Σ minima estimates n with a relative error of 1 /
/// sqrt(K - 2). The variate of a column is -ln u with u from a hash, and its minimum the maximum of u: only hashes are
/// compared, and logarithms are taken of K numbers per row. This is draw number k of a column.
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

/// Registers of a sketch: 32 below an expansion of 48, else 64 (Ocean, §4.3).
[[nodiscard]] constexpr int sketch_registers(double expansion) noexcept { return expansion < 48.0 ? 32 : 64; }

/// Capacity for an estimated row, as a multiple of its estimate.
[[nodiscard]] constexpr double estimate_margin(int registers) noexcept { return registers == 32 ? 2.0 : 1.5; }

/// Bytes that the estimate of all rows holds while it works: the sketches of B and a number per row of A.
/// \param workflow hll or cohen
[[nodiscard]] constexpr std::uint64_t sketch_bytes(SpgemmWorkflow workflow, int registers, std::int64_t a_rows,
                                                   std::int64_t b_rows) noexcept {
  const std::uint64_t word = workflow == SpgemmWorkflow::cohen ? sizeof(std::uint32_t) : 1;
  return static_cast<std::uint64_t>(b_rows) * static_cast<std::uint64_t>(registers) * word +
         static_cast<std::uint64_t>(a_rows) * sizeof(float);
}

}  // namespace tessera::detail
